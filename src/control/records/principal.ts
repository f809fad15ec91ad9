import type { Selection } from "../../contracts/selection.ts";

/** Who asks. A role holds what those before it hold. */
export type Role = "viewer" | "operator" | "admin";

/** From the least to the most. */
export const roles: readonly Role[] = ["viewer", "operator", "admin"];

export interface Principal {
  readonly id: string;
  readonly role: Role;
  /** What the contracts that they cause may hold of scopes; absent: no further limit. */
  readonly scopes?: Selection | undefined;
  /** An operator with it sees the runs of every principal; viewers and admins do without it. */
  readonly allRuns?: boolean | undefined;
}
