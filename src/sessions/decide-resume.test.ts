import { describe, expect, it } from "vitest";
import type { Delegation } from "../events/delegation.ts";
import { emptyRun, type RunState } from "../events/run-state.ts";
import { decideResume } from "./decide-resume.ts";

interface Told {
  readonly id: string;
  readonly parentId?: string;
  readonly callId?: string;
  /** Absent: it is open. */
  readonly ended?: "completed" | "failed";
}

function runOf(agents: readonly Told[], outcome: RunState["outcome"] = null): RunState {
  const run = emptyRun("r1");
  run.outcome = outcome;
  for (const [stepIdx, { callId = null, ended, id, parentId = null }] of agents.entries()) {
    const status = ended === undefined ? "running" : "closed";
    const one = { id, parentId, callId, stepIdx, status, finalStatus: ended };
    run.delegations.set(id, one as unknown as Delegation);
  }
  return run;
}

function decide(
  agents: readonly Told[],
  { id = "a", isExternal = false, isIdle = false, isRun = false, outcome = null as never } = {},
) {
  const state = runOf(agents, outcome);
  const target = state.delegations.get(id);
  if (target === undefined) throw new Error(`no ${id}`);
  return decideResume({ state, target, isExternal, isIdle, isRun });
}

describe("what resuming an id means", () => {
  it.each([
    [true, "continue"],
    [false, "busy"],
  ] as const)("for an open run whose process is gone (%s): %s", (isIdle, kind) => {
    expect(decide([{ id: "a" }], { isIdle, isRun: true })).toEqual({ kind });
    expect(decide([{ id: "a" }, { id: "b", parentId: "a" }], { id: "b", isIdle })).toEqual({
      kind,
    });
  });

  it("for a closed delegation of an open run: a new run, whoever works on the old one", () => {
    const agents = [{ id: "a" }, { id: "b", parentId: "a", ended: "failed" }] as const;
    for (const isIdle of [true, false]) {
      expect(decide(agents, { id: "b", isIdle })).toEqual({ kind: "start", from: ["b"] });
    }
  });

  it("for a run that is not finished although its root is closed: the run itself", () => {
    const agents = [{ id: "a", ended: "failed" }] as const;
    expect(decide(agents, { isRun: true, isIdle: true })).toEqual({ kind: "continue" });
  });

  it("for the closed run of another program's agent: each sub-agent that did not complete", () => {
    const agents: readonly Told[] = [
      { id: "a", ended: "completed" },
      { id: "b", parentId: "a", ended: "failed" },
      { id: "c", parentId: "a", ended: "completed" },
      { id: "d", parentId: "b", ended: "failed" },
      { id: "e", parentId: "a", ended: "failed" },
    ];
    const outcome = "failed" as never;
    const decision = decide(agents, { isRun: true, isExternal: true, outcome });
    expect(decision).toEqual({ kind: "start", from: ["b", "e"] });
  });
});

it("of the tries at one step of a plan only the last one counts", () => {
  const agents: readonly Told[] = [
    { id: "a", ended: "failed" },
    { id: "b", parentId: "a", callId: "call_1/form", ended: "failed" },
    { id: "c", parentId: "a", callId: "call_1/form-2", ended: "completed" },
    { id: "d", parentId: "a", callId: "call_1/page", ended: "failed" },
    { id: "e", parentId: "a", callId: "call_1/page-2", ended: "failed" },
    { id: "f", parentId: "a", callId: "call_2", ended: "failed" },
  ];
  const decision = decide(agents, { isExternal: true });
  expect(decision).toEqual({ kind: "start", from: ["e", "f"] });
});
