import type { Message, ModelCaller, ModelRequest } from "../../ports/model.ts";
import type { NumberRange, Playbook, PlaybookReply, When } from "./playbook.ts";

type ChooseReply = (request: ModelRequest) => PlaybookReply | undefined;

interface Candidate {
  readonly reply: PlaybookReply;
  readonly matches: (moment: Moment) => boolean;
}

type Uses = Map<Candidate, number>;

/**
 * The first reply that fits. How often one with `times` was given already is found by going through
 * the conversation again from its start: the model remembers nothing, so a resumed delegation is
 * answered as if it had never stopped.
 */
export function createChooseReply(playbook: Playbook): ChooseReply {
  const candidates = playbook.replies.map((reply) => ({ reply, matches: compileWhen(reply.when) }));
  const isCounted = playbook.replies.some((reply) => reply.times !== undefined);
  return (request) => {
    const uses: Uses = isCounted ? countUses(candidates, request) : new Map();
    const now = { caller: request.caller, last: request.messages.at(-1) };
    return pick(candidates, now, uses)?.reply;
  };
}

function pick(candidates: readonly Candidate[], moment: Moment, uses: Uses): Candidate | undefined {
  return candidates.find((candidate) => {
    const limit = candidate.reply.times ?? Number.POSITIVE_INFINITY;
    return (uses.get(candidate) ?? 0) < limit && candidate.matches(moment);
  });
}

function countUses(candidates: readonly Candidate[], request: ModelRequest): Uses {
  const uses: Uses = new Map();
  const { caller, messages } = request;
  const given = messages.filter((message) => message.role === "assistant").length;
  let turn = Math.max(1, caller.turn - given);
  messages.forEach((message, index) => {
    if (message.role !== "assistant") return;
    replayTurn(candidates, { ...caller, turn }, messages[index - 1], message, uses);
    turn += 1;
  });
  for (let number = 1; number < caller.try; number += 1) {
    use(candidates, { caller: { ...caller, try: number }, last: messages.at(-1) }, uses);
  }
  return uses;
}

/** Replays one earlier turn: the faults it met, then the reply that became its message. */
function replayTurn(
  candidates: readonly Candidate[],
  caller: ModelRequest["caller"],
  last: Message | undefined,
  outcome: Extract<Message, { role: "assistant" }>,
  uses: Uses,
): void {
  const wasEmpty = outcome.text === "" && outcome.calls.length === 0;
  for (let number = 1; number <= maximumTries; number += 1) {
    const reply = use(candidates, { caller: { ...caller, try: number }, last }, uses);
    const wasRetried = reply?.fault === "empty" ? !wasEmpty : isRetriedFault(reply);
    if (!wasRetried) return;
  }
}

const maximumTries = 20;

function use(
  candidates: readonly Candidate[],
  moment: Moment,
  uses: Uses,
): PlaybookReply | undefined {
  const candidate = pick(candidates, moment, uses);
  if (candidate !== undefined) uses.set(candidate, (uses.get(candidate) ?? 0) + 1);
  return candidate?.reply;
}

/** After these the same turn is asked again; nothing of them stays in the conversation. */
function isRetriedFault(reply: PlaybookReply | undefined): boolean {
  switch (reply?.fault) {
    case "rate-limited":
    case "overloaded":
    case "connection":
    case "context-overflow":
    case "stall":
    case "stall-mid-stream":
    case "hang":
      return true;
    default:
      return false;
  }
}

/** A point of a conversation at which the model is asked: now, or at one of the earlier turns. */
interface Moment {
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
function compileWhen(when: When = {}): (moment: Moment) => boolean {
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
