import assert from "node:assert/strict";
import fc from "fast-check";
import { diffLines } from "../../../dashboard/src/pages/agents/diff-lines.ts";
import { readRegistry, writeRegistry } from "../../../dashboard/src/pages/agents/registry-text.ts";
import { parseDiff } from "../../../dashboard/src/pages/delegation/changes/parse-diff.ts";
import { mentionAt, withMention } from "../../../dashboard/src/pages/runs/mention-at.ts";
import { parseStrictJson } from "../../../src/control/records/strict-json.ts";
import { parseJson } from "../../../src/ports/parse-json.ts";
import { fence, inline, inTag, quoteProse } from "../../../src/sessions/export-markdown.ts";
import { harmlessJson, harmlessLine, harmlessText } from "../../../src/sessions/harmless-text.ts";
import { readSse } from "../../../src/surfaces/client/follow-stream.ts";
import { assertShown } from "../expect-refusal.ts";
import { longText, nastyJson, nastyText } from "../hostile-text.ts";
import { mutated, mutatedText } from "../mutate-text.ts";
import { defineTarget } from "../target.ts";

const markup = [
  ...[
    "<img src=x onerror=alert(1)>",
    "<svg/onload=a>",
    "[a](javascript:x)",
    "![a](http://b)",
    "```",
  ],
  ...["````", "~~~", "# ", "> ", "</details>", "[a]: javascript:x", "&lt;", "| a |", "---", "$$"],
];
const prose = fc.oneof(
  nastyText,
  fc
    .array(fc.oneof(fc.constantFrom(...markup, "\n", " "), nastyText), { maxLength: 8 })
    .map((parts) => parts.join("")),
  longText,
);

export const pageTexts = defineTarget({
  name: "page-texts",
  surface: "page",
  promise: "texts of others stay in their place in pages and documents, and hide and start nothing",
  cases: 400,
  open: () => ({
    inputs: prose,
    check(text: string) {
      for (const shown of [harmlessText(text), harmlessLine(text, 80), inline(text), inTag(text)])
        assertShown(shown);
      assert.deepEqual(JSON.parse(harmlessJson({ text })), { text });
      assertShown(harmlessJson({ text }));
      assert.ok(!/[\n<>]/.test(inline(text)), inline(text));
      assert.ok(!/[\n<>]/.test(inTag(text)));
      for (const block of [fence(text), quoteProse(text)]) {
        assertShown(block);
        const [first = "", ...rest] = block.split("\n");
        if (block.startsWith(">"))
          assert.ok([first, ...rest].every((line) => line.startsWith(">")));
        else {
          const [mark = ""] = /^`+/.exec(first) ?? [];
          assert.ok(mark.length >= 3);
          const ends = rest.filter((line) =>
            new RegExp(`^ {0,3}\`{${mark.length},}\\s*$`).test(line),
          );
          assert.equal(ends.length, 1, "something in the text ends its block");
          assert.equal(rest.at(-1), mark);
        }
      }
    },
  }),
});

export const pageDiffs = defineTarget({
  name: "page-diffs",
  surface: "page",
  promise: "a patch is drawn to its end, and no line of a file passes for the head of another file",
  cases: 300,
  open: () => ({
    inputs: fc.oneof(
      mutatedText(
        [
          "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@ f\n a\n-b\n+diff --git a/y b/y\n+c\n\\ No newline at end of file\n",
        ],
        [
          "@@ -1 +1 @@\n",
          "@@ -0,0 +1,999999999999 @@\n",
          "diff --git ",
          "+",
          "-",
          " ",
          "Binary files ",
        ],
      ),
      fc.array(fc.string({ maxLength: 20 })).map((lines) => lines.join("\n")),
    ),
    check(text: string) {
      const sections = parseDiff(text);
      const heads = text.split("\n").filter((line) => line.startsWith("diff --git "));
      assert.ok(sections.length <= heads.length);
      const both = diffLines(text.slice(0, 2000), text.slice(0, 3000));
      const mine = both.filter(({ side }) => side !== "theirs").map((line) => line.text);
      assert.equal(mine.join("\n"), text.slice(0, 3000));
    },
  }),
});

export const pageRegistry = defineTarget({
  name: "page-registry",
  surface: "page",
  promise: "the editor of the page takes for JSON what the server does, and what it shows is saved",
  cases: 400,
  open: () => ({
    inputs: fc.oneof(
      nastyJson.map((value) => JSON.stringify(value)),
      mutatedText(
        ['{"version":1,"agents":[{"agentId":"@a","tools":["x"]}]}'],
        ['"a":1,', "\\u0061", "1e5", "[[", "]]"],
      ),
      nastyText,
    ),
    check(text: string) {
      const read = readRegistry(text);
      const server = parseStrictJson(text, { bytes: 1_000_000, depth: 1e9 });
      if ("value" in read) {
        assert.ok("value" in server, "the page accepts what the server refuses");
        assert.deepEqual(read.value, server.value);
        const written = writeRegistry(read.value);
        assertShown(written);
        assert.deepEqual(parseJson(written), read.value);
      } else if ("value" in server) {
        const isObject = typeof server.value === "object" && server.value !== null;
        assert.ok(!isObject || Array.isArray(server.value), read.problem.message);
      }
      for (const caret of [0, 3, text.length]) {
        const mention = mentionAt(text, caret);
        if (mention) assert.ok(withMention(text, mention, "a b.txt").text.includes('@"a b.txt"'));
      }
    },
  }),
});

export const eventStreamReader = defineTarget({
  name: "event-stream-reader",
  surface: "page",
  promise:
    "a stream means the same however it is cut, and of a message that was cut nothing is told",
  cases: 300,
  open: () => ({
    inputs: fc.record({
      bytes: mutated(
        [
          'id: 1\nevent: run.started\ndata: {"a":1}\n\n: heartbeat\n\nid: 2\r\ndata: a\r\ndata: b\r\n\r\n',
          "data\rid:\r\r",
        ],
        ["data: ", "id: ", "event: ", "\n\n", "\r\r", ": ", "retry: 5\n"],
      ),
      cuts: fc.array(fc.nat(400), { maxLength: 8 }),
    }),
    async check({ bytes, cuts }) {
      const whole = await messagesOf([bytes]);
      const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)), bytes.length].sort(
        (a, b) => a - b,
      );
      const pieces = places.map((place, index) => bytes.subarray(places[index - 1] ?? 0, place));
      assert.deepEqual(await messagesOf(pieces), whole);
    },
  }),
});

async function messagesOf(pieces: readonly Uint8Array[]): Promise<readonly unknown[]> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
  const messages: unknown[] = [];
  for await (const message of readSse(body)) messages.push(message);
  return messages;
}
