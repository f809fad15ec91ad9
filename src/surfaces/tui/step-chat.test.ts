import { describe, expect, test } from "vitest";
import type { StoredEvent } from "../../events/event.ts";
import type { ChatInput } from "./chat-input.ts";
import {
  agent,
  asked,
  finished,
  inbox,
  key,
  opened,
  openedAt,
  session,
  step,
  text,
  working,
} from "./chat-state.test-support.ts";
import type { ChatState } from "./chat-state.ts";

describe("What is typed", () => {
  test("goes out with Enter, and the line is empty again", () => {
    const { effects, state } = step(opened, text("hello"), key("enter"));
    expect(effects).toEqual([
      { do: "remember", text: "hello" },
      { do: "send", text: "hello" },
    ]);
    expect(state.editor.text).toBe("");
  });

  test("is a command when it begins with a slash, and a message with a space before that", () => {
    expect(step(opened, text("/status"), key("enter")).effects.at(-1)).toEqual({
      do: "command",
      text: "/status",
    });
    expect(step(opened, text(" /etc is what?"), key("enter")).effects.at(-1)).toMatchObject({
      do: "send",
    });
  });

  test("gets another line by a backslash before Enter, by Alt+Enter, Shift+Enter and Ctrl+J", () => {
    const inputs = [
      text("a\\"),
      key("enter"),
      text("b"),
      key("alt+enter"),
      text("c"),
      key("ctrl+j"),
      text("d"),
      key("shift+enter"),
    ];
    const { effects, state } = step(opened, ...inputs);
    expect(state.editor.text).toBe("a\nb\nc\nd\n");
    expect(effects).toEqual([]);
  });

  test("is not sent twice while the first run has not begun", () => {
    const { effects, state } = step(opened, text("a"), key("enter"), text("b"), key("enter"));
    expect(effects.filter((effect) => effect.do === "send")).toEqual([{ do: "send", text: "a" }]);
    expect(state.queued).toEqual(["b"]);
  });

  test("comes back when it could not be sent, before what was typed since", () => {
    const sent = step(opened, text("a"), key("enter"), text("later")).state;
    const { state } = step(sent, { type: "stopped", reason: "No.", giveBack: "a" });
    expect(state.editor.text).toBe("a\nlater");
    expect(state.entries.at(-1)).toMatchObject({ tone: "bad", text: "No." });
  });

  test("is remembered, and what was being written is there again below it", () => {
    const said = step(opened, text("one"), key("enter")).state;
    const { state } = step(said, text("dra"), key("up"));
    expect(state.editor.text).toBe("one");
    expect(step(state, key("down")).state.editor.text).toBe("dra");
  });

  test("is cut where a paste is larger than anybody types, and the person is told", () => {
    const { state } = step(opened, { type: "paste", text: "x".repeat(300_000) });
    expect(state.editor.text).toHaveLength(200_000);
    expect(state.notice?.text).toContain("cut");
  });
});

