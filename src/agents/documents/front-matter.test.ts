import fc from "fast-check";
import { expect, test } from "vitest";
import { cases } from "../../testing/cases.test-support.ts";
import { readFrontMatter } from "./front-matter.ts";

const knownKeys = ["name", "description", "tools", "model", "tags", "hooks", "title", "color"];
const guardedKeys = ["tools", "disallowedTools"];

function read(text: string) {
  return readFrontMatter(text, { knownKeys, guardedKeys });
}

function errorOf(text: string): string {
  const { fields, problems } = read(text);
  expect(fields).toEqual({});
  const errors = problems.filter(({ severity }) => severity === "error");
  return errors.map(({ line, message }) => `${line}: ${message}`).join("\n");
}

test("front matter that is YAML is read as it stands, without a word", () => {
  const text = "---\nname: a\ntools: [x, y]\n---\n\nBody\n---\nmore";
  expect(read(text)).toMatchObject({
    isPresent: true,
    isRepaired: false,
    fields: { name: "a", tools: ["x", "y"] },
    body: "\nBody\n---\nmore",
    problems: [],
  });
  expect(read(text).lineOf("tools")).toBe(3);
});

test.each([
  ['>"Use it: when x"', "Use it: when x"],
  [">- 'Use it: when\n  it''s x'", "Use it: when\nit's x"],
  ['|"Use: it', "Use: it"],
  ["description: 'Use: it'", "Use: it"],
  ["\n  description: 'Use: it\n  now'", "Use: it\nnow"],
])("a repaired description has no marks of a second key or block: %j", (written, description) => {
  expect(read(`---\nname: a\ndescription: ${written}\n---\nB`).fields).toEqual({
    ...{ name: "a", description },
  });
});

test.each(["  tools: x, y\n", "    tools: x, y\n", "  tools:\n    - x\n    - y\n"])(
  "a key that a formatter indented below a list of texts is a key: %j",
  (written) => {
    const { fields } = read(`---\nname: a\ntags:\n  - one\n  - two\n${written}model: m\n---\nB`);
    expect(String(fields["tools"]).replace(" ", "")).toBe("x,y");
    expect(fields).toMatchObject({ name: "a", tags: ["one", "two"], model: "m" });
    expect(errorOf(`---\nname: a\ntags:\n  - one: 1\n  - "\n${written}---\nB`)).toContain("tools");
  },
);

test("a list of sentences in the body is prose, and a list of names is a misplaced restriction", () => {
  const body = (...items: string[]) =>
    `---\nname: a\n---\n\ntools:\n\n${items.map((item) => `- ${item}\n`).join("")}\nMore.`;
  expect(read(body("Use grep to find things.", "`glob`: by name")).problems).toEqual([]);
  for (const items of [["Read"], ["Read, Grep"], ["Bash(git diff)"], ["Use grep", "Read"]]) {
    expect(errorOf(body(...items)), items.join()).toContain('"tools" stands below the end');
  }
});

test("a byte order mark, other line ends and a lone one at the end make no difference", () => {
  const { body, fields, isRepaired } = read("\uFEFF---\r\nname: a\r\n---\r\nOne\r\nTwo\r");
  expect({ body, fields, isRepaired }).toEqual({
    body: "One\nTwo\n",
    fields: { name: "a" },
    isRepaired: false,
  });
});

test.each([
  ["a blank line first", "\n---\nname: a\ndescription: b\n---\nBody"],
  ["the whole file indented", "    ---\n    name: a\n    description: b\n    ---\n    Body"],
  ["closed by an underline", "---\nname: a\ndescription: b\n--------------\nBody"],
  ["closed by the first words of the body", "---\nname: a\ndescription: b\n---Body"],
  ["four dashes at the top", "----\nname: a\ndescription: b\n---\nBody"],
  ["an indented closing line", "---\nname: a\ndescription: b\n  ---\nBody"],
  ["no dashes at all", "name: a\ndescription: b\n\nBody"],
  ["no dashes before it", "name: a\ndescription: b\n---\nBody"],
  ["inside a code fence", "```markdown\n---\nname: a\ndescription: b\n---\nBody\n```"],
  ["a sentence before it", "Here you are:\n\n---\nname: a\ndescription: b\n---\nBody"],
])("%s is repaired, and said", (_, text) => {
  const { body, fields, isRepaired, problems } = read(text);
  expect(fields).toEqual({ name: "a", description: "b" });
  expect(body.trim()).toBe("Body");
  expect(isRepaired).toBe(true);
  expect(problems.every(({ line, severity }) => severity === "warning" && line > 0)).toBe(true);
});

