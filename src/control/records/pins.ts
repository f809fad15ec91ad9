import { MandateError } from "../../ports/mandate-error.ts";
import { isRecord } from "../../ports/parse-json.ts";
import type { ControlRecord } from "../../ports/record-store.ts";
import type { IsKnownProfile } from "./agent-registry.ts";
import {
  type ControlParts,
  knownProfiles,
  removePolicy,
  retryOnConflict,
  versionOf,
} from "./control-store.ts";
import { requireProfile } from "./registry-record.ts";
import { quote } from "./shown-text.ts";

/** The scope of a pin. The first scope of `pinScopes` with a pin decides. */
export type PinScope = "session" | "user" | "workspace" | "global";

export const pinScopes: readonly PinScope[] = ["session", "user", "workspace", "global"];

/** The ids for the scopes of the caller; a scope without an id has no pin. */
export interface PinContext {
  readonly session?: string | undefined;
  readonly user?: string | undefined;
  readonly workspace?: string | undefined;
}

export interface EffectivePin {
  readonly scope: PinScope;
  readonly profileId: string;
  /** The id of its record: `profile-pin:session:abc`. */
  readonly source: string;
}

/** A stored pin, usable or not: a broken pin must not hide the others. */
export interface ListedPin extends Pick<EffectivePin, "scope" | "source"> {
  /** Null: the record names no profile. */
  readonly profileId: string | null;
  /** The reason why the pin cannot be used, and how to remove it; null: it can be used. */
  readonly problem: string | null;
}

const prefix = "profile-pin:";

/** The id of a scope's pin record; undefined when the context has no id for the scope. */
export function pinRecordId(scope: PinScope, context: PinContext): string | undefined {
  if (scope === "global") return `${prefix}global`;
  const id = context[scope];
  return id === undefined || !isScopeId(id) ? undefined : `${prefix}${scope}:${id}`;
}

/** Whether this is the id of a pin record, in one of the four forms. */
export function isPinRecordId(resourceId: string): boolean {
  if (resourceId === `${prefix}global`) return true;
  const [, id] = /^profile-pin:(?:session|user|workspace):(.+)$/su.exec(resourceId) ?? [];
  return id !== undefined && isScopeId(id);
}

/** Whether the id is short, and without control characters. */
function isScopeId(id: string): boolean {
  return /^[^\p{Cc}\p{Cs}]{1,1024}$/u.test(id);
}

/** Writes a pin, and gives the id of its record. */
export function writePin(
  parts: ControlParts,
  { context, profileId, scope }: NewPin,
  actor: string,
): Promise<string> {
  const resourceId = requirePinId(scope, within(parts, context));
  return retryOnConflict(async () => {
    requireProfile(profileId, await knownProfiles(parts));
    const expectedVersion = versionOf(await parts.store.readRecord("policy", resourceId));
    const change = { resourceType: "policy", resourceId, expectedVersion, value: { profileId } };
    await parts.store.changeRecords([change], actor);
    return resourceId;
  }, parts.clock);
}

interface NewPin {
  readonly scope: PinScope;
  readonly profileId: string;
  readonly context: PinContext;
}

/** Deletes the record of a pin; false when there was none. */
export function removePin(
  parts: ControlParts,
  { context, scope }: Pick<NewPin, "context" | "scope">,
  actor: string,
): Promise<boolean> {
  return removePolicy(parts, requirePinId(scope, within(parts, context)), actor);
}

/** All pins that apply, the deciding one first. */
export async function readPins(
  parts: ControlParts,
  context: PinContext,
): Promise<readonly ListedPin[]> {
  const isKnown = await knownProfiles(parts);
  const pins: ListedPin[] = [];
  for (const scope of pinScopes) {
    const source = pinRecordId(scope, within(parts, context));
    const record = source && (await parts.store.readRecord("policy", source));
    if (!record) continue;
    pins.push({ scope, source, ...describePin(record, scope, isKnown) });
  }
  return pins;
}

export interface StoredPin
  extends ControlRecord,
    Pick<ListedPin, "scope" | "profileId" | "problem"> {
  /** The id of the session, user or workspace; null for a global pin. */
  readonly id: string | null;
}

/** All stored pins, by the ids of their records. */
export async function readStoredPins(
  parts: ControlParts,
  most: number,
): Promise<readonly StoredPin[]> {
  const isKnown = await knownProfiles(parts);
  const records = await parts.store.listRecords("policy", "profile-pin:");
  return records.slice(0, most).map((record) => describeStored(record, isKnown));
}

export function describeStored(record: ControlRecord, isKnown: IsKnownProfile): StoredPin {
  const [, name, ...rest] = record.resourceId.split(":");
  const scope = pinScopes.find((each) => each === name) ?? "global";
  const id = rest.length === 0 ? null : rest.join(":");
  return { ...record, scope, id, ...describePin(record, scope, isKnown) };
}

/** The profile of a stored pin, and the reason why it cannot be used. */
function describePin(
  { resourceId, value }: Pick<ControlRecord, "resourceId" | "value">,
  scope: PinScope,
  isKnown: IsKnownProfile,
): Pick<ListedPin, "profileId" | "problem"> {
  const remove = `remove the pin: /agents unpin --${scope}`;
  try {
    const profileId = readPinValue(value, resourceId);
    if (isKnown(profileId)) return { profileId, problem: null };
    const problem = `The ${scope} pin (${resourceId}) names the profile ${quote(profileId)}, which does not exist. Bring the profile back, or ${remove}`;
    return { profileId, problem };
  } catch (error) {
    if (!(error instanceof MandateError)) throw error;
    return { profileId: null, problem: `${error.message}. Set it again, or ${remove}` };
  }
}

/**
 * The pin that decides. A broken pin is an error: a wider scope may have pinned a profile that
 * allows more.
 */
export async function decidePin(
  parts: ControlParts,
  context: PinContext,
): Promise<EffectivePin | undefined> {
  const [pin] = await readPins(parts, context);
  if (pin === undefined) return undefined;
  const { problem, profileId, scope, source } = pin;
  if (problem === null && profileId !== null) return { scope, profileId, source };
  throw new MandateError(
    profileId === null ? "config-invalid" : "unknown-profile",
    problem ?? `The ${scope} pin cannot be used.`,
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
