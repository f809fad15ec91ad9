import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cases } from "../testing/cases.test-support.ts";
import { storedLine } from "../text.ts";
import type { EventType, NewEvent, StoredEvent } from "./event.ts";
import { examplePayloads } from "./example-events.test-support.ts";
import { type InboxWords, inboxChangeOf } from "./inbox-change.ts";
import { type InboxItem, isInboxType, touchesInbox } from "./inbox-item.ts";
import { applyToRun, emptyRun } from "./run-state.ts";
import { earlierInboxWords } from "./upcast.ts";

const id = "c00000";

const about = (type: EventType, payload: object = {}, of: string = id): NewEvent =>
  ({ type, sub_agent_id: of, payload: { ...examplePayloads[type], ...payload } }) as NewEvent;

const ofRun = (type: EventType, payload: object = {}): NewEvent =>
  ({ type, payload: { ...examplePayloads[type], ...payload } }) as NewEvent;

const asked = (payload: object = {}) => about("agent.asked", { ask_id: "q1", ...payload });

/** The inbox of a run that went like this, and which asks were closed, in order. */
function inboxOf(...events: readonly NewEvent[]) {
  return inboxOfWords(undefined, ...events);
}

function inboxOfWords(words: InboxWords | undefined, ...events: readonly NewEvent[]) {
  const run = emptyRun("r1");
  const items: InboxItem[] = [];
  const closed: string[] = [];
  for (const [index, event] of [ofRun("run.started", { task: "the task" }), ...events].entries()) {
    const seq = index + 1;
    const stored = { ...event, seq, run_seq: seq, run_id: "r1", at: 1000 + seq, hash: "" };
    const before = run.delegations.get(event.sub_agent_id ?? "");
    applyToRun(run, stored as StoredEvent);
    const { closes, item } = inboxChangeOf(stored as StoredEvent, run, before, words);
    if (item || closes !== undefined) expect(touchesInbox(event.type), event.type).toBe(true);
    if (item) expect(isInboxType(event.type), event.type).toBe(true);
    if (item) items.push(item);
    if (closes !== undefined) closed.push(closes);
  }
  return { items, closed };
}

const running = (created: object = {}): readonly NewEvent[] => [
  about("agent.subagent_created", { profile: "coder", title: "write it", ...created }),
  about("agent.subagent_started"),
];

const completed = (summary: string): readonly NewEvent[] => [
  about("agent.subagent_waiting_for_merge"),
  about("agent.subagent_completed"),
  about("agent.subagent_closed", closing("completed", "report_accepted", summary)),
];

const failed = (reason = "timeout"): readonly NewEvent[] => [
  about("agent.subagent_failed", { code: reason, error: "the\nerror" }),
  about("agent.subagent_closed", closing("failed", reason, "")),
];

function closing(status: string, reason: string, summary: string): object {
  const { seal } = examplePayloads["agent.subagent_closed"];
  return { final_status: status, close_reason: reason, seal: { ...seal, summary } };
}

