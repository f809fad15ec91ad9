import type { EventPayloads } from "../event.ts";
import type { LooseEvent } from "./forged-log.test-support.ts";
import {
  type Finder,
  inRun,
  insert,
  move,
  patch,
  patchSeal,
  repeat,
  type SeededBug,
} from "./seeded-bug.test-support.ts";

const nothing = { prompt: 0, completion: 0, cost: 0 };

/** Changes the n-th settlement of a profile's delegation. */
function settledBy(
  events: readonly LooseEvent[],
  find: Finder,
  profile: string,
  number = 1,
): EventPayloads["agent.budget_settled"] {
  const event = events[find("agent.budget_settled", profile, number)];
  if (event?.type !== "agent.budget_settled") throw new Error("it is not settled");
  return event.payload;
}

/** Changes what a request was settled as, and its answer and its seal with it. */
function resettle(
  events: readonly LooseEvent[],
  find: Finder,
  [profile, number]: readonly [string, number],
  usage: { readonly prompt: number; readonly completion: number },
  marks: object = {},
): LooseEvent[] {
  const at = find("agent.budget_settled", profile, number);
  const before = settledBy(events, find, profile, number);
  const closed = find("agent.subagent_closed", profile);
  const seal = sealAt(events, closed).usage;
  const settled = patch(events, at, { ...usage, ...marks });
  const isAnswer = events[at - 1]?.type === "agent.model_turn";
  const turned = isAnswer
    ? patch(settled, at - 1, { usage: { ...usage, cost: before.cost } })
    : settled;
  return patchSeal(turned, closed, {
    usage: {
      ...seal,
      prompt: seal.prompt + usage.prompt - before.prompt,
      completion: seal.completion + usage.completion - before.completion,
    },
  });
}

function sealAt(events: readonly LooseEvent[], at: number) {
  const event = events[at];
  if (event?.type !== "agent.subagent_closed") throw new Error("only a close has a seal");
  return event.payload.seal;
}

/** What the cut request of the run had used is reported while its delegation works on. */
function correct(
  events: readonly LooseEvent[],
  find: Finder,
  payload: Partial<EventPayloads["agent.budget_corrected"]> = {},
): LooseEvent[] {
  const { completion, cost, prompt } = settledBy(events, find, "cut");
  const reported = { prompt: 3, completion: 1, ...payload };
  const closed = find("agent.subagent_closed", "cut");
  const { usage } = sealAt(events, closed);
  const sealed = patchSeal(events, closed, {
    usage: {
      prompt: usage.prompt + reported.prompt - prompt,
      completion: usage.completion + reported.completion - completion,
      cost: 0,
    },
  });
  const replaces = { prompt, completion, cost };
  return insert(sealed, find("agent.budget_reserved", "cut", 2), {
    type: "agent.budget_corrected",
    payload: { request: 1, cost: 0, replaces, ...reported },
  });
}

const correction = (payload: object) => ({ type: "agent.budget_corrected", payload }) as const;

/** A request that is reserved and settled, and brings nothing. */
function request(number: number, tokens = 10) {
  const reserved = { request: number, tokens, prompt: 5 };
  const settled = { request: number, reserved: tokens, ...nothing };
  return [
    { type: "agent.budget_reserved", payload: reserved },
    { type: "agent.budget_settled", payload: settled },
  ] as const;
}

/** The root's answer comes before the end of the child that works in the background. */
function answerFirst(events: readonly LooseEvent[], find: Finder): LooseEvent[] {
  return move(
    events,
    find("agent.subagent_waiting_for_merge", "poser"),
    find("agent.budget_settled", "sleeper"),
  );
}

function inAnswered(
  title: string,
  change: (events: LooseEvent[], find: Finder) => LooseEvent[],
): SeededBug {
  return inRun("answered", title, "I13", change);
}

const overruns = { says: /after an overrun/ };

/** What looks like a violation of a budget, or of the order of closing, and is none. */
export const soundBudgets: readonly SeededBug[] = [
  inRun("overrun", "an estimate is corrected to less", "I12", correct),
  inRun("overrun", "an estimate is corrected to more", "I12", (events, find) => {
    const { completion, prompt } = settledBy(events, find, "cut");
    return correct(events, find, { prompt, completion: completion + 5 });
  }),
  inRun("rich", "an earlier version settled more than it had reserved", "I12", (events, find) => {
    const at = find("agent.budget_reserved", "greedy");
    const { reserved } = settledBy(events, find, "greedy");
    const older = patch(events, at, { prompt: undefined });
    return resettle(older, find, ["greedy", 1], { prompt: reserved + 1, completion: 0 });
  }),
  inAnswered("a root has answered while a child works on", answerFirst),
];