describe("While an agent works", () => {
  test("messages wait, go out together at the end, and can be taken back before", () => {
    const queued = step(working, text("one"), key("enter"), text("two"), key("enter")).state;
    expect(queued.queued).toEqual(["one", "two"]);
    expect(step(queued, key("up")).state).toMatchObject({
      queued: ["one"],
      editor: { text: "two" },
    });
    const ended = step(queued, { type: "event", event: finished });
    expect(ended.effects).toEqual([
      { do: "note-told", items: [1] },
      { do: "send", text: "one\ntwo" },
    ]);
    expect(ended.state.turn).toBeNull();
  });

  test("messages that wait are given back when the person interrupted it", () => {
    const queued = step(working, text("one"), key("enter"), key("escape"));
    expect(queued.effects.at(-1)).toEqual({ do: "interrupt", how: "cancel" });
    const ended = step(queued.state, { type: "event", event: finished });
    expect(ended.effects).toEqual([{ do: "note-told", items: [1] }]);
    expect(ended.state.editor.text).toBe("one");
  });

  test("what it plans and asks is told, a question with its answer or at the end, and once", () => {
    const at = (seq: number, event: Pick<StoredEvent, "type" | "payload">): ChatInput => ({
      type: "event",
      event: { ...finished, ...event, sub_agent_id: "root", run_seq: seq, seq } as StoredEvent,
    });
    const planned = (seq: number, by: string) =>
      at(seq, { type: "run.planned", payload: { by, call_id: "c", steps: [] } });
    const asks = (seq: number, ask_id: string) =>
      at(seq, {
        type: "agent.asked",
        payload: { ask_id, call_id: "c", question: "?", deadline_at: 9, default: null },
      });
    const payload = { ask_id: "a1", answer: "blue", by: "person" } as const;
    const { effects } = step(
      working,
      planned(1, "root"),
      planned(2, "child"),
      asks(3, "a1"),
      asks(4, "a2"),
      at(5, { type: "agent.answered", payload }),
      at(5, { type: "agent.answered", payload }),
      { type: "event", event: { ...finished, run_seq: 6, seq: 6 } },
    );
    expect(effects).toEqual([
      { do: "note-told", items: [1] },
      { do: "note-told", items: [3, 5] },
      { do: "note-told", items: [4, 6] },
    ]);
  });

  test("the same event twice is shown once", () => {
    const event = {
      type: "agent.model_turn",
      sub_agent_id: "root",
      run_id: "r1",
      run_seq: 2,
      seq: 2,
      at: 0,
      summary: "",
      hash: "",
      payload: {
        requested: "a/b",
        served: null,
        usage: { prompt: 1, completion: 1, cost: 0 },
        finish_reason: "stop",
        text: "hi",
      },
    } satisfies StoredEvent;
    const { state } = step(working, { type: "event", event }, { type: "event", event });
    expect(state.entries).toEqual([{ kind: "agent", who: "general", text: "hi" }]);
  });

  test("an interrupt asks about children, and each answer is carried out", () => {
    const { state } = step(working, { type: "agents", agents: [agent({})] }, key("ctrl+c"));
    expect(state.panel.is).toBe("interrupt");
    expect(step(state, text("1")).effects).toEqual([{ do: "interrupt", how: "cancel" }]);
    expect(step(state, key("down"), key("enter")).effects).toEqual([
      { do: "interrupt", how: "after-children" },
    ]);
    expect(step(state, text("3")).effects).toEqual([{ do: "interrupt", how: "background" }]);
    expect(step(state, text("4"))).toMatchObject({
      effects: [],
      state: { panel: { is: "none" } },
    });
    expect(step(state, key("escape"))).toMatchObject({
      effects: [],
      state: { turn: { ending: "no" } },
    });
    expect(step(state, key("ctrl+c")).effects).toEqual([{ do: "leave" }]);
  });

  test("a watcher is nobody whom an interrupt has to ask about", () => {
    const watcher = agent({ isWatching: true });
    const { effects } = step(working, { type: "agents", agents: [watcher] }, key("ctrl+c"));
    expect(effects).toEqual([{ do: "interrupt", how: "cancel" }]);
  });
});

describe("Ctrl-C", () => {
  test("with nothing to interrupt leaves at the second time, and a key between takes that back", () => {
    expect(step(opened, key("ctrl+c")).effects).toEqual([]);
    expect(step(opened, key("ctrl+c"), key("ctrl+c")).effects).toEqual([{ do: "leave" }]);
    expect(step(opened, key("ctrl+c"), text("a"), key("ctrl+c")).effects).toEqual([]);
  });

  test("takes away what is typed before anything else", () => {
    const { effects, state } = step(opened, text("abc"), key("ctrl+c"));
    expect(state.editor.text).toBe("");
    expect(state.isLeaving).toBe(false);
    expect(effects).toEqual([]);
  });
});

describe("An answer that is streamed", () => {
  const delta = (text: string): ChatInput => ({ type: "delta", delegationId: "root", text });
  const answered = (text: string): ChatInput => {
    const payload = { requested: "a/b", served: null, usage, finish_reason: "stop", text };
    const event = { ...finished, type: "agent.model_turn", payload, sub_agent_id: "root" } as const;
    return { type: "event", event };
  };
  const usage = { prompt: 1, completion: 1, cost: 0 };
  const whole = "# Tides\n\n- high\n- low\n\n```js\none();\ntwo();\n```\n\nThe end.";
  const shown = whole.slice(0, whole.indexOf("```\n\nThe end"));
  const streaming = step(working, ...[...whole].map(delta)).state;
  const textOf = ({ entries }: ChatState) =>
    entries.map((entry) => (entry.kind === "agent" ? entry.text : `<${entry.kind}>`)).join("");

  test("joins the conversation block by block, and is there once when it is complete", () => {
    expect(textOf(streaming)).toBe(shown);
    const { state } = step(streaming, answered(whole));
    expect(textOf(state)).toBe(whole);
    expect(state.turn?.streamed).toBe("");
  });

  test("stays where it broke off, and the answer that came instead follows it", () => {
    const { state } = step(streaming, answered("Another one."));
    expect(textOf(state)).toBe(`${shown}<note>Another one.`);
  });

  test("costs the same for each piece, however long it has become", () => {
    const parts = (lines: number) =>
      Array.from({ length: lines }, () => delta("- one more item\n"));
    const long = step(working, ...parts(2000)).state;
    expect(long.entries.length).toBeGreaterThan(1900);
    expect(long.turn?.streamed.length).toBeLessThan(100);
  });
});

