import type { EventPayloads, EventType } from "../event.ts";
import type { ForgedLog, LooseEvent } from "./forged-log.test-support.ts";
import type { HealthyRuns } from "./healthy-database.test-support.ts";

/** Those of the rich run that are made to work in copies, in the order of their steps. */
export type Merged = "middle" | "flaky" | "nested" | "first" | "second";

/** The rich run of the healthy database with merges in it. */
export interface MergedRun {
  /** The folder of the run. */
  readonly workspace: string;
  readonly ids: Readonly<Record<Merged | "lead" | "greedy", string>>;
  folderOf(name: Merged): string;
}

const parents: Readonly<Record<Merged, "lead" | "middle">> = {
  middle: "lead",
  flaky: "lead",
  nested: "middle",
  first: "lead",
  second: "lead",
};

/**
 * Makes children work in copies of their caller's folder and be merged into it, as a runtime
 * without a bug would have written it: one of them below another one, which has written a file
 * itself; one whose merge ended in a conflict; two that one call waits for.
 */
export function addMerges(log: ForgedLog, { rich }: HealthyRuns): MergedRun {
  const run = describe(log, rich);
  for (const [name, parent] of Object.entries(parents) as [Merged, "lead" | "middle"][]) {
    const of = parent === "lead" ? run.workspace : run.folderOf(parent);
    log.replaceContract(rich, run.ids[name], (contract) => {
      const copy = { id: run.ids[name], of };
      const root = run.folderOf(name);
      contract.workspace = { ...contract.workspace, isolation: "sandbox", root, copy, base: "b" };
    });
  }
  log.rewrite(rich, (events) => merge(events, run));
  return run;
}

function describe(log: ForgedLog, runId: string): MergedRun {
  const created = log
    .eventsOf(runId)
    .flatMap((event) => (event.type === "agent.subagent_created" ? [event] : []));
  const idOf = (profile: string, number = 0): string =>
    created.filter(({ payload }) => payload.profile === profile)[number]?.sub_agent_id ?? "";
  const { contextJson } = log.database
    .prepare("SELECT context_json AS contextJson FROM sub_agents WHERE context_json LIKE ?")
    .get('%"id":"lead"%') as { contextJson: string };
  const workspace = String(JSON.parse(contextJson).workspace.root);
  const ids = {
    ...{ lead: idOf("lead"), middle: idOf("middle"), flaky: idOf("flaky") },
    ...{ greedy: idOf("greedy"), nested: idOf("leaf") },
    ...{ first: idOf("leaf", 1), second: idOf("leaf", 2) },
  };
  return { workspace, ids, folderOf: (name) => `/home/worktrees/${ids[name]}` };
}

function merge(events: readonly LooseEvent[], { ids }: MergedRun): LooseEvent[] {
  const merges: Readonly<Record<string, Partial<EventPayloads["agent.worktree_merged"]>>> = {
    [ids.middle]: { files: [{ path: "m", before: null, after: "m1" }] },
    [ids.flaky]: { strategy: "conflict", conflicted_files: ["f"] },
    // Its caller has made the file that it changes.
    [ids.nested]: { files: [{ path: "n", before: "n1", after: "n2" }] },
    [ids.first]: { strategy: "three-way", files: [{ path: "s", before: null, after: "s1" }] },
    [ids.second]: { strategy: "three-way", files: [{ path: "s", before: "s1", after: "s2" }] },
  };
  const ended = events.flatMap((event) => {
    const { sub_agent_id: id = "", type } = event;
    const payload = merges[id];
    if (
      type === "agent.tool_completed" &&
      id === ids.middle &&
      event.payload.tool !== "delegate_task"
    )
      return [withFields(event, { files: [{ path: "n", before: null, after: "n1" }] })];
    if (payload === undefined) return [event];
    const hasFailed = id === ids.flaky;
    if (type === "agent.subagent_completed") {
      const merged = { strategy: "fast-forward", conflicted_files: [], commit: "c", ...payload };
      const before = { ...event, type: "agent.worktree_merged", payload: merged } as LooseEvent;
      const end = { integrator: "git", reason: "integrated" };
      const failure = { code: "merge_conflict", error: "f" };
      return hasFailed
        ? [before, { ...event, type: "agent.subagent_failed", payload: failure } as LooseEvent]
        : [before, withFields(event, end)];
    }
    if (type !== "agent.subagent_closed") return [event];
    return [
      withFields(event, {
        final_status: hasFailed ? "failed" : "completed",
        close_reason: hasFailed ? "merge_conflict" : "integrated",
      }),
    ];
  });
  return endWithin(endWithin(ended, ids.first), ids.second);
}

/** Moves the end of a delegation to just before the call that waits for it is completed. */
export function endWithin(events: readonly LooseEvent[], id: string): LooseEvent[] {
  const isEnd = ({ sub_agent_id: about, type }: LooseEvent): boolean =>
    about === id && ends.has(type);
  const rest = events.filter((event) => !isEnd(event));
  const at = rest.findIndex(
    (event) => event.type === "agent.tool_completed" && event.payload.tool === "spawn_await",
  );
  return rest.toSpliced(at, 0, ...events.filter(isEnd));
}

const ends: ReadonlySet<EventType> = new Set<EventType>([
  "agent.subagent_waiting_for_merge",
  "agent.worktree_merged",
  "agent.subagent_completed",
  "agent.subagent_closed",
]);

function withFields(event: LooseEvent, fields: object): LooseEvent {
  return { ...event, payload: { ...event.payload, ...fields } } as LooseEvent;
}
