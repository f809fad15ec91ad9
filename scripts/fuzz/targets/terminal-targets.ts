import assert from "node:assert/strict";
import fc, { type Arbitrary } from "fast-check";
import { Desk } from "../../../src/surfaces/cli/desk.test-support.ts";
import { printable, printableJson, printableLine } from "../../../src/surfaces/cli/printable.ts";
import type { ChatInput } from "../../../src/surfaces/tui/chat-input.ts";
import {
  agent,
  asked,
  coloured,
  finished,
  openedAt,
  working,
} from "../../../src/surfaces/tui/chat-state.test-support.ts";
import { drawApart } from "../../../src/surfaces/tui/draw/draw-entry.ts";
import { drawPanelScreen } from "../../../src/surfaces/tui/draw/draw-panel.ts";
import { drawScreen } from "../../../src/surfaces/tui/draw/draw-screen.ts";
import type { Entry } from "../../../src/surfaces/tui/entry.ts";
import { stepChat } from "../../../src/surfaces/tui/step-chat.ts";
import { assertShown } from "../expect-refusal.ts";
import { longText, nastyText } from "../hostile-text.ts";
import { defineTarget } from "../target.ts";

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const colours = /\u001b\[\d+m/g;

function assertLine(line: string): void {
  const bare = line.replaceAll(colours, "");
  assert.ok(!/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u.test(bare), JSON.stringify(line));
}

const text = fc.oneof(nastyText, nastyText, longText);

const entries: Arbitrary<Entry> = fc.oneof(
  fc.record({ kind: fc.constant("person" as const), text }),
  fc.record({ kind: fc.constant("agent" as const), who: text, text }),
  fc.record({
    kind: fc.constant("line" as const),
    mark: fc.constant("done" as const),
    who: text,
    text,
    detail: text,
    patch: text,
  }),
  fc.record({ kind: fc.constant("patch" as const), text }),
  fc.record({ kind: fc.constant("page" as const), text }),
  fc.record({
    kind: fc.constant("output" as const),
    command: text,
    text,
    code: fc.option(fc.nat(255)),
  }),
  fc.record({ kind: fc.constant("question" as const), who: text, text, answer: fc.option(text) }),
  fc.record({
    kind: fc.constant("remark" as const),
    from: text,
    severity: fc.constant("warn" as const),
    text,
  }),
  fc.record({ kind: fc.constant("reply" as const), command: text, ok: fc.boolean(), text }),
  fc.record({ kind: fc.constant("note" as const), tone: fc.constant("bad" as const), text }),
);

export const shownTexts = defineTarget({
  name: "shown-texts",
  surface: "terminal",
  promise: "whatever anybody wrote, a terminal is given letters and colours and nothing to obey",
  cases: 300,
  open: () => ({
    inputs: fc.record({ entry: entries, columns: fc.integer({ min: 20, max: 100 }), raw: text }),
    check({ columns, entry, raw }) {
      for (const line of drawApart(entry, undefined, columns, coloured)) assertLine(line);
      assertShown(printable(raw));
      assert.ok(!/\n/.test(printableLine(raw)));
      assertShown(printableLine(raw));
      assert.deepEqual(JSON.parse(printableJson({ raw })), { raw });
      assertShown(printableJson({ raw }));
    },
  }),
});

const chords = [
  ...[
    "enter",
    "escape",
    "tab",
    "up",
    "down",
    "left",
    "right",
    "backspace",
    "delete",
    "home",
    "end",
  ],
  ...["pageup", "pagedown", "ctrl+c", "ctrl+d", "ctrl+l", "ctrl+t", "ctrl+o", "ctrl+r", "ctrl+z"],
  ...[
    "shift+tab",
    "alt+enter",
    "shift+enter",
    "ctrl+u",
    "ctrl+w",
    "ctrl+k",
    "ctrl+a",
    "ctrl+e",
    "j",
  ],
];

const chatInputs: Arbitrary<ChatInput> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(...chords).map((chord) => ({ type: "key" as const, chord })),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("text" as const), text: nastyText }) },
  fc.record({ type: fc.constant("paste" as const), text: nastyText }),
  fc.record({
    type: fc.constant("resized" as const),
    columns: fc.integer({ min: 1, max: 200 }),
    rows: fc.integer({ min: 1, max: 80 }),
  }),
  fc.constant({ type: "event" as const, event: finished }),
  fc.record({
    type: fc.constant("delta" as const),
    delegationId: fc.constantFrom("root", "x"),
    text,
  }),
  fc.record({ type: fc.constant("stopped" as const), reason: text, giveBack: text }),
  fc.record({
    type: fc.constant("entries" as const),
    entries: fc.array(entries, { maxLength: 3 }),
  }),
  text.map((label) => ({
    type: "agents" as const,
    agents: [agent({ label }), agent({ id: label, state: "completed" as never })],
  })),
  text.map((said) => ({
    type: "inbox" as const,
    inbox: {
      unread: 1,
      items: [{ ...asked, title: said, text: said }],
      questions: new Map([["a1", { who: said, text: said, task: said, patch: said }]]),
    },
  })),
  text.map((said) => ({
    type: "sessions" as const,
    rows: [
      {
        id: "s",
        runId: "r1",
        title: said,
        profile: said,
        lastMessage: said,
        status: "completed",
        workspace: said,
        updatedAt: 0,
        tokens: 0,
        cost: 0,
        runs: 1,
      },
    ] as never,
  })),
  text.map((said) => ({
    type: "candidates" as const,
    of: "/",
    candidates: [{ text: said, description: said, label: said, cursor: said.length }],
  })),
  fc.array(entries, { maxLength: 3 }).map((shown) => ({
    type: "detail" as const,
    detail: { id: "child", label: "x", pages: [{ title: "summary" as const, entries: shown }] },
  })),
  text.map((model) => ({
    type: "figures" as const,
    figures: { model, spent: { tokens: 1, cost: 0 }, context: { tokens: 1, window: 0 } },
  })),
  fc.option(text).map((command) => ({ type: "shell" as const, command })),
  text.map((said) => ({ type: "unanswered" as const, askId: "a1", text: said })),
);

