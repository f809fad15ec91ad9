import { describe, expect, test } from "vitest";
import type { InboxItem } from "../../../events/inbox-item.ts";
import {
  agent,
  asked,
  inbox,
  key,
  opened,
  step,
  text,
  working,
} from "../chat-state.test-support.ts";
import type { ChatState } from "../chat-state.ts";
import { keyTable } from "./keys.ts";

const harmless: InboxItem = { ...asked, id: 7, title: "reader asks", text: "May it read?" };
const harmful: InboxItem = {
  ...asked,
  ...{ id: 9, title: "writer asks", text: "May it delete everything?" },
  ask: { id: "a2", deadlineAt: 1000, default: null },
};

describe("In the inbox", () => {
  const listed = step(opened, inbox([harmless, harmful]), key("ctrl+o")).state;

  test("a key is for the question that was read, and not for the one in its place by now", () => {
    const moved = step(listed, inbox([{ ...harmless, isOpen: false }, harmful])).state;
    expect(step(moved, text("y")).effects).toEqual([]);
    expect(step(moved, key("enter")).state.answering).toBeNull();
    const gone = step(listed, inbox([harmful])).state;
    expect(step(gone, text("y")).effects).toEqual([]);
    expect(step(gone, key("down"), text("y")).effects).toEqual([
      { do: "answer", askId: "a2", text: "yes" },
    ]);
  });

  test("a question that is new does not push away the one that is chosen", () => {
    const chosen = step(listed, key("down")).state;
    const more: InboxItem = { ...harmless, id: 5, ask: { id: "a0", deadlineAt: 1, default: null } };
    const { effects } = step(chosen, inbox([more, harmless, harmful]), text("n"));
    expect(effects).toEqual([{ do: "answer", askId: "a2", text: "no" }]);
  });

  test("a long question is read page by page, to its end and back", () => {
    const long = Array.from({ length: 40 }, (_each, line) => `line ${line}`).join("\n");
    const open = inbox([harmless, harmful]);
    if (open.type !== "inbox") throw new Error("no inbox");
    const questions = new Map([["a1", { who: "reader#child", text: long, task: "" }]]);
    const state = step(
      opened,
      { ...open, inbox: { ...open.inbox, questions } },
      key("ctrl+o"),
    ).state;
    const topOf = ({ panel }: ChatState) => (panel.is === "inbox" ? panel.top : undefined);
    const down = step(state, key("pagedown"), key("pagedown"), key("pagedown"), key("pagedown"));
    const last = topOf(down.state) ?? 0;
    expect(last).toBeGreaterThan(10);
    expect(last).toBeLessThan(40);
    expect(topOf(step(down.state, key("pageup")).state)).toBe(last - 10);
    expect(topOf(step(down.state, key("down")).state)).toBe(0);
  });

  test("what is said about a whole run opens the page of its root", () => {
    const { delegationId: _one, ask: _ask, isOpen: _open, ...about } = harmless;
    const ended: InboxItem = { ...about, kind: "run", title: "Run failed: go" };
    const { effects } = step(opened, inbox([ended]), key("ctrl+o"), key("enter"));
    expect(effects.at(-1)).toEqual({ do: "read-detail", id: "r1" });
  });

  test("letters that come at once move, and answer nothing", () => {
    expect(step(listed, text("jk"), text("y")).effects).toHaveLength(1);
    expect(step(listed, text("yy")).effects).toEqual([]);
    expect(step(listed, text("jy")).effects).toEqual([]);
  });
});

test("A number means what stood beside it, whoever has ended meanwhile", () => {
  const goer = agent({ id: "goer", onInterrupt: "continue" });
  const { state } = step(working, { type: "agents", agents: [goer, agent({})] }, key("escape"));
  const later = step(state, { type: "agents", agents: [agent({})] }).state;
  expect(step(later, text("1")).effects).toEqual([{ do: "interrupt", how: "by-contract" }]);
});

test("A list is not scrolled beyond its end: one key back is one line back", () => {
  const low = step(opened, { type: "resized", columns: 80, rows: 12 }, text("?")).state;
  const end = step(low, ...keyTable.map(() => key("pagedown"))).state;
  const top = end.panel.is === "help" ? end.panel.top : -1;
  expect(top).toBeGreaterThan(0);
  expect(top).toBeLessThan(keyTable.length);
  expect(step(end, key("up")).state.panel).toEqual({ is: "help", top: top - 1 });
});
