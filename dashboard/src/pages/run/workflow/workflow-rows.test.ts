import { expect, test } from "vitest";
import type { WorkflowCallView, WorkflowView } from "../../../../../src/sessions/workflow-view.ts";
import { tellWhy, workflowRows } from "./workflow-rows.ts";

function call(label: string, over: Partial<WorkflowCallView> = {}): WorkflowCallView {
  return { key: `${label}-1`, kind: "agent", label, phase: null, state: "done", ...over };
}

function rowsOf(over: Partial<WorkflowView>): readonly string[] {
  const view: WorkflowView = {
    ...{ delegationId: "d1", name: "review", description: "", document: "", resumes: null },
    ...{ phases: [], calls: [], lines: [] },
    ...over,
  };
  return workflowRows(view, new Map()).map((row) => {
    if (row.kind === "line") return `log ${row.text}`;
    if (row.kind === "call") return row.call.label;
    return `# ${row.phase ?? "-"} ${row.counts.all}`;
  });
}

test("calls stand in their phases, in the order of the script, and lines of the log at the end", () => {
  const calls = [call("vote", { phase: "Vote" }), call("early"), call("look", { phase: "Find" })];
  expect(rowsOf({ phases: ["Find", "Review", "Vote"], calls, lines: ["one"] })).toEqual([
    ...["# - 1", "early", "# Find 1", "look", "# Review 0", "# Vote 1", "vote", "log one"],
  ]);
});

test("a call without a phase makes a group only where there is one", () => {
  expect(rowsOf({ phases: ["Find"] })).toEqual(["# Find 0"]);
});

test("a replayed call names the delegation of its result, and one that ran says why", () => {
  expect(tellWhy(call("a", { state: "replayed", delegation: "4f2a11" }))).toBe("from 4f2a11");
  expect(tellWhy(call("a", { why: "failed" }))).toBe("ran: it had failed");
  expect(tellWhy(call("a"))).toBe("");
});
