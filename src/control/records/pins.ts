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

/** Where a pin applies. The first scope of `pinScopes` that has one decides. */
export type PinScope = "session" | "user" | "workspace" | "global";

export const pinScopes: readonly PinScope[] = ["session", "user", "workspace", "global"];

/** Who asks, in the words of the scopes; a scope without an id has no pin. */
export interface PinContext {
  readonly session?: string | undefined;
  readonly user?: string | undefined;
  readonly workspace?: string | undefined;
}

export interface EffectivePin {
  readonly scope: PinScope;
  readonly profileId: string;
  /** The record it comes from: `profile-pin:session:abc`. */
  readonly source: string;
}

/** A pin as it is stored, usable or not: one that is broken must not hide the others. */
export interface ListedPin extends Pick<EffectivePin, "scope" | "source"> {
  /** Null: the record does not name one. */
  readonly profileId: string | null;
  /** Why it cannot be used, and how to remove it; null: it can. */
  readonly problem: string | null;
}

const prefix = "profile-pin:";

/** The record of a scope's pin; undefined when the context does not say whose. */
export function pinRecordId(scope: PinScope, context: PinContext): string | undefined {
  if (scope === "global") return `${prefix}global`;
  const id = context[scope];
  return id === undefined || !isScopeId(id) ? undefined : `${prefix}${scope}:${id}`;
}

/** Whether a record's id is that of a pin: one of the four forms, and nothing that resembles them. */
export function isPinRecordId(resourceId: string): boolean {
  if (resourceId === `${prefix}global`) return true;
  const [, id] = /^profile-pin:(?:session|user|workspace):(.+)$/su.exec(resourceId) ?? [];
  return id !== undefined && isScopeId(id);
}

/** Sessions, users and folders have names that can be read and stored as they are. */
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

/** All pins that apply in this context, the deciding one first. */
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
  /** Whose it is; null: everybody's. */
  readonly id: string | null;
}

/** The pins of every scope and everybody, by their records' ids. */
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

/** What a stored pin names, and why that cannot be used. */
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
 * The pin that decides. One that cannot be used is an error and never a reason to look further: a
 * wider scope may have pinned a profile that may do more.
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
