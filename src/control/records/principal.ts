/**
 * control/ owns what people decide: configuration, roles and tokens, registered agents, pins, trust in
 * found files, and consent to folders. It may import ports, contracts, events, workspaces and agents.
 */
import type { Selection } from "../../contracts/selection.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { PinContext, PinScope } from "./pins.ts";

/** The role of a principal. Each role includes those before it. */
export type Role = "viewer" | "operator" | "admin";

/** Roles, from the least authority to the most. */
export const roles: readonly Role[] = ["viewer", "operator", "admin"];

export interface Principal {
  readonly id: string;
  readonly role: Role;
  /** The scopes that contracts of this principal may have; absent: no further limit. */
  readonly scopes?: Selection | undefined;
  /** Whether an operator sees the runs of all principals; viewers and admins always do. */
  readonly allRuns?: boolean | undefined;
}

/** The principal of the command line, and of the installation's own token. */
export const installationUser = "local";

/** The actions that require a role. */
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
  | "set-limit"
  | "manage-fleet"
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
  "set-limit": { least: "admin", what: "Setting limits" },
  "manage-fleet": { least: "operator", what: "Pausing queues and draining workers" },
  "pin-session": { least: "viewer", what: "Session pin" },
  "pin-user": { least: "viewer", what: "User pin" },
  "pin-workspace": { least: "operator", what: "Workspace pin" },
  "pin-global": { least: "operator", what: "Global pin" },
};

/**
 * Throws "refused-by-policy" when the role of the principal is too low; an unknown role has no
 * rights. The only place that knows which action needs which role; surfaces only pass the
 * principal.
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
 * Checks the role for a pin. Session and user pins are for one's own scope: the surface sets the
 * session of the person in the context, and the user is compared here.
 */
export function requirePinRole(scope: PinScope, context: PinContext, principal: Principal): void {
  requireRole(`pin-${scope}`, principal);
  if (scope !== "user" || context.user === undefined || context.user === principal.id) return;
  throw new MandateError("refused-by-policy", "User pin is for your own user only.");
}

/** The owner of records that every principal may see. */
export const everybody: unique symbol = Symbol("everybody");

/** The principal in the contract of a run's root. Undefined: unknown, and no principal's own. */
export type Owner = string | typeof everybody | undefined;

/**
 * The rule for every surface: a principal sees its own runs, or all. Who sees a run may steer it,
 * as far as the role allows. A run that a principal may not see does not exist for it.
 */
export function maySee(principal: Principal, owner: Owner): boolean {
  return seesAllRuns(principal) || owner === everybody || owner === principal.id;
}

/** Viewers and admins see all runs; an operator only with `allRuns`. */
export function seesAllRuns({ allRuns, role }: Pick<Principal, "allRuns" | "role">): boolean {
  return role === "viewer" || role === "admin" || (role === "operator" && allRuns === true);
}
