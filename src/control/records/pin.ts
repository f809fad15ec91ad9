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
