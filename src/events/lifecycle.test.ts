import { describe, expect, it } from "vitest";
import type { Delegation, DelegationStatus } from "./delegation.ts";
import type { EventType, StoredEvent } from "./event.ts";
import { eventTypes, stored } from "./example-events.test-support.ts";
import { apply, create } from "./lifecycle.ts";

const activity: readonly EventType[] = eventTypes.filter((type) =>
  /^agent\.(model_turn|budget_|tool_|asked|answered|retried|resumed|interjected|compacted|paused|interrupted)/.test(
    type,
  ),
);

/** The specified state machine with `created → failed`, written out once more. */
const table: Readonly<Record<DelegationStatus, readonly EventType[]>> = {
  created: [
    "agent.subagent_started",
    "agent.subagent_failed",
    "agent.model_clamped",
    "agent.skills_clamped",
  ],
  running: [
    "agent.subagent_attempt",
    "agent.subagent_waiting_for_merge",
    "agent.subagent_failed",
    ...activity,
  ],
  waiting_for_merge: [
    "agent.budget_corrected",
    "agent.asked",
    "agent.answered",
    "agent.worktree_merged",
    "agent.subagent_completed",
    "agent.subagent_failed",
  ],
  completed: ["agent.subagent_closed"],
  failed: ["agent.subagent_closed"],
  closed: [],
};

function lifeOf(...events: readonly StoredEvent[]): Delegation {
  const created = create(stored("agent.subagent_created") as StoredEvent<"agent.subagent_created">);
  return events.reduce(apply, created);
}

const started = stored("agent.subagent_started");
const handedIn = stored("agent.subagent_waiting_for_merge");
const failed = stored("agent.subagent_failed");
const asked = stored("agent.asked");

const inStatus: Readonly<Record<DelegationStatus, () => Delegation>> = {
  created: () => lifeOf(),
  // With an open question, so that an answer is one to something.
  running: () => lifeOf(started, asked),
  waiting_for_merge: () => lifeOf(started, handedIn, asked),
  completed: () => lifeOf(started, handedIn, stored("agent.subagent_completed")),
  failed: () => lifeOf(started, failed),
  closed: () => lifeOf(started, failed, stored("agent.subagent_closed")),
};

describe("the lifecycle", () => {
  for (const status of Object.keys(table) as DelegationStatus[]) {
    it(`accepts while ${status} exactly what the table says`, () => {
      for (const type of eventTypes) {
        const delegation = inStatus[status]();
        expect(delegation.status).toBe(status);
        const final = status === "completed" ? "completed" : "failed";
        const event = stored(type, type === "agent.subagent_closed" ? { final_status: final } : {});
        const isLegal = table[status].includes(type);
        const where = `${type} while ${status}`;
        if (isLegal) expect(() => apply(delegation, event), where).not.toThrow();
        else expect(() => apply(delegation, event), where).toThrow(/does not accept/);
      }
    });
  }

  it("leads where it should", () => {
    const next = (from: DelegationStatus, type: EventType): DelegationStatus =>
      apply(inStatus[from](), stored(type)).status;
    expect(next("created", "agent.subagent_started")).toBe("running");
    expect(next("created", "agent.subagent_failed")).toBe("failed");
    expect(next("running", "agent.subagent_waiting_for_merge")).toBe("waiting_for_merge");
    expect(next("running", "agent.subagent_failed")).toBe("failed");
    expect(next("waiting_for_merge", "agent.worktree_merged")).toBe("waiting_for_merge");
    expect(next("waiting_for_merge", "agent.subagent_completed")).toBe("completed");
    expect(next("waiting_for_merge", "agent.subagent_failed")).toBe("failed");
    expect(next("failed", "agent.subagent_closed")).toBe("closed");
    for (const type of [...activity, "agent.subagent_attempt"] as EventType[]) {
      expect(next("running", type), type).toBe("running");
    }
  });

  it("never changes the delegation that it was given", () => {
    for (const status of Object.keys(table) as DelegationStatus[]) {
      for (const type of table[status]) {
        const delegation = inStatus[status]();
        const before = structuredClone(delegation);
        const final = status === "completed" ? "completed" : "failed";
        apply(
          delegation,
          stored(type, type === "agent.subagent_closed" ? { final_status: final } : {}),
        );
        expect(delegation).toEqual(before);
      }
    }
  });

  it("closes as what it is, and as nothing else", () => {
    const closed = stored("agent.subagent_closed", { final_status: "completed" });
    expect(() => apply(inStatus.failed(), closed)).toThrow(/does not accept/);
    expect(apply(inStatus.completed(), closed)).toMatchObject({ finalStatus: "completed" });
  });

  it("takes the first answer to the question that is open, and no other", () => {
    const answered = stored("agent.answered");
    const once = apply(inStatus.running(), answered);
    expect(once).toMatchObject({ ask: null, waitingOn: { on: "runtime" } });
    expect(() => apply(once, answered)).toThrow(/does not accept/);
    const other = stored("agent.answered", { ask_id: "q2" });
    expect(() => apply(inStatus.running(), other)).toThrow(/does not accept/);
  });
});

