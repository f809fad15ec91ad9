import { addSpent, nothingSpent, type Spent } from "../../../../../src/events/spent.ts";
import type { WorkflowCallView, WorkflowView } from "../../../../../src/sessions/workflow-view.ts";
import type { TreeRow } from "../run-tree-rows.ts";

export interface WorkflowGroup {
  /** Null: calls outside of every phase. */
  readonly phase: string | null;
  readonly counts: CallCounts;
  readonly spent: Spent;
}

export interface CallCounts {
  readonly all: number;
  readonly done: number;
  readonly replayed: number;
  readonly running: number;
  readonly skipped: number;
  readonly failed: number;
}

export type WorkflowRow =
  | ({ readonly kind: "group"; readonly key: string } & WorkflowGroup)
  | {
      readonly kind: "call";
      readonly key: string;
      readonly call: WorkflowCallView;
      /** The delegation that carries out the script. */
      readonly runner: string;
      /** The agent of the call in this run, with all agents below it. */
      readonly agent: TreeRow | undefined;
    }
  | { readonly kind: "line"; readonly key: string; readonly text: string };

/** A workflow as rows: each phase with its calls, then what the script logged. */
export function workflowRows(
  { calls, delegationId, lines, phases }: WorkflowView,
  agents: ReadonlyMap<string, TreeRow>,
): readonly WorkflowRow[] {
  const byPhase = Map.groupBy(calls, ({ phase }) => phase);
  const rows: WorkflowRow[] = [];
  for (const phase of [null, ...phases]) {
    const its = byPhase.get(phase) ?? [];
    if (phase === null && its.length === 0) continue;
    const found = its.map((call): WorkflowRow & { readonly kind: "call" } => {
      const agent = call.state === "replayed" ? undefined : agents.get(call.delegation ?? "");
      const key = `${delegationId} ${call.key}`;
      return { kind: "call", key, call, runner: delegationId, agent };
    });
    const spent = found
      .map(({ agent }) => agent?.spent ?? nothingSpent)
      .reduce(addSpent, nothingSpent);
    rows.push({
      kind: "group",
      key: `${delegationId} phase ${phase ?? ""}`,
      ...{ phase, spent, counts: countCalls(its) },
    });
    rows.push(...found);
  }
  for (const [index, text] of lines.entries()) {
    rows.push({ kind: "line", key: `${delegationId} line ${index}`, text });
  }
  return rows;
}

export function countCalls(calls: readonly WorkflowCallView[]): CallCounts {
  const of = (...states: readonly WorkflowCallView["state"][]): number =>
    calls.filter(({ state }) => states.includes(state)).length;
  return {
    all: calls.length,
    done: of("done"),
    replayed: of("replayed"),
    running: of("running", "waiting"),
    skipped: of("skipped"),
    failed: of("failed", "null"),
  };
}

/** Some of the calls can give another result when the workflow is resumed. */
export function hasFailed(calls: readonly WorkflowCallView[]): boolean {
  const { failed, skipped } = countCalls(calls);
  return failed + skipped > 0;
}

/** `3 done, 1 replayed, 2 running`. */
export function tellCounts({ all, done, failed, replayed, running, skipped }: CallCounts): string {
  const parts: readonly (readonly [number, string])[] = [
    [done, "done"],
    [replayed, "replayed"],
    [running, "running"],
    [skipped, "skipped"],
    [failed, "failed"],
  ];
  const told = parts.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`);
  return all === 0 ? "not begun" : told.join(", ");
}

const reasons: Readonly<Record<NonNullable<WorkflowCallView["why"]>, string>> = {
  new: "ran: new",
  changed: "ran: its call changed",
  failed: "ran: it had failed",
  interrupted: "ran: it was interrupted",
};

/** Why a call was replayed or ran; empty: there was no earlier run to take it from. */
export function tellWhy({ delegation, state, why }: WorkflowCallView): string {
  if (state === "replayed") return `from ${delegation ?? "an earlier run"}`;
  return why === undefined ? "" : reasons[why];
}