test.each([
  ["an unquoted colon", "description: Use for: this", "Use for: this"],
  ["an apostrophe in single quotes", "description: 'What it's for'", "What it's for"],
  ["an open quote", "description: 'Half of it", "Half of it"],
  ["a closing quote on its own line", "description: 'Colon : here.\n'", "Colon : here."],
  ["an open bracket", "description: [Half of it", "[Half of it"],
  ["two characters for a line break", "description: One: a\\nTwo: b", "One: a\nTwo: b"],
  [
    "talk at the start of lines",
    'description: Use it. Examples:\n\n<example>\nuser: "Do"\nassistant: "Done"\nuser: "Again"',
    'Use it. Examples:\n\n<example>\nuser: "Do"\nassistant: "Done"\nuser: "Again"',
  ],
  [
    "indented talk",
    'description: Use it.\n  - <example>\n    user: "Do"\n    assistant: "Done"',
    'Use it.\n- <example>\n  user: "Do"\n  assistant: "Done"',
  ],
  ["text in another script after a break", "description: 使う\n\nとき。", "使う\n\nとき。"],
])("a description with %s is recovered whole", (_, line, description) => {
  const { fields, isRepaired } = read(`---\nname: a\n${line}\nmodel: m\ntools: [x]\n---\nBody`);
  expect(fields).toEqual({ name: "a", description, model: "m", tools: ["x"] });
  expect(isRepaired).toBe(true);
});

test("two characters for a line break stay where nothing had to be repaired", () => {
  expect(read("---\ndescription: a\\nb\n---\n").fields).toEqual({ description: "a\\nb" });
});

test("of two equal keys the last one counts, nested ones too, with a warning that names the line", () => {
  const { fields, problems } = read("---\nname: a\ntags:\n  x: 1\n  x: 2\nname: b\n---\n");
  expect(fields).toEqual({ name: "b", tags: { x: 2 } });
  expect(problems.map(({ line }) => line)).toEqual([5, 6]);
  const broken = read("---\nname: a\ndescription: x: y\nname: b\n---\n");
  expect(broken.fields).toEqual({ name: "b", description: "x: y" });
});

test("keys that are indented by one space are keys", () => {
  const text =
    "---\nname: a\nowner: me\n description: Do it: now\n model: m\n tags:\n   - t\n---\n";
  expect(read(text).fields).toEqual({
    name: "a",
    owner: "me",
    description: "Do it: now",
    model: "m",
    tags: ["t"],
  });
});

test("text that slipped into the front matter goes to the body, not into a name", () => {
  const { body, fields } = read("---\ndescription: |\nname: a\n**Steps: **\n1. One\n---\nBody");
  expect(fields).toEqual({ description: "", name: "a" });
  expect(body).toBe("**Steps: **\n1. One\n\nBody");
});

test("text of a shell that breaks its block leaves the keys around it alone", () => {
  const text = '---\nname: a\nhooks:\n  pre: |\n    python -c "\nimport os\n"\ncolor: red\n---\n';
  expect(read(text).fields).toMatchObject({ name: "a", color: "red" });
});

test.each([
  ["another language", "---js\n{ name: 'a' }\n---\n", /^1: .*--- alone/],
  ["no end", "---\nname: a\ndescription: b\n", /^1: .*not closed/],
  ["nothing in it", "---\n---\nname: a\n", /empty/],
  ["a list", "---\n- name: a\n- name: b\n---\n", /not a list of keys/],
  ["a prototype key", "---\nname: a: b\n__proto__: x\n---\n", /__proto__/],
])("%s is refused", (_, text, message) => {
  expect(errorOf(text)).toMatch(message);
});

test.each([
  ["without its colon", "---\nname: a\ndescription: b\ntools Read\n---\n", 4],
  ["indented into prose", "---\nname: a\ndescription: b\n  tools: Read\n---\n", 4],
  ["inside a block of text", "---\nname: a\ndescription: |\n  b\n  tools: Read\n---\n", 5],
  ["inside a map", "---\nname: a\ntags:\n  tools: Read\n---\n", 4],
  ["below the end", "---\nname: a\n---\ntools: Read\n---\n", 4],
  ["misspelt where all is repaired", "---\ndescription: a: b\ntoosl: Read\n---\n", 3],
])("a restriction %s is an error with its line", (_, text, line) => {
  expect(errorOf(text)).toMatch(new RegExp(`^${line}: .*tools`));
});

