import type { Selection } from "../../contracts/selection.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { PinContext, PinScope } from "./pins.ts";

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

/** Everything that can be asked of the control plane, by what it takes to be allowed. */
type ControlAction =
  | "read"
  | "register"
  | "unregister"
  | "change"
  | "apply"
  | "trust"
  | "consent"
  | "change-profile"
  | "edit"
  | "merge-work"
  | "discard-work"
  | "rename-session"
  | "start-work"
  | "steer-work"
  | "send-message"
  | "answer-ask"
  | "set-workspace"
  | "promote-memory"
  | "forget-memory"
  | "manage-tokens"
  | "pin-session"
  | "pin-user"
  | "pin-workspace"
  | "pin-global";

const rules: Readonly<Record<ControlAction, { readonly least: Role; readonly what: string }>> = {
  read: { least: "viewer", what: "Reading agent profiles" },
  register: { least: "operator", what: "Registering agent profiles" },
  unregister: { least: "operator", what: "Unregistering agent profiles" },
  change: { least: "operator", what: "Changing agent profiles" },
  apply: { least: "operator", what: "Applying agent profiles" },
  trust: { least: "operator", what: "Trusting profiles" },
  consent: { least: "operator", what: "Consent to work in a folder" },
  "change-profile": { least: "operator", what: "Changing profiles" },
  edit: { least: "operator", what: "Editing records" },
  "merge-work": { least: "operator", what: "Merging the work of an agent" },
  "discard-work": { least: "operator", what: "Discarding the work of an agent" },
  "rename-session": { least: "operator", what: "Renaming a session" },
  "start-work": { least: "operator", what: "Starting an agent" },
  "steer-work": { least: "operator", what: "Cancelling and resuming agents" },
  "send-message": { least: "operator", what: "Sending a message to an agent" },
  "answer-ask": { least: "operator", what: "Answering an agent" },
  "set-workspace": { least: "operator", what: "Setting the workspace of a session" },
  "promote-memory": { least: "operator", what: "Promoting a memory" },
  "forget-memory": { least: "operator", what: "Forgetting a memory" },
  "manage-tokens": { least: "admin", what: "Managing access tokens" },
  "pin-session": { least: "viewer", what: "Session pin" },
  "pin-user": { least: "viewer", what: "User pin" },
  "pin-workspace": { least: "operator", what: "Workspace pin" },
  "pin-global": { least: "operator", what: "Global pin" },
};

/**
 * The only place that knows which role may do what; surfaces say who asks and nothing more. A role
 * that is not known, whichever path let it through, holds nothing.
 */
export function requireRole(action: ControlAction, principal: Principal): void {
  const { least, what } = rules[action];
  if (holdsRole(least, principal)) return;
  throw new MandateError("refused-by-policy", `${what} requires ${least} access.`);
}

export function holdsRole(least: Role, { role }: Principal): boolean {
  return roles.includes(role) && roles.indexOf(role) >= roles.indexOf(least);
}

/**
 * Session and user pins are for one's own scope. Whose session it is, the surface knows: it puts
 * the session in the context in which the person spoke. A user pin names its user, so it is checked.
 */
export function requirePinRole(scope: PinScope, context: PinContext, principal: Principal): void {
  requireRole(`pin-${scope}`, principal);
  if (scope !== "user" || context.user === undefined || context.user === principal.id) return;
  throw new MandateError("refused-by-policy", "User pin is for your own user only.");
}

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