describe("what is in the inbox", () => {
  it("is what was said to agents, in order, and what they never read", () => {
    const sent = (from: string, message: string) =>
      about("agent.message_sent", { message_id: message, from, message });
    const read = about("agent.interjected", { from: "caller", message: "one", message_id: "one" });
    const deep = running({ depth: 3 });
    const { items } = inboxOf(
      ...deep,
      sent("caller", "one"),
      sent("person", "two"),
      read,
      ...completed("all"),
    );
    expect(items.map(({ kind, severity, title, text }) => [kind, severity, title, text])).toEqual([
      ["interjection", "info", "Message to coder from its caller", "one"],
      ["interjection", "info", "Message to coder from a person", "two"],
      ["finished", "info", "coder finished without reading a message: write it", "all"],
    ]);
    const [end] = inboxOf(
      ...deep,
      sent("caller", "one"),
      sent("caller", "two"),
      ...failed("cancelled"),
    ).items.slice(-1);
    expect(end?.title).toBe("coder was cancelled without reading 2 messages: write it");
  });

  it("is a question with its deadline and default, and how it was answered", () => {
    const { items } = inboxOf(
      ...running(),
      asked({ question: "Blue?", deadline_at: 77, default: "no" }),
      about("agent.answered", { ask_id: "q1", answer: "yes", by: "person" }),
    );
    expect(items).toEqual([
      {
        id: 4,
        at: 1004,
        runId: "r1",
        delegationId: id,
        kind: "ask",
        severity: "warn",
        title: "coder asks",
        text: "Blue?",
        isOpen: true,
        ask: { id: "q1", deadlineAt: 77, default: "no" },
      },
      {
        id: 5,
        at: 1005,
        runId: "r1",
        delegationId: id,
        kind: "answer",
        severity: "info",
        title: "coder was answered: Blue?",
        text: "yes",
      },
    ]);
  });

  it("is an approval that is asked for, and that was not answered in time", () => {
    const { items } = inboxOf(
      ...running(),
      asked({ kind: "approval", question: "May it?" }),
      about("agent.answered", { ask_id: "q1", answer: null, by: "expired" }),
    );
    expect(items).toMatchObject([
      { kind: "approval", title: "coder asks for approval", isOpen: true },
      { kind: "answer", severity: "warn", title: "coder had no answer in time: May it?" },
    ]);
  });

  it.each([
    // The item of its run says how it ended.
    [0, 0],
    [1, 1],
    [2, 0],
    [7, 0],
  ])("at depth %i a delegation that completed is in it %i times", (depth, count) => {
    const { items } = inboxOf(...running({ depth }), ...completed("All done."));
    expect(items).toHaveLength(count);
    const item = { kind: "finished", severity: "info", title: "coder finished: write it" };
    if (count > 0) expect(items[0]).toMatchObject({ ...item, text: "All done." });
  });

  it("has one item for a run, with the result of its root, which released versions told twice", () => {
    const events = [
      ...running({ depth: 0, parent_id: null }),
      ...completed("All done."),
      ofRun("run.finished", { outcome: "succeeded", reason: "every delegation is closed" }),
    ];
    expect(inboxOf(...events).items).toMatchObject([
      { kind: "run", severity: "info", title: "Run succeeded: the task", text: "All done." },
    ]);
    const title = ({ title }: InboxItem) => title;
    expect(inboxOfWords(earlierInboxWords, ...events).items.map(title)).toEqual([
      "coder finished: write it",
      "The run succeeded: the task",
    ]);
  });

  it("is every failure, from any depth, with its error", () => {
    const { items } = inboxOf(...running({ depth: 9 }), ...failed());
    expect(items).toMatchObject([
      {
        kind: "finished",
        severity: "warn",
        title: "coder failed (timed out): write it",
        text: "the error",
      },
    ]);
  });

  it("is not what ended deep down because somebody above it did", () => {
    for (const reason of ["cancelled", "parent_closed"]) {
      expect(inboxOf(...running({ depth: 2 }), ...failed(reason)).items).toEqual([]);
      expect(inboxOf(...running({ depth: 1 }), ...failed(reason)).items).toHaveLength(1);
    }
  });

  it("calls who was stopped cancelled, not failed", () => {
    const { items } = inboxOf(
      ...running({ depth: 1 }),
      ...failed("cancelled"),
      ofRun("run.finished", { outcome: "cancelled", reason: "cancelled: enough" }),
    );
    expect(items).toMatchObject([
      { kind: "finished", severity: "warn", title: "coder was cancelled: write it" },
      { kind: "run", severity: "warn", title: "Run was cancelled: the task" },
    ]);
  });

  it.each([
    ["reviewer", "review"],
    ["code-reviewer", "review"],
    ["team/Review", "review"],
    ["previewer", "finished"],
    ["reviewers-friend", "finished"],
  ])("calls what %s hands in %s", (profile, kind) => {
    const { items } = inboxOf(...running({ depth: 1, profile }), ...completed("Looks good."));
    expect(items).toMatchObject([{ kind, text: "Looks good." }]);
  });

  it("is what a watcher remarks, and nothing that the runtime says itself", () => {
    const watcher = "d00000";
    const { items } = inboxOf(
      ...running(),
      about("agent.subagent_created", { profile: "pair", depth: 1 }, watcher),
      about("agent.interjected", { from: "runtime", severity: "warn" }),
      about("agent.interjected", { from: "session", severity: "info" }),
      about("agent.interjected", {
        from: `watcher:${watcher}`,
        severity: "critical",
        message: "Stop.",
      }),
    );
    const item = { kind: "interjection", severity: "critical", title: "pair to coder" };
    expect(items).toMatchObject([{ ...item, text: "Stop.", delegationId: id }]);
  });

  it("is a plan with its steps, and how the run ended", () => {
    const steps = ["cut", "glue"].map((title) => ({ title }));
    const { items } = inboxOf(
      ...running(),
      ofRun("run.planned", { by: id, steps }),
      ofRun("run.finished", { outcome: "failed", reason: "it broke" }),
    );
    expect(items).toMatchObject([
      { kind: "plan", title: "A plan of 2 steps", text: "cut; glue", delegationId: id },
      { kind: "run", severity: "warn", title: "Run failed: the task", text: "it broke" },
    ]);
    expect(items[1]).not.toHaveProperty("delegationId");
  });
});