test("a second front matter is text, but what it restricts counts", () => {
  const { body, fields, problems } = read("---\nname: a\n---\n\n---\nname: b\ntools: x\n---\nBody");
  expect(fields).toEqual({ name: "a", tools: "x" });
  expect(body).toContain("name: b");
  expect(problems).toEqual([expect.objectContaining({ severity: "warning", line: 7 })]);
  expect(read("---\nname: a\n---\n---\nname: of a rule\n\nText").problems).toEqual([]);
  const own = read("---\ntools: y\n---\n---\ntools: x\n---\n");
  expect(own).toMatchObject({ fields: { tools: "y" }, problems: [] });
});

test("deep in a structure the same word means something else", () => {
  const text = "---\nname: a\ntags:\n  server:\n    tools: x\n---\n";
  expect(read(text).problems).toEqual([]);
});

test("a restriction that is there may be spoken of in prose", () => {
  const text = "---\ntools: Read\ndescription: |\n  Write\n  tools: Read\n---\n";
  expect(read(text)).toMatchObject({ isRepaired: false, fields: { tools: "Read" } });
});

test("an alias bomb and a tag of code become text, or nothing", () => {
  const levels = Array.from({ length: 9 }, (_, level) => {
    const before = level === 0 ? '"lol"' : `*a${level - 1}`;
    return `a${level}: &a${level} [${Array.from({ length: 9 }, () => before).join(", ")}]`;
  });
  const bomb = read(`---\nname: a\n${levels.join("\n")}\n---\n`);
  expect(JSON.stringify(bomb.fields).length).toBeLessThan(10_000);
  const tag = read('---\nname: a\ncolor: !!js/function "return 1"\n---\n');
  expect(tag.fields["color"]).toBe('!!js/function "return 1"');
});

test("a quarter of a megabyte of anything is answered", () => {
  const size = 256 * 1024;
  const texts = ["a: b\n", "\n", " ", "- ", "[", "'", "name: a: b\n", "tools\n", "---x\n", "{a: "];
  for (const text of texts) {
    const long = text.repeat(size / text.length);
    for (const whole of [`---\n${long}\n---\n`, `name: a\n${long}`]) {
      expect(typeof read(whole).fields, JSON.stringify(text)).toBe("object");
    }
  }
});

test("whatever the text, it is answered, and what it holds is plain", () => {
  const piece = fc.constantFrom(
    ...["---", "\n", ": ", "name", "description", "tools", "- ", "[", "]", "{", "}", "'", '"'],
    ...["|", ">", "  ", "\t", "#", "&a", "*a", "!!x ", "<<", "__proto__", "\uFEFF", "\r", "x"],
  );
  const text = fc.oneof(
    fc.string(),
    fc.array(piece, { maxLength: 30 }).map((all) => `---\n${all.join("")}\n---\nb`),
  );
  fc.assert(
    fc.property(text, (source) => {
      const { fields, problems } = read(source);
      expect(JSON.parse(JSON.stringify(fields))).toEqual(fields);
      expect(problems.every(({ line }) => line >= 1)).toBe(true);
    }),
    { numRuns: cases(2000) },
  );
});

test("a merge key is refused: what it brings may be a restriction", () => {
  const text = "---\nname: a\n<<: { tools: [Read] }\n---\nbody";
  const { fields, problems } = readFrontMatter(text, { knownKeys: ["name", "tools"] });
  expect(fields).toEqual({});
  expect(problems).toContainEqual(
    expect.objectContaining({ severity: "error", line: 3, message: expect.stringMatching(/<</) }),
  );
});

test("a restriction behind a stray mark is an error, and one that was taken out is not", () => {
  for (const mark of [
    "@",
    "!",
    "%",
    "= ",
    "?= ",
    ",",
    "{",
    ">",
    " >",
    "\u00a0= ",
    "\u2028= ",
    "\u200b",
  ]) {
    const text = `---\nname: a\ndescription: b\n${mark}tools: [x]\n---\nBody`;
    expect(errorOf(text), JSON.stringify(mark)).toMatch(/^\d+: .*"tools/);
  }
  for (const mark of ["# ", "#"]) {
    const text = `---\nname: a\ndescription: b\n${mark}tools: [x]\n---\nBody`;
    expect(read(text)).toMatchObject({ fields: { name: "a" }, problems: [] });
  }
});