describe("A question", () => {
  test("of this conversation is answered by Enter, and by a message after Esc", () => {
    const asking = step(working, inbox([asked])).state;
    expect(asking.answering?.question.askId).toBe("a1");
    const { effects, state } = step(asking, text("yes"), key("enter"), text("go on"), key("enter"));
    expect(effects.at(0)).toEqual({ do: "answer", askId: "a1", text: "yes" });
    expect(state.queued).toEqual(["go on"]);
    const message = step(asking, text("first this"), key("escape"), key("enter"));
    expect(message.state.queued).toEqual(["first this"]);
    expect(step(message.state, key("tab")).state.answering?.question.askId).toBe("a1");
    const ordered = step(asking, text("/status"), key("enter"));
    expect(ordered.effects).toContainEqual({ do: "command", text: "/status" });
    expect(ordered.state.answering?.question.askId).toBe("a1");
  });

  test("that is not the only one is left by one Esc, and what is typed is a message", () => {
    const ask = { id: "a2", deadlineAt: 1000, default: null };
    const other = { ...asked, id: 8, ask };
    const asking = step(working, inbox([asked, other])).state;
    const left = step(asking, key("escape"), text("stop that"), key("enter"));
    expect(left.effects).not.toContainEqual(expect.objectContaining({ do: "answer" }));
    expect(left.state.queued).toEqual(["stop that"]);
    const closed = inbox([{ ...asked, isOpen: false }, other]);
    expect(step(asking, text("ye"), closed, text("s")).state.answering).toBeNull();
  });

  test("that comes while something is typed does not take the text as its answer", () => {
    const { effects, state } = step(working, text("yes"), inbox([asked]), key("enter"));
    expect(effects.some((effect) => effect.do === "answer")).toBe(false);
    expect(state.queued).toEqual(["yes"]);
    expect(state.answering?.question.askId).toBe("a1");
  });

  test("of another run takes what is typed only from the inbox, and the draft is there again", () => {
    const waiting = step(opened, inbox([asked])).state;
    const sent = step(waiting, text("draft"), key("enter"));
    expect(sent.effects.at(-1)).toEqual({ do: "send", text: "draft" });
    const answering = step(
      waiting,
      text("dra"),
      key("ctrl+o"),
      key("enter"),
      text("no"),
      key("enter"),
    );
    expect(answering.effects).toContainEqual({ do: "answer", askId: "a1", text: "no" });
    expect(answering.state.editor.text).toBe("dra");
  });

  test("that is an approval has y and n in the inbox, and no other letter answers it", () => {
    const listed = step(opened, inbox([asked]), key("ctrl+o")).state;
    expect(step(listed, text("y")).effects).toEqual([{ do: "answer", askId: "a1", text: "yes" }]);
    expect(step(listed, text("n")).effects).toEqual([{ do: "answer", askId: "a1", text: "no" }]);
    expect(step(listed, text("x")).effects).toEqual([]);
  });

  test("that others answered takes its half-typed answer with it, and never sends it", () => {
    const answering = step(working, inbox([asked]), text("yes")).state;
    const { effects, state } = step(answering, inbox([{ ...asked, isOpen: false }]), key("enter"));
    expect(state.answering).toBeNull();
    expect(effects).toEqual([]);
    expect(step(state, key("up")).state.editor.text).toBe("yes");
  });
});

