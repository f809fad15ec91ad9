import type { Message, ModelRequest } from "../../ports/model.ts";
import type { Playbook, PlaybookReply } from "./playbook.ts";
import { compileWhen, type Moment } from "./when.ts";

export type ChooseReply = (request: ModelRequest) => PlaybookReply | undefined;

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

/** One earlier turn: the faults it met, then the reply that became its message. */
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
