import { MandateError } from "../../ports/mandate-error.ts";
import type { PinContext, PinScope } from "./pin.ts";
import { type Principal, type Role, roles } from "./principal.ts";

/** Everything that can be asked of the control plane, by what it takes to be allowed. */
export type ControlAction =
  | "read"
  | "register"
  | "unregister"
  | "change"
  | "apply"
  | "acknowledge"
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
  acknowledge: { least: "operator", what: "Acknowledging profiles" },
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
