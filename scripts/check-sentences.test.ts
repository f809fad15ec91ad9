import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { testFolder } from "../src/testing/test-folder.test-support.ts";

const causes = `
  caller_cancelled: ["cancelled", "Its caller was cancelled."],
  idle: ["timeout", ({ ms }) => \`Nothing happened for \${ms} ms, and it was stopped.\`],
`;

/** What the check says of a tree in which one file has this text. */
function check(text: string, path = "src/delegations/replay/x.ts"): string {
  const folder = testFolder();
  for (const [file, content] of Object.entries({ "src/events/cause.ts": causes, [path]: text })) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), content);
  }
  const script = join(import.meta.dirname, "check-sentences.mjs");
  return spawnSync(process.execPath, [script, folder], { encoding: "utf8" }).stdout;
}

test("every way to decide by what an event says is found", () => {
  for (const text of [
    'if (event.payload.error.startsWith("Interrupted: ")) return;',
    'if (payload.reason === "Its owner left") return;',
    "if (/cost/.test(failed.payload.error)) return;",
    'const [, rest] = event.payload?.detail.split(": ");',
    'if (error === "Its caller was cancelled.") return;',
    'return error.includes("Nothing happened for");',
    "return /^Its caller was (?:cancelled|ended)\\.$/.test(reason);",
    "const { 1: ms } = /^Nothing happened for (\\d+)/.exec(text) ?? [];",
  ]) {
    expect({ text, said: check(text) }).toEqual({
      text,
      said: expect.stringMatching(/^src\/delegations\/replay\/x\.ts decides by a sentence/),
    });
  }
});

test("codes, other texts and comments are not meant, nor tests and the reader of old sentences", () => {
  for (const text of [
    'if (payload.cause.code === "caller_cancelled") return;',
    'if (payload.reason === "budget") return;',
    'if (text.startsWith("/")) return;',
    'if (error.message.includes("no such table")) return;',
    "// It was error.startsWith once: Its caller was cancelled.",
    "show(payload.error, payload.reason);",
  ]) {
    expect({ text, said: check(text) }).toEqual({ text, said: "" });
  }
  const matching = 'if (payload.error === "Its caller was cancelled.") return;';
  expect(check(matching, "src/events/upcast.ts")).toBe("");
  expect(check(matching, "src/delegations/replay/x.test.ts")).toBe("");
});
