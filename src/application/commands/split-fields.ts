import { agentIdProblem } from "../../control/records/agent-registry.ts";
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
