import fc from "fast-check";
import { expect, test } from "vitest";
import { stripTerminalCodes } from "../../../ports/visible-text.ts";
import { displayWidth } from "../display-width.ts";
import { opensLinks, styleFor } from "../style.ts";
import { type MarkdownLook, renderMarkdown } from "./render-markdown.ts";
import { drawPart, finishedParts, type Progress, streamStart } from "./stream-markdown.ts";

const writer = { isTerminal: true, columns: 80, rows: 24, write() {}, writeExact() {} };
const plain = styleFor(writer, { environment: { NO_COLOR: "1" } });
const coloured = styleFor(writer, { environment: {} });
const draw = (text: string, columns = 40) => renderMarkdown(text, { columns, style: plain });

const document = `# Tides

Water **rises** and *falls* with the \`moon\`, see [the tables](docs/tides.md).
A second line.

1. one
2. two
   - [x] inner
   - \`\`\`ts
     const a = 1;

     const b = 2;
     \`\`\`
3. three

> A quotation that is too long for one line
> 1. of it

| Port | Height | Remark |
|:--|--:|:-:|
| 横浜 | 1.9 | a remark that is wrapped in its column |
| Brest | 12 | – |

* loose

* list

~~~
code

  more
~~~

---
End.
`;

test("Headings, lists, quotations, tables and code are drawn in the columns that there are", () => {
  expect(draw(document)).toEqual([
    "# Tides",
    "",
    "Water rises and falls with the `moon`,",
    "see the tables (docs/tides.md).",
    "A second line.",
    "",
    "1. one",
    "2. two",
    "   ☑ inner",
    "   •   const a = 1;",
    "",
    "       const b = 2;",
    "3. three",
    "",
    "│ A quotation that is too long for one",
    "│ line",
    "│",
    "│ 1. of it",
    "",
    "Port  │ Height │         Remark",
    "──────┼────────┼────────────────────────",
    "横浜  │    1.9 │    a remark that is",
    "      │        │  wrapped in its column",
    "──────┼────────┼────────────────────────",
    "Brest │     12 │            –",
    "",
    "• loose",
    "",
    "• list",
    "",
    "  code",
    "",
    "    more",
    "",
    "─".repeat(40),
    "",
    "End.",
  ]);
  expect(draw("|a|b|c|d|\n|-|-|-|-|\n|1|2|3|4|", 20)).toEqual(["a: 1", "b: 2", "c: 3", "d: 4"]);
});

test("Code is coloured by its language, differences line by line", () => {
  const lines = renderMarkdown('```ts\nreturn "a"; // 1\n```\n```diff\n-a\n+b\n```', {
    columns: 80,
    style: coloured,
  });
  expect(lines).toEqual([
    '  \u001b[36mreturn\u001b[39m \u001b[32m"a"\u001b[39m; \u001b[2m// 1\u001b[22m',
    "",
    "  \u001b[31m-a\u001b[39m",
    "  \u001b[32m+b\u001b[39m",
  ]);
});

test("The address of a link is shown, unless the terminal opens it and the text names no other one", () => {
  const [line] = renderMarkdown("[text](https://a.example) [b.example](https://c.example)", {
    columns: 80,
    style: plain,
    hasLinks: true,
  });
  expect(line).toContain("\u001b]8;;https://a.example\u001b\\text\u001b]8;;");
  expect(stripTerminalCodes(line ?? "")).toBe("text b.example (https://c.example)");
  const disguised = "[](https://a.example) [bank．example](https://b.example)";
  expect(
    renderMarkdown(disguised, { columns: 80, style: plain, hasLinks: true })
      .map(stripTerminalCodes)
      .join(""),
  ).toContain("(https://a.example) bank．example (https://b.example)");
  expect(draw("[text](https://a.example)")).toEqual(["text (https://a.example)"]);
  expect(draw("[x](javascript:alert)")).toEqual(["[x](javascript:alert)"]);
  expect(opensLinks(writer, { environment: { TERM_PROGRAM: "WezTerm" } })).toBe(true);
  expect(opensLinks(writer, { environment: { TERM_PROGRAM: "WezTerm", TMUX: "1" } })).toBe(false);
  expect(opensLinks(writer, { environment: { TERM: "xterm-256color" } })).toBe(false);
});

