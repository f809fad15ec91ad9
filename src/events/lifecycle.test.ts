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
    "agent.message_sent",
    "agent.subagent_started",
    "agent.subagent_failed",
    "agent.model_clamped",
    "agent.skills_clamped",
  ],
  running: [
    "agent.workflow_started",
    "agent.workflow_called",
    "agent.workflow_settled",
    "agent.workflow_noted",
    "agent.message_sent",
    "agent.subagent_attempt",
    "agent.subagent_waiting_for_merge",
    "agent.subagent_failed",
    ...activity,
    "agent.model_clamped",
    "agent.request_refused",
    "agent.program_started",
    "agent.program_reported",
    "agent.program_called",
    "agent.program_answered",
  ],
  waiting_for_merge: [
    "agent.budget_corrected",
    "agent.asked",
    "agent.answered",
    "agent.paused",
    "agent.resumed",
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

describe("the mail of a delegation", () => {
  const sent = (id: string, more: object = {}) =>
    stored("agent.message_sent", { message_id: id, message: `text of ${id}`, ...more });
  const delivered = (id: string) =>
    stored("agent.interjected", { from: "caller", severity: "info", message_id: id });
  const idsIn = ({ mail }: Delegation) => mail?.map((one) => one.message_id);

  it("holds what was sent before it began and since, in order, until it is delivered", () => {
    const early = apply(inStatus.created(), sent("m1"));
    expect(idsIn(early)).toEqual(["m1"]);
    const both = [started, sent("m2")].reduce(apply, early);
    expect(idsIn(both)).toEqual(["m1", "m2"]);
    expect(idsIn(apply(both, delivered("m1")))).toEqual(["m2"]);
    expect([delivered("m2"), delivered("m1")].reduce(apply, both)).not.toHaveProperty("mail");
  });

  it("gives out each message once, and nothing that was not sent", () => {
    const running = lifeOf(started, sent("m1"));
    const read = apply(running, delivered("m1"));
    expect(() => apply(read, delivered("m1"))).toThrow(/does not accept/);
    expect(() => apply(running, delivered("m2"))).toThrow(/does not accept/);
    expect(() => apply(running, sent("m1"))).toThrow(/does not accept/);
  });

  it("does not wake or move what waits", () => {
    const paused = lifeOf(started, stored("agent.paused", { reason: "interrupt" }));
    const told = apply(paused, { ...sent("m1"), at: 99 });
    expect(told).toEqual({ ...paused, mail: [sent("m1").payload] });
    expect(idsIn(apply(told, stored("agent.resumed")))).toEqual(["m1"]);
  });

  it("is bounded", () => {
    const full = lifeOf(started, ...Array.from({ length: 100 }, (_, index) => sent(`m${index}`)));
    expect(() => apply(full, sent("one more"))).toThrow(/100 unread messages/);
    expect(() => apply(apply(full, delivered("m0")), sent("one more"))).not.toThrow();
  });

  it("is kept by a closed delegation: what it never read", () => {
    const ends = [failed, stored("agent.subagent_closed")];
    expect(idsIn(lifeOf(started, sent("m1"), ...ends))).toEqual(["m1"]);
    const read = lifeOf(started, sent("m1"), delivered("m1"), ...ends);
    expect(read).not.toHaveProperty("mail");
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
    expect(waitsOn(stored("agent.tool_started", { tool: "ask_team", joins: true }))).toEqual({
      on: "child",
      detail: "ask_team",
    });
    expect(waitsOn(asked)).toEqual({ on: "answer", detail: "q1" });
    expect(waitsOn(stored("agent.retried", {}, { at: 100 }))).toEqual({ on: "model", until: 150 });
    expect(waitsOn(stored("agent.paused"))).toEqual({ on: "budget" });
    expect(waitsOn(stored("agent.paused", { reason: "interrupt" }))).toEqual({ on: "paused" });
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
