import { MandateError } from "../../ports/mandate-error.ts";
import { headOf } from "../../text.ts";
import { nearestKey } from "./nearest-key.ts";

/** Every key of an options object, so that the compiler says when one is forgotten, or is gone. */
export type Keys<Options> = Readonly<Record<keyof Options, true>>;

/**
 * An unknown key was meant to do something. Passed over, a limit with a typo is no limit:
 * the compiler sees that in a literal, and nothing does in JavaScript.
 */
export function requireKnownKeys(call: string, given: unknown, known: object): void {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    const kind = given === null ? "null" : Array.isArray(given) ? "a list" : typeof given;
    throw new MandateError("usage", `${call} takes an object, not ${kind}.`);
  }
  for (const key of Object.keys(given)) {
    if (Object.hasOwn(known, key)) continue;
    const keys = Object.keys(known);
    const nearest = nearestKey(key, keys);
    const hint = nearest ? `Did you mean "${nearest}"?` : `It takes: ${keys.join(", ")}.`;
    throw new MandateError("usage", `${call}: "${headOf(key, 80)}" is not known here. ${hint}`);
  }
}
