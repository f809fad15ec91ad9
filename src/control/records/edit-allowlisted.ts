import { MandateError } from "../../ports/mandate-error.ts";
import type { ControlRecord } from "../../ports/record-store.ts";
import { type ControlParts, knownProfiles, registryId } from "./control-store.ts";
import { parseAgentRegistry } from "./parse-agent-registry.ts";
import { isPinRecordId } from "./pin.ts";
import { readPinValue } from "./pin-records.ts";
import { readJson } from "./read-json.ts";
import { requireProfile } from "./registry-record.ts";
import { quote } from "./shown-text.ts";

/**
 * For editors that show a record as JSON. Two kinds of records can be edited that way, the registry
 * and pins (null deletes a pin), and both are judged as everywhere else; whatever else there is
 * among the policies is out of reach.
 */
export async function editRecord(
  parts: ControlParts,
  record: string,
  source: unknown,
  expectedVersion: number,
  actor: string,
): Promise<ControlRecord | null> {
  const resourceId = requireAllowlisted(record);
  const isKnown = await knownProfiles(parts);
  const value =
    resourceId === registryId
      ? parseAgentRegistry(source, isKnown)
      : pinValue(readJson(source, record), resourceId, (id) => requireProfile(id, isKnown));
  const change = { resourceType: "policy", resourceId, expectedVersion, value };
  const [changed] = await parts.store.changeRecords([change], actor);
  return changed ?? null;
}

function requireAllowlisted(record: string): string {
  const resourceId = record.startsWith("policy/") ? record.slice("policy/".length) : "";
  if (resourceId === registryId || isPinRecordId(resourceId)) return resourceId;
  throw new MandateError(
    "refused-by-policy",
    `The record ${quote(record)} cannot be edited here. Those that can: policy/${registryId}, policy/profile-pin:{session:<id>|user:<id>|workspace:<id>|global}.`,
  );
}

function pinValue(value: unknown, resourceId: string, requireKnown: (id: string) => void) {
  if (value === null) return null;
  const profileId = readPinValue(value, resourceId);
  requireKnown(profileId);
  return { profileId };
}