describe("a running delegation", () => {
  it("says what it waits on", () => {
    const waitsOn = (...events: readonly StoredEvent[]): unknown => {
      const delegation = lifeOf(started, ...events);
      return delegation.status === "running" ? delegation.waitingOn : undefined;
    };
    expect(waitsOn()).toEqual({ on: "runtime" });
    expect(waitsOn(stored("agent.budget_reserved"))).toEqual({ on: "model" });
    expect(waitsOn(stored("agent.tool_started"))).toEqual({ on: "tool", detail: "read_file" });
    for (const tool of ["delegate_task", "spawn_await"]) {
      expect(waitsOn(stored("agent.tool_started", { tool }))).toEqual({
        on: "child",
        detail: tool,
      });
    }
    expect(waitsOn(asked)).toEqual({ on: "answer", detail: "q1" });
    expect(waitsOn(stored("agent.retried", {}, { at: 100 }))).toEqual({ on: "model", until: 150 });
    expect(waitsOn(stored("agent.paused"))).toEqual({ on: "budget" });
    expect(waitsOn(stored("agent.paused", { reason: "operator" }))).toEqual({ on: "paused" });
  });

  it("that rests rests on, whatever reaches it, until it is resumed", () => {
    const paused = stored("agent.paused", { reason: "interrupt" });
    const resting = lifeOf(started, asked, paused, stored("agent.answered"));
    expect(resting).toMatchObject({ waitingOn: { on: "paused" }, ask: null });
    expect(apply(resting, stored("agent.resumed"))).toMatchObject({ waitingOn: { on: "runtime" } });
    expect(apply(resting, stored("agent.interrupted"))).toMatchObject({
      waitingOn: { on: "child" },
    });
    expect(apply(resting, failed).status).toBe("failed");
  });

  it("counts what it used, by what was settled", () => {
    const settled = stored("agent.budget_settled");
    expect(lifeOf(started, settled, settled).usage).toEqual({ prompt: 6, completion: 4, cost: 1 });
    expect(lifeOf(started, stored("agent.model_turn")).usage.prompt).toBe(0);
  });

  it("forgets how often it was resumed when it gets further", () => {
    const resumed = stored("agent.resumed");
    for (const type of ["agent.model_turn", "agent.tool_completed", "agent.tool_failed"] as const) {
      expect(lifeOf(started, resumed)).toMatchObject({ resumptions: 1 });
      expect(lifeOf(started, resumed, stored(type))).toMatchObject({ resumptions: 0 });
    }
    expect(lifeOf(started, resumed, stored("agent.budget_reserved"))).toMatchObject({
      resumptions: 1,
    });
  });

  it("carries nothing of its running into what comes after", () => {
    for (const status of ["waiting_for_merge", "completed", "failed", "closed"] as const) {
      expect(inStatus[status]()).not.toHaveProperty("waitingOn");
      expect(inStatus[status]()).not.toHaveProperty("reservation");
    }
  });
});
