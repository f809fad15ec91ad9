import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { displayWidth } from "../../cli/display-width.ts";
import { coloured, plain } from "../chat-state.test-support.ts";
import type { Entry } from "../entry.ts";
import { drawApart } from "./draw-entry.ts";
import { drawPatch } from "./draw-patch.ts";

function entriesWith(text: string): readonly Entry[] {
  return [
    { kind: "person", text },
    { kind: "agent", who: text, text },
    { kind: "agent", who: text, text, from: { at: 5, opening: "```\n", hasGap: true } },
    { kind: "line", mark: "done", who: text, text, detail: text, patch: `@@ ${text}\n+${text}` },
    { kind: "patch", text: `diff --git a/${text} b/${text}\n@@\n-${text}` },
    { kind: "page", text },
    { kind: "output", command: text, text, code: 1 },
    { kind: "question", who: text, text, answer: text },
    { kind: "question", who: text, text, answer: null },
    { kind: "remark", from: text, severity: "warn", text },
    { kind: "reply", command: text, ok: false, text },
    { kind: "note", tone: "bad", text },
    { kind: "rule", text },
  ];
}

const hostile = fc.array(
  fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 30 }),
    fc.constantFrom(
      "\u001b[2J",
      "\u001b]0;x\u0007",
      "\u202e",
      "\u009b31m",
      "\r",
      "\t",
      "**",
      "`",
      "```\n",
      "日本",
    ),
  ),
  { maxLength: 12 },
);

test("Whatever a text holds, nothing but colours is left for the terminal to obey", () => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  const colours = /\u001b\[\d+m/g;
  fc.assert(
    fc.property(hostile, fc.integer({ min: 20, max: 100 }), (pieces, columns) => {
      for (const entry of entriesWith(pieces.join(""))) {
        for (const line of drawApart(entry, undefined, columns, coloured)) {
          expect(line.replaceAll(colours, "")).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
          expect(displayWidth(stripVTControlCharacters(line))).toBeLessThan(columns);
        }
      }
    }),
  );
});

test("Without colour there is no escape sequence at all, and without Unicode no drawn mark", () => {
  for (const entry of entriesWith("plain **words** and `code`")) {
    const drawn = drawApart(entry, undefined, 60, plain).join("\n");
    expect(drawn).not.toContain("\u001b");
    expect(drawn).toMatch(/^[\n\u0020-\u007e]*$/);
  }
});

test("A text of a megabyte is shown by its beginning, with how much is missing", () => {
  const long = { kind: "agent", who: "a", text: "word ".repeat(200_000) } as const;
  const lines = drawApart(long, undefined, 80, plain);
  expect(lines.length).toBeLessThan(1000);
  expect(lines.at(-1)).toContain("more characters");
});

test("The headline of a diff is the whole name of the file, whatever stands in it", () => {
  const headlineOf = (names: string) =>
    stripVTControlCharacters(
      drawPatch(`diff --git ${names}\n--- x\n+++ y\n@@ -1 +1 @@\n-a`, 80, plain)[0] ?? "",
    );
  expect(headlineOf("a/hook b/README.md b/hook b/README.md")).toBe("hook b/README.md");
  expect(headlineOf("a/src/old.ts b/src/new.ts")).toBe("a/src/old.ts b/src/new.ts");
});

test("a patch hides no line of the text around it", () => {
  const hidden = ["--- rm -rf build", "+++ then publish", "index 0 of the list"];
  const text = ["What to do:", ...hidden, "diff --git a/x b/x", "index 1..2", "--- a/x", "+++ b/x"];
  const drawn = drawPatch(
    [...text, "@@ -1 +1 @@", "-old", "+new", ...hidden].join("\n"),
    80,
    plain,
  );
  for (const line of hidden) expect(drawn.filter((one) => one === line)).not.toEqual([]);
  expect(drawn.filter((line) => line.endsWith("a/x") || line.endsWith("b/x"))).toEqual([]);
  expect(drawn).toContain("-old");
});
