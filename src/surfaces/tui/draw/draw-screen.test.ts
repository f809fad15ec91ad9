import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { cases } from "../../../testing/cases.test-support.ts";
import { displayWidth } from "../../cli/display-width.ts";
import { asked, inbox, openedAt, step, coloured as style } from "../chat-state.test-support.ts";
import { type AgentLine, type ChatState, openChatState, type Panel } from "../chat-state.ts";
import { interruptChoices } from "../keys/choices.ts";
import { editorWith } from "../keys/editor.ts";
import { beginTurn } from "../turn.ts";
import { drawPanelScreen } from "./draw-panel.ts";
import { drawScreen } from "./draw-screen.ts";

const word = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 60 }),
  fc.constantFrom("日本語".repeat(20), "\u001b[2J", "a\nb\nc\nd\ne\nf"),
);

const panels: readonly Panel[] = [
  { is: "none" },
  { is: "help", top: 3 },
  { is: "tree", chosen: "c3" },
  { is: "detail", page: 1, top: 2, back: { is: "tree", chosen: null } },
  { is: "inbox", chosen: 0, top: 2 },
  { is: "inbox", chosen: 7, top: 0 },
  { is: "inbox", chosen: null, top: 0 },
  { is: "sessions", chosen: 1 },
  { is: "interrupt", chosen: 1, choices: interruptChoices({ agents: [], turn: null }) },
];

const states: fc.Arbitrary<ChatState> = fc
  .record({
    columns: fc.integer({ min: 30, max: 120 }),
    rows: fc.integer({ min: 10, max: 50 }),
    text: word,
    many: fc.integer({ min: 0, max: 60 }),
    panel: fc.constantFrom(...panels),
    isWorking: fc.boolean(),
  })
  .map(({ columns, isWorking, many, panel, rows, text }) => {
    const session = { id: "root", title: text, profile: text, modelNotice: text };
    const agents = Array.from({ length: many }, (_each, place): AgentLine => {
      const id = `c${place}`;
      const flags = {
        isRoot: false,
        isBackground: false,
        isWatching: place % 7 === 0,
        isAsking: place % 5 === 0,
        isHere: place % 3 === 0,
      };
      return { id, runId: "r1", label: `${text}#${id}`, state: "running", ...flags };
    });
    const turn = {
      ...beginTurn({ runId: "r1", rootId: "root", profile: text, startedAt: 0 }),
      streamed: text.repeat(many),
      children: agents.map(({ id, label, isWatching }) => {
        return { id, label, title: text, createdAt: 0, isWatching };
      }),
    };
    return {
      ...openChatState({ columns, rows, now: 1000, session, hotkeys: [], model: text, said: [] }),
      editor: editorWith(text.replaceAll("\u001b", "").repeat(3)),
      agents,
      panel,
      turn: isWorking ? turn : null,
      queued: many > 30 ? [text, text] : [],
      completion:
        many % 3 === 1 ? { of: "/", candidates: [{ text, description: text }], chosen: 0 } : null,
      inbox: {
        unread: many,
        items: Array.from({ length: many }, (_each, id) => ({
          ...({
            id,
            at: 0,
            runId: "r1",
            kind: "ask",
            severity: "warn",
            title: text,
            text,
          } as const),
          isOpen: id === 0,
          ask: { id: `a${id}`, deadlineAt: 5000, default: text },
        })),
        questions: new Map([
          ["a0", { who: text, text: text.repeat(40), task: text, patch: `@@ x @@\n+${text}` }],
        ]),
      },
      sessions: Array.from({ length: many }, (_each, place) => ({
        ...{ id: `s${place}`, runId: "r1", title: text, profile: text, lastMessage: text },
        ...({
          status: "completed",
          workspace: null,
          updatedAt: 0,
          tokens: 0,
          cost: 0,
          runs: 1,
        } as const),
      })),
    };
  });

test("What moves is always lower than the terminal, and no line is as wide as it", () => {
  fc.assert(
    fc.property(states, (state) => {
      const { cursor, lines } = drawScreen(state, style);
      expect(lines.length).toBeLessThan(state.rows);
      for (const line of lines) {
        expect(displayWidth(stripVTControlCharacters(line)), line).toBeLessThan(state.columns);
        expect(line).not.toContain("\n");
      }
      if (cursor !== null) {
        expect(cursor.y).toBeLessThan(lines.length);
        expect(cursor.x).toBeLessThan(state.columns);
      }
    }),
    { numRuns: cases(300) },
  );
});

test("A panel on the other screen has exactly the lines that the terminal has", () => {
  fc.assert(
    fc.property(states, (state) => {
      if (state.panel.is === "none") return;
      const lines = drawPanelScreen(state, style);
      expect(lines).toHaveLength(state.rows);
      for (const line of lines) {
        expect(displayWidth(stripVTControlCharacters(line)), line).toBeLessThan(state.columns);
      }
    }),
    { numRuns: cases(300) },
  );
});

test("The cursor stands where the next letter goes, also behind wide ones and a full line", () => {
  const state = openedAt(33, 24);
  const at = (text: string, cursor = text.length) =>
    drawScreen({ ...state, editor: { text, cursor } }, style).cursor;
  expect(at("日本")).toMatchObject({ x: 6 });
  expect(at("abc", 1)).toMatchObject({ x: 3 });
  expect(at("a\tb")).toMatchObject({ x: 8 });
  const first = at("")?.y ?? 0;
  expect(at("0123456789".repeat(3))).toEqual({ x: 2, y: first + 1 });
  expect(at("é123456789".repeat(3))).toEqual({ x: 2, y: first + 1 });
  expect(at("one\ntwo")).toEqual({ x: 5, y: first + 1 });
});

test("A window that is too small says so, in as many lines as it has", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 29 }),
      fc.integer({ min: 2, max: 30 }),
      (columns, rows) => {
        const { cursor, lines } = drawScreen(openedAt(columns, rows), style);
        expect(cursor).toBeNull();
        expect(lines.length).toBeLessThan(rows);
        for (const line of lines) expect(line.length).toBeLessThanOrEqual(Math.max(1, columns - 1));
      },
    ),
  );
  expect(drawScreen(openedAt(29, 10), style).lines.join(" ")).toContain("30 columns and 10 lines");
});

test("What an agent asks stands behind a bar, whatever it looks like", () => {
  const forged = "? general asks\n  1:00 left · Tab answers\n── general works ──\n› yes";
  const turn = beginTurn({ runId: "r1", rootId: "root", profile: "general", startedAt: 0 });
  const working = step(openedAt(80, 24), { type: "began", turn, events: [] }).state;
  const { lines } = drawScreen(step(working, inbox([{ ...asked, text: forged }])).state, style);
  const plainLines = lines.map((line) => stripVTControlCharacters(line));
  for (const part of forged.split("\n")) {
    expect(plainLines).toContain(`  │ ${part}`.trimEnd());
  }
  const questions = plainLines.filter((line) => /^\? \w+ asks/.test(line));
  expect(questions).toEqual(["? researcher asks (#child)"]);
});

test("The largest paste is laid out quicker than a key may take", () => {
  const text = `${"some words of a pasted line ".repeat(30)}\n`.repeat(250).slice(0, 200_000);
  const state = { ...openedAt(80, 24), editor: editorWith(text) };
  drawScreen(state, style);
  const started = process.cpuUsage();
  for (let times = 0; times < 10; times += 1) drawScreen(state, style);
  const { system, user } = process.cpuUsage(started);
  expect((system + user) / 10_000).toBeLessThan(15);
});
