import type { Principal } from "../records/principal.ts";

/** The owner of what every principal may see: records that all of them share. */
export const everybody: unique symbol = Symbol("everybody");

/** The principal that a run's root contract names; undefined: unknown, so no principal's own. */
export type Owner = string | typeof everybody | undefined;

/**
 * The rule for every surface: a principal sees its own runs, or all of them. To see covers to steer,
 * as far as the role allows that. A run that a principal may not see does not exist for it.
 */
export function maySee(principal: Principal, owner: Owner): boolean {
  return seesAllRuns(principal) || owner === everybody || owner === principal.id;
}

/** A team looks at one board, and an admin manages it; an operator is confined unless that is said. */
export function seesAllRuns({ allRuns, role }: Pick<Principal, "allRuns" | "role">): boolean {
  return role === "viewer" || role === "admin" || (role === "operator" && allRuns === true);
}
