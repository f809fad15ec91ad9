import type { LooseEvent } from "./forged-log.test-support.ts";
import {
  type Finder,
  inRun,
  insert,
  patch,
  repeat,
  type SeededBug,
} from "./seeded-bug.test-support.ts";

/** The resumed run as if it had been spread: everybody was claimed, and the sleeper once more. */
function spread(events: readonly LooseEvent[], find: Finder): LooseEvent[] {
  const started = patch(events, find("run.started"), { spread: { delegations: 100 } });
  return started.flatMap((event): LooseEvent[] => {
    if (event.type === "agent.subagent_created") {
      const claimed = { worker: "w1", fence: 1 };
      const shared = { ...event, payload: { ...event.payload, budget: { tokens: 1e6 } } };
      return [shared, { ...event, type: "agent.claimed", payload: claimed } as LooseEvent];
    }
    // Nobody takes a spread run over: each of its delegations is claimed anew.
    if (event.type === "run.resumed") return [];
    if (event.type !== "agent.resumed") return [event];
    const claimed = { ...event, type: "agent.claimed", payload: { worker: "w2", fence: 2 } };
    return [claimed as LooseEvent, { ...event, payload: { ...event.payload, fence: 2 } }];
  });
}

type Change = (events: LooseEvent[], find: Finder) => LooseEvent[];

function inSpread(title: string, invariant: SeededBug["invariant"], change: Change): SeededBug {
  return inRun("resumed", title, invariant, (events, find) => {
    const shared = spread(events, find);
    const whose = (id: string | undefined): string | undefined =>
      shared.flatMap((event) =>
        event.type === "agent.subagent_created" && event.sub_agent_id === id
          ? [event.payload.profile]
          : [],
      )[0];
    const findIn: Finder = (type, profile, number = 1) => {
      let left = number;
      const at = shared.findIndex(
        (event) =>
          event.type === type &&
          (profile === undefined || whose(event.sub_agent_id) === profile) &&
          --left === 0,
      );
      if (at < 0) throw new Error(`the run has no ${type} of ${profile ?? "itself"}`);
      return at;
    };
    return change(shared, findIn);
  });
}

export const soundShares: readonly SeededBug[] = [
  inSpread("everybody claimed, and claimed again", "I9", (events) => events),
];

/** Delegations of a spread run that two workers believe to have. */
export const forgedShares: readonly SeededBug[] = [
  inSpread("two workers claim a delegation with one fence", "I9", (events, find) =>
    repeat(events, find("agent.claimed", "sleeper")),
  ),
  inSpread("a claim leaves a fence out", "I9", (events, find) =>
    patch(
      patch(events, find("agent.claimed", "sleeper", 2), { fence: 3 }),
      find("agent.resumed", "sleeper"),
      { fence: 3 },
    ),
  ),
  inSpread("a worker goes on under the claim before the last", "I9", (events, find) =>
    patch(events, find("agent.resumed", "sleeper"), { fence: 1 }),
  ),
  inRun(
    "rich",
    "a delegation is claimed in a run that one process works on",
    "I9",
    (events, find) =>
      insert(events, find("agent.subagent_started", "flaky"), {
        type: "agent.claimed",
        payload: { worker: "w1", fence: 1 },
      }),
  ),
  inSpread("somebody claims what is closed", "I5", (events, find) => {
    const closed = find("agent.subagent_closed", "sleeper");
    const claimed = {
      ...events[closed],
      type: "agent.claimed",
      payload: { worker: "w3", fence: 3 },
    };
    return events.toSpliced(closed + 1, 0, claimed as LooseEvent);
  }),
];
