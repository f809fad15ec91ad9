import { expect, test } from "vitest";
import { z } from "zod";
import { describeProblem } from "./describe-problem.ts";
import { parseYaml } from "./read-yaml.ts";

const limits = z.strictObject({ maxDepth: z.number().int().min(0).optional() });
const schema = z.strictObject({
  name: z.string(),
  limits: limits.default({}),
  steps: z.array(z.union([z.string(), z.strictObject({ title: z.string() })])).optional(),
  mode: z.enum(["fast", "slow"]).optional(),
  servers: z.record(z.string(), z.strictObject({ url: z.string() })).optional(),
});

function problemsOf(text: string): string {
  const { value, lineOf } = parseYaml(text, "f.yaml");
  const result = schema.safeParse(value);
  if (result.success) throw new Error("accepted");
  return describeProblem(result.error, { file: "f.yaml", lineOf, schema });
}

test("an unknown key is named with its line and the nearest known key", () => {
  expect(problemsOf("name: a\nlimits:\n  maxDetph: 3\n")).toBe(
    'f.yaml:3: unknown key "maxDetph"; did you mean "maxDepth"?',
  );
  expect(problemsOf("name: a\nservers:\n  s:\n    url: x\n    ulr: y\n")).toBe(
    'f.yaml:5: unknown key "ulr"; did you mean "url"?',
  );
});

test("an unknown key near none lists the known ones", () => {
  expect(problemsOf("name: a\nlimits: {colour: 1}\n")).toBe(
    'f.yaml:2: unknown key "colour"; known are maxDepth',
  );
});

test("a wrong value is named by its path", () => {
  expect(problemsOf("name: a\nlimits:\n  maxDepth: deep\n")).toBe(
    "f.yaml:3: limits.maxDepth: expected number, received string",
  );
  expect(problemsOf("name: a\nmode: quick\n")).toBe(
    'f.yaml:2: mode: expected one of "fast"|"slow"',
  );
});

test("a missing key is called missing", () => {
  expect(problemsOf("limits: {}\n")).toBe('f.yaml:1: missing key "name"');
});

test("in a union the alternative that was meant is explained", () => {
  expect(problemsOf("name: a\nsteps:\n  - one\n  - titel: two\n    title: x\n")).toBe(
    'f.yaml:4: unknown key "titel"; did you mean "title"?',
  );
  expect(problemsOf("name: a\nsteps: [3]\n")).toBe("f.yaml:2: steps[0]: expected string or object");
});

test("problems come in the order of the file, and not more than ten", () => {
  const many = Array.from({ length: 12 }, (_, index) => `extra_number_${index}: 1`).join("\n");
  const lines = problemsOf(`${many}\nname: 3\n`).split("\n");
  expect(lines).toHaveLength(11);
  expect(lines[0]).toMatch(/^f\.yaml:1: /);
  expect(lines[10]).toBe("… and 3 more");
});
