import { agentIdProblem } from "../../control/records/agent-registry.ts";
import { quote } from "../../control/records/shown-text.ts";
import type { UsageProblem } from "./command.ts";

/** Splits `a | b | c` and trims each part. Quotes have no meaning; no part may be empty. */
export function splitFields(
  rest: string,
  least: number,
  most: number = least,
): readonly string[] | UsageProblem {
  const fields = rest.split("|").map((field) => field.trim());
  const takes = least === most ? `${least}` : `${least} to ${most}`;
  if (fields.length < least || fields.length > most) {
    return { problem: `It takes ${takes} parts with | between them; there are ${fields.length}.` };
  }
  const empty = fields.indexOf("");
  return empty < 0 ? fields : { problem: `Part ${empty + 1} is empty.` };
}

/** `a, b`; an empty text is an empty list. */
export function splitNames(text: string): readonly string[] {
  return text.trim() === "" ? [] : text.split(",").map((name) => name.trim());
}

export function isProblem(value: object): value is UsageProblem {
  return "problem" in value;
}

/** The usage error of a handle; undefined: it is valid. */
export function handleProblem(agentId: string): UsageProblem | undefined {
  const problem = agentIdProblem(agentId);
  return problem === undefined ? undefined : { problem: `agentId: ${problem}` };
}

/** Parses the text of commands whose only argument is a handle. */
export function parseHandle(rest: string): { readonly agentId: string } | UsageProblem {
  return handleProblem(rest) ?? { agentId: rest };
}

/** Parses the text of commands without arguments. */
export function parseNothing(rest: string): object {
  return rest === "" ? {} : { problem: "It takes nothing more." };
}

/** The id of a delegation or a run (`r…`), optionally after a name: `oracle#3f2a10`. */
const workForm = /^(?:[a-z0-9][a-z0-9_-]{0,63}#)?(r?[0-9a-f]{6}(?:[0-9a-f]{2})?)$/;
const askForm = /^q[0-9a-f]{6}(?:[0-9a-f]{2})?$/;

/** The id in a word: `3f2a10`, `oracle#3f2a10`, `r3f2a10`. */
export function idIn(word: string): string | undefined {
  return workForm.exec(word)?.[1];
}

export function isAskId(word: string): boolean {
  return askForm.test(word);
}

export function parseId(rest: string): { readonly id: string } | UsageProblem {
  if (rest === "") return { problem: "It takes an id, as /status shows them." };
  const id = idIn(rest);
  return id === undefined ? { problem: `${quote(rest)} is not an id. /status shows ids.` } : { id };
}

export function parseOptionalId(rest: string): { readonly id?: string } | UsageProblem {
  return rest === "" ? {} : parseId(rest);
}

/** The first word of a text, and the rest with its lines. */
export function splitFirstWord(rest: string): readonly [word: string, text: string] {
  const end = /[ \t\r\n]/.exec(rest)?.index ?? rest.length;
  return [rest.slice(0, end), rest.slice(end).trim()];
}
