import type { RunState } from "../../../events/run-state.ts";
import type { WorkflowCallView, WorkflowView } from "../../../sessions/workflow-view.ts";
import { formatCost, formatTokens } from "../amounts.ts";
import { printableLine } from "../printable.ts";
import type { styleFor } from "../style.ts";

const states: Readonly<Record<WorkflowCallView["state"], string>> = {
  waiting: "waits",
  running: "works",
  done: "done",
  replayed: "replayed",
  null: "failed: null",
  skipped: "skipped",
  failed: "failed: thrown",
};

const reasons: Readonly<Record<NonNullable<WorkflowCallView["why"]>, string>> = {
  new: "it is new",
  changed: "it was changed",
  failed: "it had failed",
  interrupted: "it was interrupted",
};

/** A workflow by phases: which agents were replayed, which ran and why, and what each cost. */
export function drawWorkflow(
  run: RunState,
  { calls, description, lines, name, phases, resumes }: WorkflowView,
  { paint }: ReturnType<typeof styleFor>,
): string {
  const drawn = [
    `${paint.strong(printableLine(name))}  ${printableLine(description)}`,
    `${run.id}  ${run.outcome ?? "open"}${resumes === null ? "" : `  resumes ${resumes}`}`,
  ];
  const groups: readonly (string | null)[] = [null, ...phases];
  for (const phase of groups) {
    const its = calls.filter((call) => call.phase === phase);
    if (its.length === 0 && phase === null) continue;
    if (phase !== null) drawn.push(paint.strong(printableLine(phase)));
    for (const call of its) drawn.push(`  ${lineOf(call)}`);
  }
  for (const line of lines) drawn.push(paint.dim(printableLine(line)));
  return drawn.join("\n");
}

function lineOf({ delegation, error, label, state, usage, why }: WorkflowCallView): string {
  const amounts =
    usage === undefined
      ? []
      : [formatTokens(usage.prompt + usage.completion), formatCost(usage.cost)];
  const reason = why === undefined || state === "replayed" ? [] : [`ran because ${reasons[why]}`];
  const parts = [
    printableLine(label),
    states[state],
    ...(delegation === undefined ? [] : [delegation]),
    ...amounts,
    ...reason,
    ...(error === undefined ? [] : [printableLine(error).slice(0, 120)]),
  ];
  return parts.join("  ");
}
