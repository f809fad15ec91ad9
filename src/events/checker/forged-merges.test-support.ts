import type { EventType, NewEvent } from "../event.ts";
import type { Invariant } from "./check-report.ts";
import type { LooseEvent } from "./forged-log.test-support.ts";
import { addMerges, endWithin, type Merged, type MergedRun } from "./merged-run.test-support.ts";
import { insert, move, patch, repeat, type SeededBug } from "./seeded-bug.test-support.ts";

type Finder = (type: EventType, name: Merged | "greedy") => number;
type Change = (events: LooseEvent[], find: Finder, run: MergedRun) => LooseEvent[];

const merged = "agent.worktree_merged";
const completed = "agent.subagent_completed";
const failed = "agent.subagent_failed";
const closed = "agent.subagent_closed";

/** Changes the events of the run that has merges in it. */
function inMerges(title: string, invariant: Invariant, says: RegExp, change: Change): SeededBug {
  return {
    title,
    invariant,
    says,
    change(log, runs) {
      const run = addMerges(log, runs);
      log.rewrite(runs.rich, (events) => {
        const find: Finder = (type, name) => {
          const isIt = (event: LooseEvent): boolean =>
            event.type === type && event.sub_agent_id === run.ids[name];
          const at = events.findIndex(isIt);
          if (at < 0) throw new Error(`the run has no ${type} of ${name}`);
          return at;
        };
        return change(events, find, run);
      });
    },
  };
}

/** Changes the contract of one that works in a copy. */
function withCopy(
  title: string,
  invariant: Invariant,
  says: RegExp,
  name: Merged,
  // biome-ignore lint/suspicious/noExplicitAny: a contract that is about to be broken has no type.
  change: (contract: any, run: MergedRun) => void,
): SeededBug {
  return {
    title,
    invariant,
    says,
    change(log, runs) {
      const run = addMerges(log, runs);
      log.replaceContract(runs.rich, run.ids[name], (contract) => change(contract, run));
    },
  };
}

/** Merges that are not as they should be: what a runtime with one bug would write. */
export const forgedMerges: readonly SeededBug[] = [
  inMerges("a child is merged twice", "I16", /merged a second time/, (events, find) =>
    repeat(events, find(merged, "middle")),
  ),
  inMerges("a child is merged before it handed anything in", "I4", /not legal/, (events, find) =>
    move(events, find(merged, "middle"), find("agent.subagent_waiting_for_merge", "middle")),
  ),
  inMerges("a child without a copy is merged", "I16", /no working copy/, (events, find, run) => {
    const git = { integrator: "git", reason: "integrated" };
    const ended = patch(events, find(completed, "greedy"), git);
    const reasoned = patch(ended, find(closed, "greedy"), { close_reason: "integrated" });
    const event = events[find(merged, "middle")];
    const copied = { ...event, sub_agent_id: run.ids.greedy, payload: { ...event?.payload } };
    return reasoned.toSpliced(find(completed, "greedy"), 0, copied as LooseEvent);
  }),
  inMerges("a merge of an unknown kind", "I16", /no merge strategy/, (events, find) => {
    const payload = { strategy: "constructor", conflicted_files: [], commit: "c" };
    return insert(events, find(merged, "first"), { type: merged, payload });
  }),
  inMerges("files are changed by a merge of nothing", "I16", /but files/, (events, find) =>
    patch(events, find(merged, "first"), { strategy: "already" }),
  ),
  inMerges("conflicts are merged over", "I16", /over conflicts/, (events, find) =>
    patch(events, find(merged, "first"), { conflicted_files: ["s"] }),
  ),
  inMerges(
    "something is merged that was not committed",
    "I16",
    /without a commit/,
    (events, find) => patch(events, find(merged, "first"), { commit: null }),
  ),
  inMerges("a merge is claimed that never was", "I6", /not in the log/, (events, find) =>
    events.toSpliced(find(merged, "first"), 1),
  ),
  inMerges("a merged child is completed as if it were not", "I6", /was merged/, (events, find) =>
    patch(events, find(completed, "first"), { integrator: "report" }),
  ),
  inMerges("what a child made is dropped in silence", "I6", /were not merged/, (events, find) =>
    patch(events.toSpliced(find(merged, "first"), 1), find(completed, "first") - 1, {
      integrator: "report",
    }),
  ),
  inMerges("a child fails though it was merged", "I6", /after its changes/, (events, find) => {
    const files = [{ path: "f", before: null, after: "f1" }];
    const fields = { strategy: "three-way", conflicted_files: [], files };
    return patch(events, find(merged, "flaky"), fields);
  }),
  inMerges("a conflict is claimed that never was", "I6", /no merge had/, (events, find) =>
    events.toSpliced(find(merged, "flaky"), 1),
  ),
  inMerges("a conflict is told as a violation", "I6", /no merge had/, (events, find) => {
    const code = "ownership_violation";
    const told = patch(events, find(failed, "flaky"), { code });
    return patch(told, find(closed, "flaky"), { close_reason: code });
  }),
  inMerges(
    "a conflict is told as something else",
    "I6",
    /ended with merge_conf/,
    (events, find) => {
      const code = "policy_denied";
      const told = patch(events, find(failed, "flaky"), { code });
      return patch(told, find(closed, "flaky"), { close_reason: code });
    },
  ),
  inMerges("a later step is merged first", "I16", /after a later step/, (events, _find, { ids }) =>
    endWithin(events, ids.first),
  ),
  inMerges(
    "the recorded order of a plan is not kept",
    "I16",
    /after a later step/,
    (events, find, { ids }) => {
      const at = find("agent.subagent_created", "first");
      const made = events[at] as NewEvent<"agent.subagent_created">;
      const steps = ["one", "two"].map((key) => ({
        ...{ key, title: key, profile: "leaf", depends_on: [], owns: [] },
      }));
      const plan = { by: ids.lead, call_id: "c", first_step: made.payload.step_idx, steps };
      const planned = { type: "run.planned", sub_agent_id: undefined } as const;
      return insert(
        events,
        at,
        { ...planned, payload: { ...plan, merge_order: [1, 0] } },
        // The plan that counts in the end has no step, so that none is open.
        { ...planned, payload: { by: ids.lead, call_id: "d", steps: [] } },
      );
    },
  ),
  inMerges(
    "a merge passes over what its caller wrote",
    "I16",
    /another content of n /,
    (events, find) =>
      patch(events, find(merged, "nested"), { files: [{ path: "n", before: null, after: "n2" }] }),
  ),
  inMerges("a merge leads out of the folder", "I16", /\.\.\/n, which/, (events, find) =>
    patch(events, find(merged, "nested"), { files: [{ path: "../n", before: null, after: "x" }] }),
  ),
  withCopy(
    "a merge changes what the child may not write",
    "I16",
    /s, which it may not write/,
    "first",
    (contract, { workspace }) => {
      contract.permissions.write_roots = [`${workspace}/docs`];
    },
  ),
  withCopy("a copy is of another folder", "I11", /copy of another/, "nested", (contract, run) => {
    contract.workspace.copy.of = run.workspace;
  }),
];