describe("Completion", () => {
  const offered: ChatInput = {
    type: "candidates",
    of: "/s",
    candidates: [
      { text: "/status", description: "" },
      { text: "/sessions", description: "" },
    ],
  };

  test("is asked for with every letter of a command, and taken with Tab", () => {
    const typed = step(opened, text("/s"));
    expect(typed.effects).toEqual([{ do: "complete", editor: { text: "/s", cursor: 2 } }]);
    const { state } = step(typed.state, offered, key("down"), key("tab"));
    expect(state.editor.text).toBe("/sessions ");
  });

  test("that comes late for what is typed by now is not shown", () => {
    expect(step(opened, text("/st"), offered).state.completion).toBeNull();
  });
});

test("A hotkey runs its command, or writes its beginning where a text is needed", () => {
  const hotkey = { keys: "alt+p", chords: ["alt+p"], profile: "pair" };
  const hotkeys = [
    { ...hotkey, command: "/pair", needsText: false },
    { ...hotkey, chords: ["alt+o"], command: "/oracle ", needsText: true },
  ];
  const state = { ...opened, hotkeys };
  expect(step(state, key("alt+p")).effects).toEqual([{ do: "command", text: "/pair" }]);
  expect(step(state, text("why?"), key("alt+o")).state.editor.text).toBe("/oracle why?");
});

test("Another session takes the place of this one, and what waited is given back", () => {
  const queued = step(working, text("later"), key("enter")).state;
  const { state } = step(queued, {
    type: "opened",
    session: { ...session, id: "other" },
    entries: [],
    said: ["before"],
  });
  expect(state).toMatchObject({ turn: null, queued: [], editor: { text: "later" } });
  expect(state.session.id).toBe("other");
});

test("What was said before is within reach in a new session as well, the latest first", () => {
  const said = step(opened, text("one"), key("enter"), text("two"), key("enter")).state;
  const fresh = step(said, { type: "opened", session, entries: [], said: [] }).state;
  expect(step(fresh, key("ctrl+c"), key("up")).state.editor.text).toBe("two");
  const other = step(said, { type: "opened", session, entries: [], said: ["there", "one"] }).state;
  expect(other.history.said).toEqual(["two", "there", "one"]);
});

test("A few words are the chat's own, and only when nothing stands beside them", () => {
  expect(step(opened, text("/quit"), key("enter")).effects.at(-1)).toEqual({ do: "leave" });
  expect(step(opened, text("/exit "), key("enter")).effects.at(-1)).toEqual({ do: "leave" });
  expect(step(opened, text("/new"), key("enter")).effects.at(-1)).toEqual({
    do: "open-session",
    id: null,
  });
  expect(step(opened, text("/keys"), key("enter")).state.panel.is).toBe("help");
  expect(step(opened, text("/quit now"), key("enter")).effects.at(-1)).toMatchObject({
    do: "command",
  });
});

describe("In a window that is too small", () => {
  const small = step(openedAt(29, 24), inbox([asked])).state;

  test("nothing is typed, answered, sent or interrupted that cannot be seen", () => {
    const pressed = [key("ctrl+o"), text("y"), key("tab"), text("yes"), key("enter")];
    const paste: ChatInput = { type: "paste", text: "yes" };
    const { effects, state } = step(small, ...pressed, paste, key("escape"));
    expect(effects).toEqual([]);
    expect(state).toMatchObject({ editor: { text: "" }, panel: { is: "none" }, answering: null });
  });

  test("Ctrl-C twice leaves, and a window that is large enough is as it was", () => {
    expect(step(small, key("ctrl+c"), key("ctrl+c")).effects).toEqual([{ do: "leave" }]);
    const { state } = step(small, { type: "resized", columns: 80, rows: 24 }, text("a"));
    expect(state.editor.text).toBe("a");
  });
});

test("Another width has everything drawn anew, another height has not", () => {
  const higher = step(opened, { type: "resized", columns: 80, rows: 40 }).state;
  expect(higher).toMatchObject({ rows: 40, drawings: 0 });
  const narrower = step(opened, { type: "resized", columns: 50, rows: 24 }).state;
  expect(narrower).toMatchObject({ columns: 50, columnsBefore: 80, drawings: 1 });
});

test("Ctrl-Z gives the terminal back, also from a panel, which is closed", () => {
  expect(step(opened, key("ctrl+z")).effects).toEqual([{ do: "suspend" }]);
  const { effects, state } = step(opened, key("ctrl+t"), key("ctrl+z"));
  expect(effects.at(-1)).toEqual({ do: "suspend" });
  expect(state.panel.is).toBe("none");
});
