import type { Principal } from "../../control/records/principal.ts";
import { MandateError } from "../../ports/mandate-error.ts";

declare const provenance: unique symbol;

/**
 * Text that an authenticated person typed, with who it was. Commands are executed from this type
 * alone, and only `fromUser` makes it: a model's reply, a tool's output, a child's result, a task or
 * a file is a plain string, and no string is a command. Surfaces call `fromUser` where they receive
 * input, and nowhere else; the stages that run agents stand before this one and cannot import it.
 */
export interface UserText {
  readonly text: string;
  readonly principal: Principal;
  readonly [provenance]: "user";
}

/** Types vanish when the code runs; this stays, so that no cast and no JSON makes a user's text. */
const made = new WeakSet<UserText>();

export function fromUser(text: string, principal: Principal): UserText {
  const said = Object.freeze({ text, principal: Object.freeze({ ...principal }) }) as UserText;
  made.add(said);
  return said;
}

export function requireUserText(said: UserText): void {
  if (made.has(said)) return;
  throw new MandateError("refused-by-policy", "Only text that a user typed can be a command.");
}
