import { MandateError } from "../../ports/mandate-error.ts";
import type { ControlRecord } from "../../ports/record-store.ts";
import type { AgentRegistry } from "./agent-registry.ts";
import { type ControlParts, registryId, retryOnConflict } from "./control-store.ts";
import { readRegistry } from "./registry-record.ts";
import { quote } from "./shown-text.ts";
import { readJson } from "./strict-json.ts";

export async function writeProfile(
  { store }: ControlParts,
  {
    expectedVersion,
    id,
    source,
  }: { readonly id: string; readonly source: unknown; readonly expectedVersion: number },
  actor: string,
): Promise<ControlRecord> {
  const value = readJson(source, `the profile ${quote(id)}`);
  const { layerOfRecord } = await import("./layer-of-record.ts");
  layerOfRecord(id, value);
  const change = { resourceType: "profile", resourceId: id, expectedVersion, value };
  const [record] = await store.changeRecords([change], actor);
  if (record) return record;
  throw new MandateError("conflict", `The profile ${quote(id)} was deleted at the same moment.`);
}

/**
 * Deletes a profile record that no registered agent has. The registry is written unchanged in the
 * same transaction: its new version makes a concurrent registration read again.
 */
export async function deleteProfileRecord(
  parts: ControlParts,
  id: string,
  expectedVersion: number,
  actor: string,
): Promise<void> {
  const { store } = parts;
  const refusal = await retryOnConflict(async () => {
    const record = await store.readRecord("profile", id);
    // The refusal is returned, not thrown: a retry would not restore the caller's version.
    if (record?.version !== expectedVersion) return movedOn(id, expectedVersion, record?.version);
    const { registry, version } = await readRegistry(store);
    requireUnused(id, registry);
    const profile = { resourceType: "profile", resourceId: id, expectedVersion, value: null };
    const touched = { resourceType: "policy", resourceId: registryId, expectedVersion: version };
    await store.changeRecords([profile, { ...touched, value: registry }], actor);
    return undefined;
  }, parts.clock);
  if (refusal !== undefined) throw refusal;
}

export function requireUnused(id: string, { agents }: AgentRegistry): void {
  const users = agents.filter(({ profileId }) => profileId === id).map(({ agentId }) => agentId);
  if (users.length === 0) return;
  throw new MandateError(
    "refused-by-policy",
    `The profile ${quote(id)} is the profile of ${users.join(", ")}. Unregister them first, or give them another one.`,
  );
}

function movedOn(id: string, expected: number, current: number | undefined): MandateError {
  const now = current === undefined ? "does not exist" : `is at version ${current}`;
  const what = `The profile record ${quote(id)} ${now}; version ${expected} was expected.`;
  return new MandateError("conflict", `${what} Read it again.`);
}
