import { agentIdProblem } from "../../control/records/agent-registry.ts";
import { quote } from "../../control/records/shown-text.ts";
import type { UsageProblem } from "./command.ts";

/** `a | b | c`, with the blanks around each part gone. Quotes mean nothing, and no part is empty. */
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

/** The problem of a handle, as a usage problem; undefined when it is one. */
export function handleProblem(agentId: string): UsageProblem | undefined {
  const problem = agentIdProblem(agentId);
  return problem === undefined ? undefined : { problem: `agentId: ${problem}` };
}

/** For commands that take one handle and nothing else. */
export function parseHandle(rest: string): { readonly agentId: string } | UsageProblem {
  return handleProblem(rest) ?? { agentId: rest };
}

/** For commands that take nothing. */
export function parseNothing(rest: string): object {
  return rest === "" ? {} : { problem: "It takes nothing more." };
}

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
