import assert from "node:assert/strict";
import fc, { type Arbitrary } from "fast-check";
import { commandContext } from "../../../src/application/commands/command-context.ts";
import { commandTable } from "../../../src/application/commands/command-table.ts";
import { completeCommand } from "../../../src/application/commands/complete-command.ts";
import { executeCommand, fromUser } from "../../../src/application/commands/execute-command.ts";
import { parseCommand } from "../../../src/application/commands/parse-command.ts";
import { notesOf } from "../../../src/application/commands/say.test-support.ts";
import { openEngine, testProfile } from "../../../src/testing/engine-fixture.ts";
import { assertShown } from "../expect-refusal.ts";
import { longText, nastyText } from "../hostile-text.ts";
import { mutatedText } from "../mutate-text.ts";
import { defineTarget } from "../target.ts";

const words: readonly string[] = [
  ...[
    "/agents",
    "/agents register",
    "/agents pin",
    "@writer",
    "@a",
    " | ",
    "||",
    "writer",
    "global",
  ],
  ...["/status", "/cancel", "/review", "/oracle", "/answer", "/budget", "/help", "/inbox", "/tree"],
  ...["```\n/agents\n```", "> /agents", " /agents", "session", "user", "workspace", "ffffff", "r1"],
];

const lines: Arbitrary<string> = fc.oneof(
  mutatedText(
    [
      "/agents register @writer | writer | Writes documents.",
      "/agents pin @writer global",
      "/agents set-tags @writer | a, b",
      "/agents apply-yaml version: 1\nagents: []\n",
      "/answer q1 yes",
      "/cancel r000001",
      "/review the change",
    ],
    words,
  ),
  fc
    .tuple(fc.constantFrom(...commandTable.map(({ name }) => `/${name}`)), nastyText)
    .map(([name, rest]) => `${name} ${rest}`),
  fc
    .array(fc.constantFrom(...words, " ", "\t", "\n"), { maxLength: 8 })
    .map((parts) => parts.join("")),
  fc
    .tuple(fc.constantFrom("/agents register ", "/answer q1 ", "/"), longText)
    .map(([head, rest]) => head + rest),
  nastyText,
);

export const commandLines = defineTarget({
  name: "command-lines",
  surface: "commands",
  promise: "a line is the same command every time, or a usage error that can be shown as it is",
  cases: 500,
  open: () => ({
    inputs: lines,
    check(text: string) {
      const parsed = parseCommand(text);
      assert.deepEqual(parseCommand(text), parsed);
      if ("usage" in parsed) {
        assertShown(parsed.usage);
        assert.ok(parsed.usage.length < 5000);
      } else assert.ok(text.startsWith("/"));
    },
  }),
});

export const commandsOfViewers = defineTarget({
  name: "commands-of-viewers",
  surface: "commands",
  promise: "whoever may only look changes nothing with any line, and every line is in the log",
  caseMs: 3000,
  cases: 120,
  async open() {
    const engine = await openEngine({ profiles: [testProfile("writer")], model: () => "done" });
    const viewer = { id: "vera", role: "viewer" } as const;
    const context = commandContext(engine, viewer, { workspace: engine.workspace });
    const stateOf = async () => ({
      document: await engine.control.plane.exportDocument({ id: "ada", role: "admin" }),
      runs: (await engine.store.listRuns({ limit: 10 })).length,
    });
    const before = await stateOf();
    // Their own pins are theirs to set.
    const inputs = lines.filter((text) => !/^\/agents[ \t]+(un)?pin/.test(text));
    return {
      inputs,
      async check(text: string) {
        const notes = (await notesOf(engine)).length;
        const reply = await executeCommand(fromUser(text, viewer), context);
        assertShown(reply.reply);
        assert.equal((await notesOf(engine)).length, notes + 1);
        assert.deepEqual(await stateOf(), before);
        const candidates = await completeCommand(text, context);
        for (const { text: whole } of candidates) assert.ok(whole.startsWith("/"));
      },
      close: () => engine[Symbol.asyncDispose](),
    };
  },
});
