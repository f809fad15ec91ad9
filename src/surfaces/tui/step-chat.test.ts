import { describe, expect, test } from "vitest";
import type { StoredEvent } from "../../events/event.ts";
import type { InboxItem } from "../../events/inbox-item.ts";
import type { ChatEffect, ChatInput } from "./chat-input.ts";
import { type AgentLine, type ChatState, openChatState } from "./chat-state.ts";
import { stepChat } from "./step-chat.ts";
import { beginTurn } from "./turn.ts";

const session = { id: null, title: "", profile: "general", modelNotice: "" };
const opened = openChatState({ columns: 80, rows: 24, now: 0, session, hotkeys: [] });

function key(chord: string): ChatInput {
  return { type: "key", chord };
}

function text(typed: string): ChatInput {
  return { type: "text", text: typed };
}

function step(state: ChatState, ...inputs: readonly ChatInput[]) {
  const effects: ChatEffect[] = [];
  let now = state;
  for (const input of inputs) {
    const stepped = stepChat(now, input);
    now = stepped.state;
    effects.push(...stepped.effects);
  }
  return { state: now, effects };
}

const turn = beginTurn({ runId: "r1", rootId: "root", profile: "general", startedAt: 0 });
const working = step(opened, { type: "began", turn, events: [] }).state;

function agent(about: Partial<AgentLine>): AgentLine {
  return {
    id: "child",
    runId: "r1",
    label: "researcher#child",
    state: "running",
    isRoot: false,
    isWatching: false,
    isAsking: false,
    ...about,
  };
}

const finished = {
  type: "run.finished",
  payload: { outcome: "succeeded", reason: "" },
  run_id: "r1",
  run_seq: 1,
  seq: 1,
  at: 0,
  hash: "",
} satisfies StoredEvent;

const asked: InboxItem = {
  id: 7,
  at: 0,
  runId: "r1",
  delegationId: "child",
  kind: "approval",
  severity: "warn",
  title: "researcher asks",
  text: "May it?",
  isOpen: true,
  ask: { id: "a1", deadlineAt: 1000, default: null },
};

function inbox(items: readonly InboxItem[]): ChatInput {
  return { type: "inbox", inbox: { items, unread: items.length, questions: new Map() } };
}

describe("What is typed", () => {
  test("goes out with Enter, and the line is empty again", () => {
    const { effects, state } = step(opened, text("hello"), key("enter"));
    expect(effects).toEqual([{ do: "send", text: "hello" }]);
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

  test("gets another line by a backslash before Enter, by Alt+Enter and by Ctrl+J", () => {
    const inputs = [
      text("a\\"),
      key("enter"),
      text("b"),
      key("alt+enter"),
      text("c"),
      key("ctrl+j"),
    ];
    const { effects, state } = step(opened, ...inputs);
    expect(state.editor.text).toBe("a\nb\nc\n");
    expect(effects).toEqual([]);
  });

  test("is not sent twice while the first run has not begun", () => {
    const { effects, state } = step(opened, text("a"), key("enter"), text("b"), key("enter"));
    expect(effects).toEqual([{ do: "send", text: "a" }]);
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
    expect(ended.effects).toEqual([{ do: "send", text: "one\ntwo" }]);
    expect(ended.state.turn).toBeNull();
  });

  test("messages that wait are given back when the person interrupted it", () => {
    const queued = step(working, text("one"), key("enter"), key("escape"));
    expect(queued.effects).toEqual([{ do: "interrupt", how: "cancel" }]);
    const ended = step(queued.state, { type: "event", event: finished });
    expect(ended.effects).toEqual([]);
    expect(ended.state.editor.text).toBe("one");
  });

  test("the same event twice is shown once", () => {
    const event = {
      type: "agent.model_turn",
      sub_agent_id: "root",
      run_id: "r1",
      run_seq: 2,
      seq: 2,
      at: 0,
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

describe("A question", () => {
  test("takes what is typed only after a key said so, and the draft is there again", () => {
    const waiting = step(opened, inbox([asked])).state;
    const sent = step(waiting, text("draft"), key("enter"));
    expect(sent.effects).toEqual([{ do: "send", text: "draft" }]);
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
    const answering = step(opened, inbox([asked]), key("tab"), text("yes")).state;
    const { effects, state } = step(answering, inbox([{ ...asked, isOpen: false }]), key("enter"));
    expect(state.answering).toBeNull();
    expect(effects).toEqual([]);
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
    expect(typed.effects).toEqual([{ do: "complete", text: "/s" }]);
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