/** Budgets that are overrun, estimated, corrected or closed as they must not be. */
export const forgedBudgets: readonly SeededBug[] = [
  {
    ...inRun("overrun", "more than was reserved is settled without a mark", "I12", (events, find) =>
      patch(events, find("agent.budget_settled", "burner", 2), { overrun: undefined }),
    ),
    says: /is not marked|tokens spent/,
  },
  {
    ...inRun("rich", "a mark of an overrun excuses what is none", "I12", (events, find) =>
      patch(events, find("agent.budget_settled", "flaky", 2), { overrun: true }),
    ),
    says: /is none|after an overrun/,
  },
  {
    ...inRun("overrun", "a request leaves after an overrun", "I12", (events, find) =>
      insert(events, find("agent.subagent_waiting_for_merge", "burner"), ...request(3)),
    ),
    says: /reserved after an overrun|tokens spent/,
  },
  {
    ...inRun("overrun", "a request leaves below an overrun", "I12", (events, find) => {
      const [reserved, turn] = [
        find("agent.budget_reserved", "burner", 2),
        find("agent.model_turn", "burner", 2),
      ];
      const closed = find("agent.subagent_closed", "burner");
      const before = settledBy(events, find, "burner");
      const usage = { prompt: before.reserved + 1, completion: 0 };
      const early = resettle(events, find, ["burner", 1], usage, { overrun: true });
      const sealed = patchSeal(early, closed, { usage: { ...usage, cost: 0 }, turns: 1 });
      return sealed.filter((_, at) => at !== reserved && at !== turn && at !== turn + 1);
    }),
    ...overruns,
  },
  {
    ...inRun(
      "overrun",
      "one with an overrun is closed as if nothing was",
      "I12",
      (events, find) => {
        const reason = "report_accepted";
        const completed = patch(events, find("agent.subagent_completed", "burner"), { reason });
        return patch(completed, find("agent.subagent_closed", "burner"), { close_reason: reason });
      },
    ),
    says: /closes for report_accepted after an overrun/,
  },
  {
    ...inRun("overrun", "a caller goes on whose cap an overrun exceeded", "I12", (events, find) =>
      insert(events, find("agent.subagent_waiting_for_merge", "spender"), ...request(3)),
    ),
    says: /tokens spent/,
  },
  {
    ...inRun("overrun", "an estimate is more than was reserved", "I12", (events, find) => {
      const { reserved } = settledBy(events, find, "cut");
      return resettle(events, find, ["cut", 1], { prompt: reserved, completion: 1 });
    }),
    says: /estimated at more/,
  },
  {
    ...inRun("overrun", "a request reserves less than its prompt can be", "I12", (events, find) =>
      patch(events, find("agent.budget_reserved", "cut"), { prompt: 900_000 }),
    ),
    says: /less than the bound/,
  },
  {
    ...inRun("overrun", "what was reported is corrected", "I12", (events, find) => {
      const { completion, cost, prompt } = settledBy(events, find, "cut", 2);
      const usage = { prompt, completion, cost };
      return insert(
        events,
        find("agent.subagent_waiting_for_merge", "cut"),
        correction({ request: 2, ...usage, replaces: usage }),
      );
    }),
    says: /is not an open estimate/,
  },
  {
    ...inRun("overrun", "an estimate is corrected twice", "I12", (events, find) => {
      const usage = { prompt: 3, completion: 1, cost: 0 };
      return insert(
        correct(events, find),
        find("agent.budget_reserved", "cut", 2) + 1,
        correction({ request: 1, ...usage, replaces: usage }),
      );
    }),
    says: /is not an open estimate/,
  },
  {
    ...inRun("overrun", "an estimate is corrected from other amounts", "I12", (events, find) => {
      const { completion, prompt } = settledBy(events, find, "cut");
      const closed = find("agent.subagent_closed", "cut");
      const { usage } = sealAt(events, closed);
      const grown = patchSeal(events, closed, { usage: { ...usage, prompt: usage.prompt + 1 } });
      const replaces = { prompt: prompt + 1, completion, cost: 0 };
      const payload = { request: 1, prompt: prompt + 2, completion, cost: 0, replaces };
      return insert(grown, find("agent.budget_reserved", "cut", 2), correction(payload));
    }),
    says: /from other amounts/,
  },
  {
    ...inRun(
      "overrun",
      "a correction exceeds the reservation without a mark",
      "I12",
      (events, find) => {
        const { reserved } = settledBy(events, find, "cut");
        return correct(events, find, { prompt: reserved, completion: 1 });
      },
    ),
    says: /is not marked/,
  },
  inRun("overrun", "an estimate is corrected after the close", "I5", (events, find) => {
    const { completion, cost, prompt } = settledBy(events, find, "cut");
    const usage = { prompt, completion, cost };
    const closed = find("agent.subagent_closed", "cut");
    const late = insert(events, closed, correction({ request: 1, ...usage, replaces: usage }));
    return move(late, closed, closed + 2);
  }),
  inRun("overrun", "an overrun is settled twice", "I12", (events, find) => {
    const at = find("agent.budget_settled", "burner", 2);
    return patch(repeat(events, at), at + 1, nothing);
  }),
  inAnswered("a root that has answered is taken over while a child works", (events, find) => {
    const first = answerFirst(events, find);
    const completed = first.findIndex(({ type }) => type === "agent.subagent_completed");
    return move(first, completed, first.findIndex(isEndOf("sleeper", events)));
  }),
  inAnswered("a root that has answered is closed while a child works", (events, find) => {
    const first = answerFirst(events, find);
    const isEnd = isEndOf("sleeper", events);
    const at = first.findIndex(isEnd);
    return [
      ...first.slice(0, at),
      ...first.slice(at).filter((event) => !isEnd(event) && event.type !== "run.finished"),
      ...first.slice(at).filter((event) => isEnd(event) || event.type === "run.finished"),
    ];
  }),
];

/** The two events that end the delegation of a profile. */
function isEndOf(profile: string, events: readonly LooseEvent[]): (event: LooseEvent) => boolean {
  const id = events.find(
    (event) => event.type === "agent.subagent_created" && event.payload.profile === profile,
  )?.sub_agent_id;
  return ({ sub_agent_id, type }) =>
    sub_agent_id === id && (type === "agent.subagent_failed" || type === "agent.subagent_closed");
}
