import { quote } from "../../control/records/shown-text.ts";
import type { UsageProblem } from "./command.ts";

/** Of a delegation or a run (`r…`); with who it is, as replies write it. */
const workForm = /^(?:[a-z0-9][a-z0-9_-]{0,63}#)?(r?[0-9a-f]{6}(?:[0-9a-f]{2})?)$/;
const askForm = /^q[0-9a-f]{6}(?:[0-9a-f]{2})?$/;

/** The id in one word: `3f2a10`, `oracle#3f2a10`, `r3f2a10`. */
export function idIn(word: string): string | undefined {
  return workForm.exec(word)?.[1];
}

export function isAskId(word: string): boolean {
  return askForm.test(word);
}

export function parseId(rest: string): { readonly id: string } | UsageProblem {
  if (rest === "") return { problem: "It takes an id, as /status shows them." };
  const id = idIn(rest);
  return id === undefined ? { problem: `${quote(rest)} is no id. /status shows some.` } : { id };
}

export function parseOptionalId(rest: string): { readonly id?: string } | UsageProblem {
  return rest === "" ? {} : parseId(rest);
}

/** The first word of a text, and what follows it, lines and all. */
export function splitFirstWord(rest: string): readonly [word: string, text: string] {
  const end = /[ \t\r\n]/.exec(rest)?.index ?? rest.length;
  return [rest.slice(0, end), rest.slice(end).trim()];
}
