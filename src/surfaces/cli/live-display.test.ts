import { stripVTControlCharacters } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Desk } from "./desk.test-support.ts";
import { Screen } from "./screen.test-support.ts";

let desk: Desk;

beforeEach(() => {
  desk = new Desk();
});

afterEach(() => desk.clear());

async function watch(playbook: string, columns: number, rows: number, environment = {}) {
  const file = desk.write("book.yaml", playbook);
  const { code, out, err } = await desk.type(["run", "--playbook", file, "The whole job"], {
    terminal: { columns, rows },
    environment,
  });
  const screen = new Screen(columns);
  screen.write(err);
  return { code, out, err, screen };
}

const family = `
version: 1
replies:
  - when: { profile: general, turn: 1 }
    latency_ms: 150
    calls:
      - { tool: delegate_task, input: { profile: researcher, task: "Read everything there is to read" } }
      - { tool: delegate_task, input: { profile: summarizer, task: "Say it shorter" } }
  - when: { profile: general }
    text: "Done."
  - when: { profile: researcher, turn: 1 }
    latency_ms: 150
    calls: [{ tool: write_file, input: { path: a, content: b } }]
  - { latency_ms: 150, text: "My part." }
`;

test("the tree is redrawn in place, and what matters stays above it", async () => {
  const { code, out, screen, err } = await watch(family, 80, 24);
  expect({ code, out }).toEqual({ code: 0, out: "Done.\n" });
  expect(err.split("The whole job").length).toBeGreaterThan(4);
  const text = screen.lines.join("\n");
  expect(text.split("The whole job")).toHaveLength(2);
  expect(text).toMatch(/write_file refused \(tool_not_granted\)[\s\S]*The whole job/);
  expect(text).toMatch(
    /✓ general .*\n├─ ✓ researcher .*done, 1 refused .*\n└─ ✓ summarizer .*done/,
  );
  expect(text).toMatch(/3 agents · [\d.]+k tokens · \$0 · \d:\d\d/);
});

test("a frame overwrites the one before: nothing is cleared from its first line on", async () => {
  const { err } = await watch(family, 80, 24);
  const frames = err.split("\u001b[?2026h").filter((frame) => frame.includes("The whole job"));
  expect(frames.length).toBeGreaterThan(2);
  for (const frame of frames) {
    expect(frame.indexOf("\u001b[J")).toBeGreaterThan(frame.indexOf("The whole job"));
    // However wide a terminal draws a letter, a line of the tree stays one.
    const [, tree = ""] = frame.split("\u001b[?7l");
    expect(tree).toContain("The whole job");
    expect(tree).toContain("\u001b[?7h");
  }
});

test.each([40, 80, 120])("no line is wider than %i columns", async (columns) => {
  const { err } = await watch(family, columns, 24, { NO_COLOR: "1" });
  const frames = err.split("\u001b[?2026l").filter((frame) => frame.includes("The whole job"));
  expect(frames.length).toBeGreaterThan(2);
  for (const frame of frames) {
    const [, tree = ""] = frame.split(/(?=r\w+ {2}The whole job)/);
    for (const line of stripVTControlCharacters(tree).split("\n")) {
      expect(line.length).toBeLessThan(columns);
    }
  }
});

test("NO_COLOR leaves no colours, and another locale no characters that it lacks", async () => {
  const { err } = await watch(family, 80, 24, { NO_COLOR: "1", LC_ALL: "C" });
  for (const code of [1, 2, 22, 31, 32, 33, 36, 39]) expect(err).not.toContain(`\u001b[${code}m`);
  expect(err).toMatch(/\|- \+ researcher/);
  expect([...err].filter((character) => character > "~")).toEqual([]);
});

test("a tree that is higher than the screen is cut, and says what is missing", async () => {
  const calls = Array.from(
    { length: 30 },
    (_each, index) =>
      `{ tool: delegate_task, input: { profile: summarizer, task: "Part ${index}" } }`,
  );
  const many = `
version: 1
replies:
  - { when: { profile: general, turn: 1 }, calls: [${calls.join(", ")}] }
  - { when: { profile: general }, text: "Done." }
  - { latency_ms: 60, text: "My part." }
`;
  const { screen, err } = await watch(many, 80, 12);
  expect(err).toMatch(/… and 2\d more \(\d+ ended, \d+ open\) · 31 agents/);
  const from = screen.lines.findIndex((line) => line.includes("The whole job"));
  const tree = screen.lines.slice(
    from,
    screen.lines.findLastIndex((line) => line.includes("agents")) + 1,
  );
  expect(tree.length).toBeLessThanOrEqual(12);
});