describe("an ask", () => {
  const later = { ask_id: "q2", call_id: "other" };

  it.each([
    ["is answered", [about("agent.answered", { ask_id: "q1" })]],
    ["is replaced by another one", [asked(later)]],
    ["belongs to a call that is done", [about("agent.tool_completed", { call_id: "mine" })]],
    ["belongs to a delegation that hands in", [about("agent.subagent_waiting_for_merge")]],
    ["belongs to a delegation that fails", [about("agent.subagent_failed")]],
  ])("is closed when it %s", (_when, events) => {
    const { closed } = inboxOf(...running(), asked({ call_id: "mine" }), ...events);
    expect(closed).toEqual(["q1"]);
  });

  it("about taking changes over is closed when they are, or are not", () => {
    for (const end of ["agent.subagent_completed", "agent.subagent_failed"] as const) {
      const handedIn = [...running(), about("agent.subagent_waiting_for_merge")];
      expect(inboxOf(...handedIn, asked(), about(end)).closed).toEqual(["q1"]);
    }
  });

  it("stays open while the agent does other things", () => {
    const others = ["agent.tool_started", "agent.model_turn", "agent.retried"] as const;
    const call = about("agent.tool_completed", { call_id: "not mine" });
    const events = [...others.map((type) => about(type)), call];
    expect(inboxOf(...running(), asked({ call_id: "mine" }), ...events).closed).toEqual([]);
  });
});

describe("a line of an item", () => {
  it("holds no more than it may, in one line, with nothing that a terminal obeys", () => {
    const anything = fc.oneof(
      fc.string({ unit: "binary", maxLength: 2000 }),
      fc
        .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 1500 })
        .map((codes) => String.fromCharCode(...codes)),
    );
    fc.assert(
      fc.property(anything, (text) => {
        const line = storedLine(text, 240);
        expect(line.length).toBeLessThanOrEqual(240);
        expect(line.isWellFormed()).toBe(true);
        expect(line).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u);
        expect(line).toBe(line.trim());
        expect(storedLine(line, 240)).toBe(line);
      }),
      { numRuns: cases(60) },
    );
  });

  it("says where it was cut, and keeps no half of a character", () => {
    expect(storedLine("a".repeat(240), 240)).toBe("a".repeat(240));
    expect(storedLine("a".repeat(241), 240)).toBe(`${"a".repeat(239)}…`);
    expect(storedLine(`${"a".repeat(238)}😀😀`, 240)).toBe(`${"a".repeat(238)}…`);
    expect(storedLine("\u001b[31mred\u001b[0m\u0000 and\r\n\tmore\u202e", 240)).toBe(
      "red and more",
    );
    expect(storedLine("a\u{e0041}\u061c\u180e\u00adb", 240)).toBe("ab");
  });
});
