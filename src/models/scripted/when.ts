import type { Message, ModelCaller } from "../../ports/model.ts";
import type { NumberRange, When } from "./playbook.ts";

/** A point of a conversation at which the model is asked: now, or at one of the earlier turns. */
export interface Moment {
  readonly caller: ModelCaller;
  readonly last: Message | undefined;
}

export const rangePattern = /^(\d+)(?:(\+)|-(\d+))?$/;
const regularExpression = /^\/(.+)\/([a-z]*)$/s;

/** What is wrong with a condition on text, or undefined. */
export function findPatternProblem(condition: string): string | undefined {
  try {
    compilePattern(condition);
    return undefined;
  } catch (error) {
    return `not a pattern: ${(error as Error).message}`;
  }
}

/** Compiled once, since it is asked at every turn. */
export function compileWhen(when: When = {}): (moment: Moment) => boolean {
  const tests: ((moment: Moment) => boolean)[] = [];
  const { profile, tool, task, last } = when;
  if (profile !== undefined) tests.push(({ caller }) => caller.profile === profile);
  for (const field of ["turn", "attempt", "depth", "try"] as const) {
    const condition = when[field];
    if (condition === undefined) continue;
    const holds = compileRange(condition);
    tests.push(({ caller }) => holds(caller[field]));
  }
  if (tool !== undefined) {
    tests.push((moment) => moment.last?.role === "tool" && moment.last.tool === tool);
  }
  if (task !== undefined) {
    const matches = compilePattern(task);
    tests.push(({ caller }) => matches(caller.task));
  }
  if (last !== undefined) {
    const matches = compilePattern(last);
    tests.push((moment) => matches(moment.last?.text ?? ""));
  }
  return (moment) => tests.every((test) => test(moment));
}

function compileRange(condition: NumberRange): (value: number) => boolean {
  const [, first = "", isOpen, second] = rangePattern.exec(String(condition)) ?? [];
  const from = Number(first);
  const to = isOpen ? Number.POSITIVE_INFINITY : Number(second ?? first);
  return (value) => value >= from && value <= to;
}

/** Part of the text, or a /pattern/ when written like one. */
function compilePattern(condition: string): (text: string) => boolean {
  const [, source, flags = ""] = regularExpression.exec(condition) ?? [];
  if (source === undefined) return (text) => text.includes(condition);
  // Global and sticky expressions remember where they were, and nothing here may remember.
  const expression = new RegExp(source, flags.replaceAll(/[gy]/g, ""));
  return (text) => expression.test(text);
}
