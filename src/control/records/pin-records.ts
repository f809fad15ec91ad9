import { MandateError } from "../../ports/mandate-error.ts";
import { type ControlParts, knownProfiles, versionOf } from "./control-store.ts";
import {
  type EffectivePin,
  type PinContext,
  type PinScope,
  pinRecordId,
  pinScopes,
} from "./pin.ts";
import { isRecord } from "./read-json.ts";
import { requireProfile } from "./registry-record.ts";
import { retryOnConflict } from "./retry-on-conflict.ts";
import { quote } from "./shown-text.ts";

/** Gives the record's id. */
export function writePin(
  parts: ControlParts,
  scope: PinScope,
  profileId: string,
  context: PinContext,
  actor: string,
): Promise<string> {
  const resourceId = requirePinId(scope, within(parts, context));
  return retryOnConflict(async () => {
    requireProfile(profileId, await knownProfiles(parts));
    const expectedVersion = versionOf(await parts.store.readRecord("policy", resourceId));
    const change = { resourceType: "policy", resourceId, expectedVersion, value: { profileId } };
    await parts.store.changeRecords([change], actor);
    return resourceId;
  });
}

/** Deletes the record; false when there was none. */
export function removePin(
  parts: ControlParts,
  scope: PinScope,
  context: PinContext,
  actor: string,
): Promise<boolean> {
  const resourceId = requirePinId(scope, within(parts, context));
  return retryOnConflict(async () => {
    const record = await parts.store.readRecord("policy", resourceId);
    if (record === undefined) return false;
    const expectedVersion = record.version;
    const change = { resourceType: "policy", resourceId, expectedVersion, value: null };
    await parts.store.changeRecords([change], actor);
    return true;
  });
}

/** All pins that apply in this context, the deciding one first. */
export async function readPins(
  parts: ControlParts,
  context: PinContext,
): Promise<readonly EffectivePin[]> {
  const pins: EffectivePin[] = [];
  for (const scope of pinScopes) {
    const source = pinRecordId(scope, within(parts, context));
    const record = source && (await parts.store.readRecord("policy", source));
    if (!record) continue;
    pins.push({ scope, profileId: readPinValue(record.value, record.resourceId), source });
  }
  return pins;
}

/**
 * The pin that decides. One whose profile is gone is an error and never a reason to look further: a
 * wider scope may have pinned a profile that may do more.
 */
export async function decidePin(
  parts: ControlParts,
  context: PinContext,
): Promise<EffectivePin | undefined> {
  const [pin] = await readPins(parts, context);
  if (pin === undefined || (await knownProfiles(parts))(pin.profileId)) return pin;
  throw new MandateError(
    "unknown-profile",
    `The ${pin.scope} pin (${pin.source}) names the profile ${quote(pin.profileId)}, which does not exist. Bring the profile back, or remove the pin: /agents unpin --${pin.scope}`,
  );
}

export function readPinValue(value: unknown, resourceId: string): string {
  const { profileId, ...rest } = isRecord(value) ? value : {};
  if (typeof profileId === "string" && Object.keys(rest).length === 0) return profileId;
  const rule = 'a pin is {"profileId": "…"} and nothing else';
  throw new MandateError("config-invalid", `policy/${resourceId}: ${rule}`);
}

function within({ defaultWorkspace }: ControlParts, context: PinContext): PinContext {
  return { ...context, workspace: context.workspace ?? defaultWorkspace };
}

function requirePinId(scope: PinScope, context: PinContext): string {
  const id = pinRecordId(scope, context);
  if (id !== undefined) return id;
  const others = pinScopes.filter((each) => pinRecordId(each, context) !== undefined);
  const choices = others.map((each) => `--${each}`).join(", ");
  throw new MandateError(
    "usage",
    `There is no ${scope} here that could have a pin. Say ${choices}.`,
  );
}
