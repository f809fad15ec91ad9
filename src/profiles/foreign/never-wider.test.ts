import fc from "fast-check";
import { expect, test } from "vitest";
import { parseMarkdownProfile } from "../parse-markdown-profile.ts";
import { findWider } from "./authority-of.test-support.ts";
import { foreignFiles } from "./foreign-files.test-support.ts";
import { readAgentFile } from "./read-agent-file.ts";
import { writeMarkdownProfile } from "./write-markdown-profile.ts";

const { read, write } = foreignFiles();

interface Restricted {
  readonly path: string;
  readonly before: string;
  /** `key` and what stands behind it, colon or equals sign included. */
  readonly key: string;
  readonly value: string;
  readonly after: string;
}

function markdown(path: string, key: string, value: string, more = ""): Restricted {
  const before = `---\nname: guard\ndescription: Looks after things\n${more}`;
  return { path, before, key, value, after: "model: opus\n---\n\nYou look after things.\n" };
}

const restricted: readonly Restricted[] = [
  markdown(".claude/agents/a.md", "tools", ": Read, Grep\n"),
  markdown(".claude/agents/b.md", "tools", ": [Read, Grep]\n"),
  markdown(".claude/agents/c.md", "tools", ":\n  - Read\n  - Grep\n"),
  markdown(".claude/agents/d.md", "tools", ': "Bash(git:*), Read"\n'),
  markdown(".claude/agents/e.md", "disallowedTools", ": Bash, Write\n"),
  markdown(".claude/agents/f.md", "permissionMode", ": plan\n"),
  markdown(".claude/agents/g.md", "allowed-tools", ": Read\n"),
  markdown(".claude/agents/h.md", "maxTurns", ": 5\n"),
  markdown(".claude/agents/i.md", "disallowedTools", ":\n  - Bash\n", "tools: Read, Bash\n"),
  markdown(".opencode/agent/a.md", "tools", ":\n  bash: false\n  write: false\n"),
  markdown(".opencode/agent/b.md", "permission", ":\n  edit: deny\n  bash:\n    '*': deny\n"),
  markdown(".opencode/agent/c.md", "tools", ": { read: true, bash: false }\n"),
  markdown(".gemini/agents/a.md", "tools", ": [read_file, grep_search]\n"),
  markdown(".cursor/agents/a.md", "readonly", ": true\n"),
  markdown("x/a.agent.md", "tools", ": ['search', 'read']\n"),
  markdown(".kiro/agents/a.md", "allowedTools", ":\n  - read\n"),
  {
    path: ".codex/agents/a.toml",
    before: 'name = "guard"\ndescription = "Looks"\n',
    key: "sandbox_mode",
    value: ' = "read-only"\n',
    after: 'developer_instructions = "Look."\n',
  },
  {
    path: "modes/custom_modes.yaml",
    before: "customModes:\n  - slug: guard\n    name: Guard\n    roleDefinition: Look\n    ",
    key: "groups",
    value: ": [read, [edit, {fileRegex: '\\.md$'}]]\n",
    after: "    description: Looks\n",
  },
  {
    path: ".kiro/agents/a.json",
    before: '{"name": "guard", "description": "Looks", "prompt": "Look.", "',
    key: "tools",
    value: '": ["fs_read"]',
    after: "}",
  },
];

/** The same with a description that is not YAML, so that all of it has to be repaired. */
function toBroken(file: Restricted): Restricted {
  return { ...file, before: file.before.replace("description: Looks", "description: Use: looks") };
}

type Parts = Pick<Restricted, "before" | "key" | "value" | "after">;
type Corruption = readonly [string, (parts: Restricted) => Parts];

