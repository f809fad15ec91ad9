import fc from "fast-check";
import { expect, test } from "vitest";
import { MandateError } from "../../ports/mandate-error.ts";
import { cases } from "../../testing/cases.test-support.ts";
import { parseYaml } from "./read-yaml.ts";

function refusal(text: string, options?: Parameters<typeof parseYaml>[2]): string {
  try {
    parseYaml(text, "mandate.yaml", options);
  } catch (error) {
    expect(error).toBeInstanceOf(MandateError);
    return (error as MandateError).message;
  }
  throw new Error(`accepted: ${text.slice(0, 80)}`);
}

test("a document becomes plain data, and no is a word", () => {
  const text = 'a: no\nb: [1, 2.5, ~, true, "x"]\nc:\n  d: |\n    two\n    lines\n';
  const { value } = parseYaml(text, "f.yaml");
  expect(value).toEqual({ a: "no", b: [1, 2.5, null, true, "x"], c: { d: "two\nlines\n" } });
});

test("JSON, an empty file, a file of comments and a byte order mark are read", () => {
  expect(parseYaml('{"a": [1, {"b": "\\n"}]}', "f.json").value).toEqual({ a: [1, { b: "\n" }] });
  expect(parseYaml("", "f.yaml").value).toBeNull();
  expect(parseYaml("# nothing\n", "f.yaml").value).toBeNull();
  expect(parseYaml("\uFEFFa: 1\r\nb: 2\r\n", "f.yaml").value).toEqual({ a: 1, b: 2 });
});

test("a line is found for keys, items and what is missing below them", () => {
  const { lineOf } = parseYaml("a: 1\nb:\n  - c: 2\n    d: 3\n  - 4\n", "f.yaml");
  expect(lineOf(["a"])).toBe(1);
  expect(lineOf(["b", 0, "d"])).toBe(4);
  expect(lineOf(["b", 1])).toBe(5);
  expect(lineOf(["b", 0, "missing", "deeper"])).toBe(3);
  expect(lineOf([])).toBe(1);
});

test("front matter counts lines from where it begins in its file", () => {
  const { lineOf } = parseYaml("a: 1\nb: 2\n", "p.md", { firstLine: 2 });
  expect(lineOf(["b"])).toBe(3);
  expect(refusal("a: 1\na: 2\n", { firstLine: 2 })).toMatch(/^mandate\.yaml:3: /);
});

test("the caller chooses the code", () => {
  const read = () => parseYaml("a: [", "p.yaml", { code: "playbook-invalid" });
  expect(read).toThrow(expect.objectContaining({ code: "playbook-invalid" }));
  expect(() => parseYaml("a: [", "p")).toThrow(expect.objectContaining({ code: "config-invalid" }));
});

test.each([
  ["a duplicate key", "a: 1\na: 2", 2],
  ["a duplicate key of two types", "1: a\n'1': b", 2],
  ["an unknown tag", "a: 1\nb: !!js/function 'x'", 2],
  ["a binary", "a: !!binary aGk=", 1],
  ["a local tag", "a: !env HOME", 1],
  ["a merge key", "a: &x {b: 1}\nc:\n  <<: *x", 3],
  ["a prototype key", "a: 1\n__proto__: {b: 1}", 2],
  ["YAML 1.1", "%YAML 1.1\n---\na: no", 1],
  ["two documents", "a: 1\n---\nb: 2", 2],
  ["an alias without anchor", "a: 1\nb: *x", 2],
  ["a circle", "a: &a [*a]", 1],
  ["infinity", "a: .inf", 1],
  ["an overflowing number", "a: 1e999", 1],
  ["not a number", "a: .nan", 1],
  ["an integer that would lose digits", "a: 9007199254740993", 1],
  ["a complex key", "? [a]\n: 1", 1],
  ["a NUL", "a: 1\nb: \u0000", 2],
  ["a tab as indentation", "a:\n\tb: 1", 2],
  ["an unclosed bracket", "a: 1\nb: [1", 2],
  ["65 levels", "[".repeat(70) + "]".repeat(70), 1],
  ["100,000 brackets", "[".repeat(100_000), 1],
  ["more than a megabyte", `a: ${"x".repeat(1_000_001)}`, 1],
])("%s is refused with its line", (_, text, line) => {
  expect(refusal(text)).toMatch(new RegExp(`^mandate\\.yaml:${line}: .{8}`));
});

test("a few aliases are followed, a bomb is not", () => {
  expect(parseYaml("a: &x [1]\nb: *x", "f").value).toEqual({ a: [1], b: [1] });
  const levels = Array.from({ length: 9 }, (_, index) => {
    const previous = index === 0 ? '"lol"' : `*a${index - 1}`;
    return `a${index}: &a${index} [${Array.from({ length: 9 }, () => previous).join(", ")}]`;
  });
  expect(refusal(levels.join("\n"))).toContain("aliases");
});

test("whatever the text, it is read as plain data or refused with a line", () => {
  const piece = fc.constantFrom(
    ..."{}[]:,-?&*!|>'\"%@`#\n\t ~ab1.\\",
    "<<",
    "- ",
    ": ",
    "&a",
    "*a",
    "---",
  );
  const text = fc.oneof(
    fc.string(),
    fc.array(piece, { maxLength: 40 }).map((all) => all.join("")),
  );
  fc.assert(
    fc.property(text, (source) => {
      try {
        const { value } = parseYaml(source, "f");
        expect(JSON.parse(JSON.stringify({ value })).value).toEqual(value);
      } catch (error) {
        expect(error).toBeInstanceOf(MandateError);
        expect((error as MandateError).message).toMatch(/^f:\d+: /);
      }
    }),
    { numRuns: cases(2000) },
  );
});

test("a refusal quotes no more of the file than anybody reads", () => {
  expect(refusal(`%${"Y".repeat(100_000)}\n---\na: 1`).length).toBeLessThan(400);
  const key = "k".repeat(100_000);
  expect(refusal(`"${key}": 1\n"${key}": 2`).length).toBeLessThan(400);
});
