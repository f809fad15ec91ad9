import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { StoredEvent } from "../../../../../src/events/event.ts";
import { GanttFold } from "./gantt-fold.ts";
import { type Gantt, ganttFrom } from "./gantt-from.ts";
import { tellEvents, tellTeam } from "./told-events.test-support.ts";

/** All of a run, at its end. */
function ganttOf(events: Iterable<StoredEvent>): Gantt {
  const fold = new GanttFold();
  for (const event of events) fold.add(event);
  return ganttFrom(fold, { at: fold.lastAt, count: Number.POSITIVE_INFINITY });
}

const bars = (id: string, gantt = ganttOf(tellTeam())) =>
  gantt.rows.find((row) => row.id === id)?.bars.map(({ kind, from, to }) => [kind, from, to]);

describe("ganttOf", () => {
  it("says what each delegation did or waited on, one after the other", () => {
    expect(bars("one")).toEqual([
      ["slot", 120, 130],
      ["model", 130, 300],
      ["merge", 300, 305],
    ]);
    expect(bars("two")).toEqual([
      ["slot", 120, 310],
      ["own", 310, 315],
      ["model", 315, 500],
      ["tool", 500, 600],
      ["merge", 600, 610],
    ]);
  });

  it("goes on waiting for a child while one of several calls is left", () => {
    expect(bars("lead")).toEqual([
      ["slot", 0, 5],
      ["own", 5, 10],
      ["model", 10, 100],
      ["own", 100, 110],
      ["child", 110, 620],
      ["model", 620, 700],
      ["merge", 700, 710],
    ]);
  });

  it("follows the critical path through the child that came back last, and its wait for a slot", () => {
    const { critical } = ganttOf(tellTeam());
    expect(critical.get("two")).toEqual([{ from: 120, to: 610 }]);
    expect(critical.get("one")).toBeUndefined();
    expect(critical.get("lead")).toEqual([
      { from: 0, to: 120 },
      { from: 610, to: 710 },
    ]);
  });

  it("counts the time until a child is made as its caller's, and not as an earlier child's", () => {
    const closed = (who: string) => ({ sub_agent_id: who, final_status: "failed" }) as const;
    const { critical } = ganttOf(
      tellEvents(
        [0, null, "run.started"],
        [0, "lead", "agent.subagent_created", { parent_id: null }],
        [0, "lead", "agent.subagent_started"],
        [10, "lead", "agent.tool_started", { call_id: "1", tool: "delegate_task", joins: true }],
        [10, "lead", "agent.tool_started", { call_id: "2", tool: "delegate_task", joins: true }],
        [11, "quick", "agent.subagent_created", { parent_id: "lead", call_id: "1" }],
        [50, "quick", "agent.subagent_failed"],
        [50, "quick", "agent.subagent_closed", closed("quick")],
        [100, "copied", "agent.subagent_created", { parent_id: "lead", call_id: "2" }],
        [200, "copied", "agent.subagent_failed"],
        [200, "copied", "agent.subagent_closed", closed("copied")],
      ),
    );
    expect([...critical]).toEqual([
      ["copied", [{ from: 100, to: 200 }]],
      ["lead", [{ from: 0, to: 100 }]],
    ]);
  });

  it("follows the steps of a plan by what they depend on", () => {
    const step = (key: string, depends_on: readonly string[]) => {
      return { key, title: key, profile: "p", depends_on, owns: [] };
    };
    const steps = [step("a", []), step("b", []), step("c", ["a"])];
    const child = (who: string, from: number, to: number) =>
      [
        [from, who, "agent.subagent_created", { parent_id: "lead", call_id: `1/${who}` }],
        [to, who, "agent.subagent_failed"],
        [to, who, "agent.subagent_closed", { sub_agent_id: who, final_status: "failed" }],
      ] as const;
    const told = [...child("a", 10, 30), ...child("b", 10, 45), ...child("c", 50, 90)];
    const { critical } = ganttOf(
      tellEvents(
        [0, null, "run.started"],
        [0, "lead", "agent.subagent_created", { parent_id: null }],
        [0, "lead", "agent.subagent_started"],
        [5, "lead", "agent.tool_started", { call_id: "1", tool: "submit_plan", joins: true }],
        [5, null, "run.planned", { by: "lead", call_id: "1", steps }],
        ...told.toSorted(([one], [other]) => one - other),
      ),
    );
    expect([...critical.keys()].sort()).toEqual(["a", "c", "lead"]);
    expect(critical.get("lead")).toEqual([
      { from: 0, to: 10 },
      { from: 30, to: 50 },
    ]);
  });

  it("shows a wait for a person, and what is still open", () => {
    const gantt = ganttOf(
      tellEvents(
        [0, null, "run.started"],
        [0, "a", "agent.subagent_created"],
        [1, "a", "agent.subagent_started"],
        [2, "a", "agent.tool_started", { call_id: "c", tool: "ask_user" }],
        [3, "a", "agent.asked"],
      ),
    );
    expect(bars("a", gantt)?.at(-1)).toEqual(["person", 3, null]);
    expect(gantt.rows[0]).toMatchObject({ to: null, outcome: null });
  });

  it("survives a log that makes no sense", () => {
    const odd = tellEvents(
      [5, "ghost", "agent.model_turn"],
      [4, "a", "agent.subagent_created"],
      [3, "a", "agent.subagent_created"],
      [2, "a", "agent.subagent_closed"],
      [9, "a", "agent.subagent_started"],
    );
    expect(bars("a", ganttOf(odd))).toEqual([
      ["slot", 5, 9],
      ["own", 9, null],
    ]);
  });

  it("is at any moment what was known then", () => {
    const events = tellTeam();
    const whole = new GanttFold();
    for (const event of events) whole.add(event);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: events.length }), (count) => {
        const at = events[count - 1]?.at ?? 0;
        const known = ganttOf(events.slice(0, count));
        const seen = ganttFrom(whole, { at, count });
        expect(seen.rows.map(({ id }) => id)).toEqual(known.rows.map(({ id }) => id));
        expect([...seen.critical]).toEqual([...known.critical]);
      }),
    );
  });

  it("draws the path of a thousand children without a gap or an overlap", () => {
    const many = Array.from({ length: 1000 }, (_, index) => index);
    const events = tellEvents(
      [0, null, "run.started"],
      [0, "lead", "agent.subagent_created", { parent_id: null }],
      [0, "lead", "agent.subagent_started"],
      [0, "lead", "agent.tool_started", { call_id: "1", tool: "spawn_await", joins: true }],
      ...many.flatMap((index) => {
        const who = `c${index}`;
        const at = index * 10;
        return [
          [at, who, "agent.subagent_created", { parent_id: "lead", depth: 1 }],
          [at + 1, who, "agent.subagent_started"],
          [at + 9, who, "agent.subagent_failed"],
          [at + 9, who, "agent.subagent_closed", { sub_agent_id: who, final_status: "failed" }],
        ] as const;
      }),
    );
    const { critical, rows, to } = ganttOf(events);
    const spans = [...critical.values()].flat().sort((one, other) => one.from - other.from);
    expect([rows.length, spans[0]?.from, spans.at(-1)?.to]).toEqual([1001, 0, to]);
    for (const [index, span] of spans.entries()) {
      const next = spans[index + 1];
      if (next) expect(next.from).toBe(span.to);
    }
  });
});
