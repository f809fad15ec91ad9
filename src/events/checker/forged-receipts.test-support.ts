import type { EventPayloads } from "../event.ts";
import type { LooseEvent } from "./forged-log.test-support.ts";
import { inRun, patchSeal, type SeededBug } from "./seeded-bug.test-support.ts";

const receipt: EventPayloads["control.pruned"] = {
  ...{ run: "rabcdef", actor: "ann", outcome: "succeeded", started_at: 1, finished_at: 2 },
  ...{ events: 1, head: "0".repeat(64), spans: [[1, 1]], numbers: [], memories: 0, spent: [] },
};

function pruned(changed: Partial<EventPayloads["control.pruned"]>): LooseEvent {
  return { type: "control.pruned", at: 1, payload: { ...receipt, ...changed } };
}

/** Receipts of prunings that were not what they say, and seals that say too little. */
export const forgedReceipts: readonly SeededBug[] = [
  inRun("control", "a receipt counts other events than it names", "I1", (events) => [
    ...events,
    pruned({ events: 7 }),
  ]),
  inRun("control", "a receipt names events that came after it", "I1", (events) => [
    ...events,
    pruned({ spans: [[100_000, 1]] }),
  ]),
  inRun("control", "the control log itself is said to be pruned", "I1", (events) => [
    ...events,
    pruned({ run: "r000000" }),
  ]),
  inRun("rich", "a receipt stands in a run", "I4", (events) => events.toSpliced(1, 0, pruned({}))),
  inRun("rich", "a seal claims tokens that were not spent", "I15", (events, find) =>
    patchSeal(events, find("agent.subagent_closed", "greedy"), {
      usage: { prompt: 1, completion: 1, cost: 0 },
    }),
  ),
  inRun("rich", "a seal forgets that strangers' words were read", "I15", (events, find) =>
    patchSeal(events, find("agent.subagent_closed", "middle"), { untrusted: undefined }),
  ),
];
