import { describe, expect, it } from "vitest";
import { controlRunId } from "../ports/identity.ts";
import type { StoredEvent } from "./event.ts";
import { eventTypes, stored } from "./example-events.test-support.ts";
import {
  applyToRun,
  childrenOf,
  emptyRun,
  foldRun,
  isControlEvent,
  type RunState,
  subtree,
} from "./run-state.ts";

/** Numbers events as they come. */
function inOrder(...events: readonly StoredEvent[]): StoredEvent[] {
  return events.map((event, index) => ({ ...event, seq: index + 1, run_seq: index + 1 }));
}

const created = (id: string, parent: string | null = null): StoredEvent =>
  stored("agent.subagent_created", { parent_id: parent }, { id });

const plain = (run: RunState) => ({ ...run, delegations: [...run.delegations] });

describe("a run", () => {
  it("is what its events tell", () => {
    const run = foldRun(
      "r000000",
      inOrder(
        stored("run.started"),
        created("a"),
        stored("run.resumed"),
        stored("agent.subagent_started", {}, { id: "a" }),
        stored("run.finished", { outcome: "failed" }, { at: 99 }),
      ),
    );
    expect(run).toMatchObject({
      task: "t",
      budgetTokens: 1000,
      worker: "v",
      fence: 2,
      outcome: "failed",
      finishedAt: 99,
      lastRunSeq: 5,
    });
    expect(run.delegations.get("a")?.status).toBe("running");
  });

  it("starts once, and takes nothing before that", () => {
    for (const type of eventTypes) {
      const fresh = emptyRun("r000000");
      const apply = (): void => applyToRun(fresh, stored(type));
      if (type === "run.started") expect(apply).not.toThrow();
      else expect(apply).toThrow();
    }
    const run = foldRun("r000000", [stored("run.started")]);
    expect(() => applyToRun(run, stored("run.started"))).toThrow(/started already/);
  });

  it("takes nothing after its end", () => {
    for (const type of eventTypes) {
      const run = foldRun("r000000", inOrder(stored("run.started"), stored("run.finished")));
      expect(() => applyToRun(run, stored(type))).toThrow(/is finished/);
    }
  });

  it("creates a delegation once, and knows only those it created", () => {
    const run = foldRun("r000000", inOrder(stored("run.started"), created("a")));
    expect(() => applyToRun(run, created("a"))).toThrow(/already created/);
    const ofNobody = stored("agent.subagent_started", {}, { id: "b" });
    expect(() => applyToRun(run, ofNobody)).toThrow(/has no delegation b/);
  });

  it("is unchanged by an event that it refuses", () => {
    for (const type of eventTypes) {
      const run = foldRun("r000000", inOrder(stored("run.started"), created("c00000")));
      const before = structuredClone(plain(run));
      try {
        applyToRun(run, stored(type, {}, { seq: 77 }));
      } catch {
        expect(plain(run), type).toEqual(before);
      }
    }
  });

  it("knows who is below whom, children before their parents", () => {
    const family = [created("a"), created("b", "a"), created("c", "a"), created("d", "b")];
    const run = foldRun("r000000", inOrder(stored("run.started"), ...family));
    const ids = (list: readonly { readonly id: string }[]): string[] => list.map(({ id }) => id);
    expect(ids(childrenOf(run, "a"))).toEqual(["b", "c"]);
    expect(ids(childrenOf(run, null))).toEqual(["a"]);
    expect(ids(subtree(run, "a"))).toEqual(["d", "b", "c", "a"]);
    expect(ids(subtree(run, "b"))).toEqual(["d", "b"]);
    expect(subtree(run, "nobody")).toEqual([]);
  });
});

describe("the control log", () => {
  it("takes its own events from the first on, and no run's", () => {
    for (const type of eventTypes) {
      for (const log of [
        emptyRun(controlRunId),
        foldRun(controlRunId, [stored("command.executed")]),
      ]) {
        const [before, seq] = [structuredClone(plain(log)), log.lastRunSeq + 1];
        const event = stored(type, {}, { seq });
        if (isControlEvent(type)) {
          applyToRun(log, event);
          expect(plain(log)).toEqual({ ...before, lastRunSeq: seq, head: event.hash });
        } else {
          expect(() => applyToRun(log, event), type).toThrow(/control log takes no/);
          expect(plain(log)).toEqual(before);
        }
      }
    }
  });

  it("is about no delegation, and its events are in no run", () => {
    const about = { ...stored("command.executed"), sub_agent_id: "c00000" } as StoredEvent;
    expect(() => applyToRun(emptyRun(controlRunId), about)).toThrow(/no delegation/);
    const run = foldRun("r000000", [stored("run.started")]);
    for (const type of ["control.record_changed", "command.executed"] as const) {
      expect(() => applyToRun(run, stored(type, {}, { seq: 2 }))).toThrow(/r000000 takes no/);
    }
  });
});