export const chatScreens = defineTarget({
  name: "chat-screens",
  surface: "terminal",
  promise: "whatever is pressed and heard, the screen is drawn, fits, and holds nothing to obey",
  caseMs: 3000,
  cases: 200,
  open: () => ({
    inputs: fc.record({ inputs: fc.array(chatInputs, { maxLength: 30 }), isWorking: fc.boolean() }),
    check({ inputs, isWorking }: { inputs: readonly ChatInput[]; isWorking: boolean }) {
      let state = isWorking ? working : openedAt(80, 24);
      for (const input of inputs) {
        state = stepChat(state, input).state;
        const { lines } = drawScreen(state, coloured);
        assert.ok(lines.length < Math.max(2, state.rows), `${lines.length} lines of ${state.rows}`);
        for (const line of lines) assertLine(line);
        if (state.panel.is !== "none")
          for (const line of drawPanelScreen(state, coloured)) assertLine(line);
      }
    },
  }),
});

const programs = [
  ...[
    "ls",
    "tree",
    "show",
    "logs",
    "result",
    "sessions",
    "agents",
    "command",
    "profiles",
    "import",
  ],
  ...["memory", "replay", "fork", "token", "verify", "prune", "cancel", "answer", "diff", "merge"],
  ...["discard", "inbox", "resume", "help", "nothing", "__proto__"],
];

const options = [
  ...[
    "--json",
    "--help",
    "--limit",
    "--all",
    "--run",
    "--profile",
    "--format",
    "--to",
    "--dry-run",
  ],
  ...[
    "--older-than",
    "--after",
    "--at",
    "--model",
    "--yes",
    "--role",
    "--x",
    "-h",
    "-n",
    "--",
    "-",
  ],
  ...["--limit=-1", "--limit=1e9", "--older-than=1d", "--format=jsonl", "--run=r000001", "--at=0"],
  ...[
    "list",
    "show",
    "check",
    "create",
    "revoke",
    "register",
    "apply",
    "trust",
    "r000001",
    "0",
    ".",
  ],
];

export const commandLine = defineTarget({
  name: "command-line",
  surface: "terminal",
  promise: "whatever is typed at the program, it answers with an exit code and a sentence of ours",
  caseMs: 5000,
  cases: 60,
  open() {
    const desk = new Desk();
    // No system hands a program a word with a NUL in it.
    const typed = nastyText.map((each) => each.replaceAll("\0", ""));
    const word = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...options) }, typed);
    return {
      inputs: fc
        .tuple(fc.constantFrom(...programs), fc.array(word, { maxLength: 4 }), nastyText)
        .map(([program, words, input]) => ({ words: [program, ...words], input })),
      async check({ input, words }: { input: string; words: readonly string[] }) {
        const { code, err, out } = await desk.type(words, { input });
        assert.ok(Number.isInteger(code) && code >= 0 && code < 128, `exit code ${code}`);
        assert.ok(!err.includes("a mistake in Mandate itself"), err);
        for (const line of `${out}\n${err}`.split("\n")) assertLine(line.replaceAll("\t", " "));
      },
      close: () => desk.clear(),
    };
  },
});
