import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { diffLines } from "../../dashboard/src/pages/agents/diff-lines.ts";
import { readFrontMatter } from "../../src/agents/documents/front-matter.ts";
import { readAgentFile } from "../../src/agents/foreign/read-agent-file.ts";
import { readJsonc } from "../../src/agents/foreign/read-data.ts";
import { parseCommand } from "../../src/application/commands/parse-command.ts";
import { matchGlob } from "../../src/contracts/judge-by-rules.ts";
import { recordText } from "../../src/events/record-change.ts";
import { parseJson } from "../../src/ports/parse-json.ts";
import { renderMarkdown } from "../../src/surfaces/cli/markdown/render-markdown.ts";
import { printable } from "../../src/surfaces/cli/printable.ts";
import { styleFor } from "../../src/surfaces/cli/style.ts";
import { verdictIn } from "../../src/tools/delegation/review.ts";
import { htmlToMarkdown } from "../../src/tools/documents/html-to-markdown.ts";
import { LinePattern } from "../../src/tools/files/pattern/line-pattern.ts";
import { cleanMemory, holdsSecret } from "../../src/tools/memory/clean-memory.ts";
import { isOwned } from "../../src/workspaces/git/integration/match-ownership.ts";
import { type Bar, growth, linear, ratio, worstGrowth, yardstick } from "./bar.ts";

/** Text of this length, or a little less. */
const filled = (part: string, length: number): string =>
  part.repeat(Math.floor(length / part.length));

const lines = (word: string, count: number): string =>
  Array.from({ length: count }, (_, index) => `${word}${index}`).join("\n");

const frontMatterKeys = { knownKeys: ["name", "description", "tools"], guardedKeys: ["tools"] };

/** Text from models, files and repositories, written to be slow to read. */
export const textBars: readonly Bar[] = [
  {
    name: "text: regular expressions that make others go back",
    ...linear,
    measure: () =>
      worstGrowth(
        ["(a*)*b", "(a|aa)+$", "(a|a?)+b", "^(([a-z])+.)+[A-Z]([a-z])+$", "(.*a){12}b"],
        25_000,
        (source, size) => {
          const matcher = new LinePattern(source, false);
          const text = "a".repeat(size);
          return () => matcher.test(text);
        },
      ),
  },
  {
    name: "text: Markdown for a terminal",
    ...linear,
    measure: () => {
      const writer = { isTerminal: true, columns: 80, rows: 24, write() {}, writeExact() {} };
      const look = { columns: 80, style: styleFor(writer, { environment: {} }) };
      return worstGrowth(
        ["> ", "- ", "[", "[a](", "*a **b ", "`a ``", "|a|\n|-|\n|b|\n", '```js\n"a', "x", "横"],
        10_000,
        (part, size) => () => renderMarkdown(filled(part, size), look),
      );
    },
  },
  {
    name: "text: globs of many stars in rules",
    ...linear,
    measure: () =>
      growth(1000, (size) => {
        const text = "a".repeat(size);
        return () => matchGlob(`${"*a".repeat(200)}*b*`, text);
      }),
  },
  {
    name: "text: ownership patterns of many stars",
    ...linear,
    measure: () =>
      growth(100, (size) => {
        const path = "a/".repeat(size).slice(0, -1);
        return () => isOwned([`${"**/a/".repeat(20)}b`], path);
      }),
  },
  {
    name: "text: front matter of anything",
    ...linear,
    measure: () =>
      worstGrowth(
        ["a: b\n", "\n", " ", "- ", "[", "'", "name: a: b\n", "tools\n", "---x\n", "{a: "],
        8 * 1024,
        (part, size) => {
          const text = filled(part, size);
          return () => {
            readFrontMatter(`---\n${text}\n---\n`, frontMatterKeys);
            readFrontMatter(`name: a\n${text}`, frontMatterKeys);
          };
        },
      ),
  },
  {
    name: "text: JSON with comments and keys that are there twice",
    ...linear,
    measure: () =>
      growth(10_000, (size) => {
        const text = `{${'"a": 1,\n'.repeat(size)}"b": 2}`;
        return () => readJsonc(text);
      }),
  },
  {
    name: "text: JSON with escaped keys",
    ...linear,
    measure: () =>
      worstGrowth(["wide", "deep"], 5000, (kind, size) => {
        const keys = Array.from({ length: size }, (_, at) => [`\n${at}`, '\\"']);
        const deep = `${'{"\\n":['.repeat(size)}${"]}".repeat(size)}`;
        const text = kind === "deep" ? deep : JSON.stringify(Object.fromEntries(keys));
        return () => parseJson(text);
      }),
  },
  {
    name: "text: a record that is too large is refused before it is written out",
    about: "8 times the size over 1 time",
    atMost: 3,
    measure: () =>
      growth(4 * 1024 * 1024, (size) => {
        const huge = "x".repeat(size);
        return () => refused(() => recordText("policy/a", [huge, huge]));
      }),
  },
  {
    name: "text: commands of blanks",
    ...linear,
    measure: () =>
      worstGrowth(
        ["/ ", "/agents ", "/agents list ", "/oracle ", "/oracle \n", "/agents show @w\n", "/a"],
        20_000,
        (start, size) => {
          const text = `${start}${(start.at(-1) ?? "").repeat(size)}x`;
          return () => parseCommand(text);
        },
      ),
  },
  {
    name: "text: secrets that nearly are some",
    ...linear,
    measure: () =>
      worstGrowth(
        [
          ...["sk-a-", "sk-", "eyJ", "eyJ.", "token = ", "://a:", "Bearer a", "Bearer ", "key=-"],
          ...[" ", "\t", "a-1-", "-----BEGIN ", "\u001b[1"],
        ],
        20_000,
        (part, size) => {
          const text = filled(part, size);
          return () => {
            holdsSecret(text, []);
            cleanMemory(`${text}x`);
          };
        },
      ),
  },
  {
    name: "text: terminal sequences that never close",
    ...linear,
    measure: () =>
      growth(20_000, (size) => {
        const text = "\u001b]".repeat(size);
        return () => printable(text);
      }),
  },
  {
    name: "text: the verdict of a large report",
    ...linear,
    measure: () =>
      growth(100_000, (size) => {
        const text = `${filled("verdict ", size)}\n${"*".repeat(size)}`;
        return () => verdictIn(text);
      }),
  },
  {
    name: "text: differences of long texts with nothing in common",
    ...linear,
    measure: () => growth(10_000, (size) => () => diffLines(lines("a", size), lines("b", size))),
  },
  {
    name: "text: differences of the longest texts that are compared line by line",
    about: "2,000 lines with nothing in common over 1,000 small JSON records",
    atMost: 250,
    measure: () => ratio(() => diffLines(lines("a", 2000), lines("b", 2000)), yardstick),
  },
  {
    name: "text: HTML of nested lists and many marks",
    ...linear,
    measure: () =>
      growth(1000, (size) => {
        const html = `${"<ul><li>".repeat(510)}${"<b>x</b> ".repeat(size)}`;
        return () => htmlToMarkdown(html, { isPlain: false });
      }),
  },
  {
    name: "text: an agent file",
    about: "reading the file over parsing its front matter",
    atMost: 16,
    measure() {
      const path = join(import.meta.dirname, "../../src/agents/shipped/reviewer.md");
      const [, yaml = ""] = readFileSync(path, "utf8").split("---\n");
      return ratio(
        () => readAgentFile(path),
        () => parse(yaml),
      );
    },
  },
];

function refused(work: () => unknown): void {
  try {
    work();
  } catch {
    return;
  }
  throw new Error("The work was not refused.");
}
