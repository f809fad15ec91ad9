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
