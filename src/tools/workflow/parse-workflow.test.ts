import { expect, test } from "vitest";
import { conformance } from "./conformance.test-support.ts";
import { describeProblem, type ParseOptions, parseWorkflow } from "./parse-workflow.ts";

const head = "export const meta = { name: 'm', description: 'd' }\n";

function problemOf(source: string, options?: ParseOptions): string | undefined {
  const parsed = parseWorkflow(source, options);
  return "problem" in parsed ? describeProblem("x.js", parsed.problem) : undefined;
}

test.each(conformance.parse)("the script $id is $original, as by the original", (one) => {
  const problem = problemOf(one.script, { isInline: true });
  expect(problem === undefined ? "accepted" : "refused", problem).toBe(one.original);
});

test("a refusal names the line and the column, and points at them", () => {
  expect(problemOf(`${head}const x: string = 1`)).toBe(
    [
      "x.js:2:8: Unexpected token. A workflow is plain JavaScript, without types.",
      "  const x: string = 1",
      "         ^",
    ].join("\n"),
  );
  expect(problemOf(`// about\n\nfoo()\n${head}`)).toContain("x.js:3:1: The first statement");
  expect(problemOf(`${head}${"x".repeat(400)}; new Date()`)).toMatch(
    /^x\.js:2:403: .*\n.{1,170}\n/,
  );
});

test("a file may have Windows line ends, and an inline script may not", () => {
  const script = head.replaceAll("\n", "\r\n");
  expect(problemOf(script)).toBeUndefined();
  expect(problemOf(script, { isInline: true })).toContain("no control characters");
});

test("the body keeps its lines and columns, and has no meta", () => {
  const parsed = parseWorkflow(`#!/usr/bin/env node\n/* x */ ${head}return 1`);
  expect(parsed).toMatchObject({ body: expect.stringMatching(/^ {19}\n\/\* x \*\/ +\nreturn 1$/) });
});

test("meta is read as data: phases leniently, name and description strictly", () => {
  const meta = `export const meta = { "name": \`m\`, description: "d", whenToUse: "w",
    phases: [{ title: "A", detail: "first", model: "fast" }, "B", { name: "C" }, 4], extra: [-1, null] }`;
  expect(parseWorkflow(meta)).toMatchObject({
    meta: {
      name: "m",
      description: "d",
      whenToUse: "w",
      phases: [{ title: "A", detail: "first", model: "fast" }, { title: "B" }],
    },
  });
  expect(problemOf("export const meta = { name: 5, description: 'd' }")).toContain("needs a name");
});

test("leniently, a description may be computed from literals and meta may come late", () => {
  const computed =
    "const a = 1\nexport const meta = { name: 'm', description: 'd' + 'e' + `f` }\nreturn meta.name";
  expect(problemOf(computed)).toContain("x.js:1:1");
  expect(parseWorkflow(computed, { isLenient: true })).toMatchObject({
    meta: { description: "def" },
    body: expect.stringContaining("       const meta ="),
  });
  const call = "export const meta = { name: 'm', description: f() }";
  expect(problemOf(call, { isLenient: true })).toContain("pure literal");
});

test("a script that is too long or nested too deep is refused", () => {
  expect(problemOf(head + " ".repeat(524_288))).toContain("longer than 524288");
  expect(problemOf(`${head}return ${"[".repeat(100_000)}`)).toBeDefined();
  const deep = `${head}return ${"!".repeat(3000)}1`;
  expect(problemOf(deep)).toBeUndefined();
});

test("what a module reads as code and a script as a comment is refused", () => {
  const hidden = `${head}const q = a <!--b /*\nhidden()\n//*/ ;`;
  expect(problemOf(hidden)).toContain("x.js:2:13: A workflow has no HTML comments");
  expect(
    problemOf(`${head}return \`<!-- \${1} -->\` + "<!--" + /<!--/.source // <!--`),
  ).toBeUndefined();
  expect(problemOf(`${head}for (let i = 3; i-->0;) log(i < !--i)`)).toBeUndefined();
});
