import { describe, expect, it } from "vitest";
import { closeReasons } from "../events/close-reason.ts";
import type { StoredEvent } from "../events/event.ts";
import { stored } from "../events/example-events.test-support.ts";
import { foldRun } from "../events/run-state.ts";
import { earlyAnswerIn, infoOf, resultOf, statusOf } from "./delegation-result.ts";

function life(id: string, parent: string | null, ...more: readonly StoredEvent[]): StoredEvent[] {
  return [
    stored("agent.subagent_created", { parent_id: parent, profile: id }, { id, at: 10 }),
    stored("agent.subagent_started", {}, { id }),
    ...more,
  ];
}

const failed = (id: string): StoredEvent[] => [
  stored("agent.subagent_failed", { code: "timeout", error: "too slow" }, { id }),
  stored("agent.subagent_closed", { close_reason: "timeout" }, { id, at: 60 }),
];
const completed = (id: string): StoredEvent[] => [
  stored("agent.subagent_waiting_for_merge", { output: "the text", truncated: true }, { id }),
  stored("agent.subagent_completed", {}, { id }),
  stored(
    "agent.subagent_closed",
    { final_status: "completed", close_reason: "report_accepted" },
    { id, at: 60 },
  ),
];

const fold = (...events: readonly StoredEvent[]) =>
  foldRun("r000000", [stored("run.started"), ...events]);

describe("resultOf", () => {
  it("is null while a delegation is open, and of one that is not there", () => {
    const run = fold(...life("a", null));
    expect(resultOf(run, "a")).toBeNull();
    expect(resultOf(run, "b")).toBeNull();
  });

  it("tells what a completed one made, with what is below it", () => {
    const run = fold(...life("a", null), ...life("b", "a", ...failed("b")), ...completed("a"));
    expect(resultOf(run, "a")).toMatchObject({
      delegationId: "a",
      status: "completed",
      result: "the text",
      truncated: true,
      duration: 50,
      closeReason: "report_accepted",
      subDelegations: [{ delegationId: "b", status: "timeout", result: "too slow" }],
    });
    expect(resultOf(run, "b")).not.toHaveProperty("subDelegations");
  });
});

describe("statusOf", () => {
  it("is one of four words for every reason to end", () => {
    for (const reason of closeReasons) {
      expect(statusOf("completed", reason)).toBe("completed");
      const expected = reason === "timeout" || reason === "cancelled" ? reason : "failed";
      expect(statusOf("failed", reason)).toBe(expected);
    }
  });
});

describe("infoOf", () => {
  it("says what an open one waits on, and why a closed one ended", () => {
    const run = fold(
      stored("agent.subagent_created", {}, { id: "new" }),
      ...life("busy", null, stored("agent.budget_settled", {}, { id: "busy" })),
      ...life("over", null, ...failed("over")),
    );
    const info = (id: string) => {
      const delegation = run.delegations.get(id);
      return delegation && infoOf(run, delegation);
    };
    expect(info("new")).toMatchObject({ status: "created", waitingOn: { on: "slot" } });
    expect(info("busy")).toMatchObject({ waitingOn: { on: "runtime" }, tokens: 5, cost: 0.5 });
    expect(info("over")).toMatchObject({ status: "closed", closeReason: "timeout" });
    expect(info("over")).not.toHaveProperty("waitingOn");
  });

  it("says of one that has answered which of its children it still waits for", () => {
    const output = { output: "the text", running: ["b", "c"] };
    const both = [
      ...life("a", null),
      ...life("b", "a"),
      ...life("c", "a"),
      stored("agent.subagent_waiting_for_merge", output, { id: "a" }),
    ];
    const waits = (...more: readonly StoredEvent[]) => {
      const run = fold(...both, ...more);
      const root = run.delegations.get("a");
      return [root && infoOf(run, root).waitingOn, earlyAnswerIn(run)?.running];
    };
    expect(waits()).toEqual([{ on: "child", detail: "b, c" }, ["b", "c"]]);
    expect(waits(...failed("b"))).toEqual([{ on: "child", detail: "c" }, ["c"]]);
    const merged = { on: "lock", detail: "its turn to be merged" };
    expect(waits(...failed("b"), ...completed("c"))).toEqual([merged, undefined]);
  });
});