test("Nothing is hidden: definitions, comments, tags and the deepest quotation are shown", () => {
  const text = '[a]: b "secret"\n\n<!-- comment -->\n\n<b hidden>tag</b>';
  expect(draw(text)).toEqual(text.split("\n"));
  expect(draw(`${">".repeat(150)} deep`).join("")).toContain("deep");
});

const hostile = fc
  .array(
    fc.constantFrom(
      ...[
        "\u001b]0;title\u0007",
        "\u001b[2J",
        "&#27;",
        "&#x202e;",
        "\u202e",
        "\r",
        "\n",
        "\n\n",
        "\t",
      ],
      ...[
        "- ",
        "1. ",
        "> ",
        "# ",
        "```",
        "~~~ts\n",
        "|",
        "|-|-|\n",
        "**",
        "_",
        "[",
        "](",
        ")",
        "<",
      ],
      ...["a", "word ", "横", "👩‍👩‍👧", "    ", "`", "x".repeat(90), "---\n", "[ ] "],
    ),
    { maxLength: 60 },
  )
  .map((parts) => parts.join(""));

test("No control sequence of a text reaches the terminal, and no line is wider than asked", () => {
  fc.assert(
    fc.property(hostile, fc.integer({ min: 4, max: 60 }), (text, columns) => {
      for (const line of renderMarkdown(text, { columns, style: plain, hasLinks: false })) {
        expect(line).not.toMatch(/[\p{Cc}\u202e]/u);
        expect(displayWidth(line)).toBeLessThanOrEqual(Math.max(columns, 12));
      }
    }),
    { seed: 14 },
  );
});

/** What was added to a text that grows: the lines that stay, and the rest as it is now. */
function grow(text: string, progress: Progress, look: MarkdownLook) {
  const parts = finishedParts(text, progress);
  const last = parts.at(-1)?.to ?? progress;
  return {
    finished: parts.flatMap(({ from, to }) => drawPart(text.slice(from.at, to.at), from, look)),
    open: drawPart(text.slice(last.at), last, look),
    progress: last,
  };
}

test("A text that grows is drawn as it is in the end, and finished lines never change", () => {
  const look = { columns: 40, style: plain };
  const lines: string[] = [];
  let progress = streamStart;
  let open: readonly string[] = [];
  const whole = draw(document);
  for (let length = 1; length <= document.length; length++) {
    const step = grow(document.slice(0, length), progress, look);
    lines.push(...step.finished);
    ({ open, progress } = step);
    expect(lines).toEqual(whole.slice(0, lines.length));
  }
  expect([...lines, ...open]).toEqual(whole);
  expect(lines.length).toBeGreaterThan(30);
});

test("Any text is finished piece by piece, however its blocks are open", () => {
  fc.assert(
    fc.property(hostile, fc.integer({ min: 1, max: 9 }), (piece, size) => {
      const look = { columns: 30, style: plain };
      const text = piece.repeat(size * 5);
      let progress = streamStart;
      for (let length = 0; length < text.length; length += size * 50) {
        const step = grow(text.slice(0, length), progress, look);
        expect(step.progress.at).toBeGreaterThanOrEqual(progress.at);
        progress = step.progress;
      }
    }),
    { seed: 14, numRuns: 40 },
  );
  for (const text of ["word ".repeat(20_000), "x".repeat(100_000), "a\n".repeat(50_000)]) {
    const { progress } = grow(text, streamStart, { columns: 80, style: plain });
    expect(text.length - progress.at).toBeLessThanOrEqual(8_000);
  }
});