const separator = /^["\s]*[:=]\s*/;

/** What happens to files: a slip of the hand, an editor, a model that wrote half of it. */
const corruptions: readonly Corruption[] = [
  ["no value", (file) => withValue(file, "")],
  ["null", (file) => withValue(file, "null")],
  ["an empty text", (file) => withValue(file, '""')],
  ["a number", (file) => withValue(file, "-7")],
  ["a map in its place", (file) => withValue(file, "{ a: { b: c } }")],
  ["undefined", (file) => withValue(file, "undefined")],
  ["a list of nothing", (file) => withValue(file, "[null]")],
  ["an open quote", (file) => withValue(file, `"${given(file)}`)],
  ["an open bracket", (file) => withValue(file, `[${given(file)}`)],
  ["a stray bracket", (file) => withValue(file, `${given(file)}]`)],
  ["no colon", (file) => ({ ...file, value: file.value.replace(/[:=]/, "") })],
  ["no space after the colon", (file) => ({ ...file, value: file.value.replace(/([:=]) /, "$1") })],
  ["two colons", (file) => ({ ...file, value: file.value.replace(/[:=]/, "$&$&") })],
  ["a letter too few", (file) => ({ ...file, key: file.key.slice(0, 2) + file.key.slice(3) })],
  ["a letter too many", (file) => ({ ...file, key: `${file.key}z` })],
  ["two letters swapped", (file) => ({ ...file, key: swap(file.key) })],
  ["capitals", (file) => ({ ...file, key: file.key.toUpperCase() })],
  ["one space before it", (file) => ({ ...file, key: ` ${file.key}` })],
  ["two spaces before it", (file) => ({ ...file, key: `  ${file.key}` })],
  ["a tab before it", (file) => ({ ...file, key: `\t${file.key}` })],
  ["below the front matter", (file) => ({ ...file, before: `${file.before}---\n` })],
  ["an unknown tag", (file) => withValue(file, `!!js/function ${given(file)}`)],
];

function given(file: Restricted): string {
  return file.value.replace(separator, "").trim();
}

function withValue(file: Restricted, value: string): Parts {
  const sign = separator.exec(file.value)?.[0].trimEnd() ?? ":";
  return { ...file, value: `${sign} ${value}${file.path.endsWith(".json") ? "" : "\n"}` };
}

function swap(key: string): string {
  return `${key[0]}${key[2]}${key[1]}${key.slice(3)}`;
}

function textOf({ before, key, value, after }: Parts): string {
  return before + key + value + after;
}

function intact(file: Restricted) {
  const [agent] = read(file.path, textOf(file)).agents;
  if (agent === undefined) throw new Error(`${file.path} does not load`);
  return agent.fields;
}

test("every file restricts something as it stands", () => {
  for (const file of restricted) {
    expect(findWider({}, intact(file)), file.path).not.toEqual([]);
  }
});

test.each(corruptions)("%s in place of a restriction gives nothing more", (what, corrupt) => {
  for (const file of [...restricted, ...restricted.map(toBroken)]) {
    const text = textOf(corrupt(file));
    const { agents, diagnostics } = read(file.path, text);
    const held = intact(file);
    for (const { fields } of agents) {
      expect(findWider(fields, held), `${file.path}, ${what}:\n${text}`).toEqual([]);
    }
    if (agents.length === 0) expect(diagnostics, text).not.toEqual([]);
  }
});

const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  fc
    .tuple(
      fc.constantFrom(...restricted.map(textOf)),
      fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.string({ maxLength: 6 }))),
    )
    .map(([text, changes]) => {
      let changed = text;
      for (const [at, piece] of changes) {
        const index = Math.floor(at * changed.length);
        changed = changed.slice(0, index) + piece + changed.slice(index + piece.length);
      }
      return Buffer.from(changed);
    }),
  fc
    .array(
      fc.constantFrom(
        ..."---|\n|tools|: |[|]|{|}|\"|'|&a |*a|!!js |<<: *a|__proto__: |\t|  |- |#|permission|name: x\n|description: |>\n|Bash(|)|mcp__|\0|\u2028".split(
          "|",
        ),
      ),
      { maxLength: 40 },
    )
    .map((pieces) => Buffer.from(pieces.join(""))),
);
const path = fc.constantFrom(...restricted.map((file) => file.path), "a.md", "a.yaml", "a.json");

test("whatever the bytes, a file is answered, and what it defines is a profile of ours", () => {
  fc.assert(
    fc.property(path, bytes, (where, content) => {
      const file = readAgentFile(write(`fuzz/${where}`, content));
      expect(["ok", "warning", "error", "skipped"]).toContain(file.status);
      if (file.status === "error") expect(file.diagnostics.length).toBeGreaterThan(0);
      for (const { name, fields } of file.agents) {
        const loaded = parseMarkdownProfile(writeMarkdownProfile(name, fields), "again.md");
        expect(loaded).toEqual({ name, fields });
      }
    }),
    { numRuns: 1500 },
  );
});
