import fc from "fast-check";
import { expect, test } from "vitest";
import { cases } from "../../testing/cases.test-support.ts";
import { parseMarkdownProfile, writeMarkdownProfile } from "../profiles/profile-document.ts";
import { findWider, mayHaveChildren } from "./authority-of.test-support.ts";
import { foreignFiles } from "./foreign-files.test-support.ts";
import { readAgentFile } from "./read-agent-file.ts";

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
  const model = path.startsWith("profiles/") ? "a/b" : "opus";
  const after = `model: ${model}\n---\n\nYou look after things.\n`;
  return { path, before, key, value, after };
}

function codex(name: string, key: string, value: string): Restricted {
  const before = 'name = "guard"\ndescription = "Looks"\n';
  const after = 'developer_instructions = "Look."\n';
  return { path: `.codex/agents/${name}.toml`, before, key, value, after };
}

function kiro(name: string, start: string, key: string, value: string, after: string): Restricted {
  const before = `{"name": "guard", "description": "Looks", "prompt": "Look.", ${start}`;
  return { path: `.kiro/agents/${name}.json`, before, key, value, after };
}

function setting(tool: string): string {
  return `"toolsSettings": {"${tool}": {"`;
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
  markdown(".claude/agents/j.md", "disallowedTools", ": Task\n"),
  markdown(".claude/agents/k.md", "disallowedTools", ": [Agent]\n", "tools: Read, Task\n"),
  markdown(".claude/agents/l.md", "disallowedTools", ': "Agent(reviewer)"\n'),
  markdown(".claude/agents/m.md", "tools", ': "Agent(reviewer, planner), Read"\n'),
  markdown(".claude/agents/n.md", "permissionMode", ": dontAsk\n"),
  markdown(".opencode/agent/d.md", "permission", ":\n  task: deny\n"),
  markdown(".opencode/agent/e.md", "permission", ":\n  task: ask\n"),
  markdown(
    ".opencode/agent/f.md",
    "permission",
    ":\n  task:\n    '*': deny\n    reviewer: allow\n",
  ),
  markdown(".opencode/agent/g.md", "permission", ":\n  skill:\n    '*': deny\n    style: allow\n"),
  markdown(".opencode/agent/h.md", "tools", ": { task: false }\n"),
  markdown("x/b.agent.md", "agents", ": []\n"),
  markdown("x/c.agent.md", "agents", ": [reviewer]\n"),
  markdown(".gemini/agents/b.md", "tools", ": [read_file, mcp_github_*]\n"),
  ...["profiles/own", ".claude/agents/own", ".cursor/agents/own"].flatMap((path) => [
    markdown(`${path}-a.md`, "workspace", ": { allowWrites: false }\n"),
    markdown(`${path}-b.md`, "workspace", ":\n  allowWrites: false\n"),
    markdown(`${path}-c.md`, "limits", ": { turns: 3, tokens: 500 }\n"),
    markdown(`${path}-d.md`, "toolRules", ": [{ tool: shell, action: deny }]\n"),
    markdown(`${path}-e.md`, "maxTokenBudget", ": 500\n"),
    markdown(`${path}-f.md`, "scopes", ": []\n"),
    markdown(`${path}-g.md`, "network", ": [example.com]\n"),
    markdown(`${path}-h.md`, "mayDelegate", ": { tools: [] }\n"),
  ]),
  codex("a", "sandbox_mode", ' = "read-only"\n'),
  codex("b", "web_search", ' = "disabled"\n'),
  codex("c", "web_search", " = false\n"),
  kiro("b", '"', "toolsSettings", '": {"fs_write": {"deniedPaths": ["secrets/**"]}}', "}"),
  kiro("c", setting("fs_write"), "deniedPaths", '": ["secrets/**"]', "}}}"),
  kiro("d", setting("execute_bash"), "deniedCommands", '": ["rm .*"]', "}}}"),
  kiro("e", setting("fs_write"), "allowedPaths", '": ["docs/**"]', "}}}"),
  kiro("f", setting("shell"), "allowedCommands", '": ["git status", "npm .*"]', "}}}"),
  kiro("g", setting("fs_read"), "deniedPaths", '": ["secrets/**"]', "}}}"),
  {
    path: "profiles/own.json",
    before:
      '{"name": "guard", "description": "Looks", "prompt": "Look.", "limits": {"turns": 3}, "',
    key: "allowedTools",
    value: '": ["read_file"]',
    after: "}",
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

/** The file with a description that is not YAML, so that all of the front matter has to be repaired. */
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

test("whoever may not delegate cannot have children in any other way", () => {
  const forbidding = [
    markdown(".claude/agents/1.md", "disallowedTools", ": Task\n"),
    markdown(".claude/agents/2.md", "disallowedTools", ': "*"\n'),
    markdown(".opencode/agent/3.md", "permission", ": { task: deny }\n"),
    markdown(".opencode/agent/4.md", "tools", ": { task: false }\n"),
    markdown(".opencode/agent/5.md", "permission", ": { '*': deny, read: allow }\n"),
    markdown("x/6.agent.md", "agents", ": []\n"),
    markdown("x/7.agent.md", "tools", ": [read]\n"),
  ];
  for (const file of forbidding) {
    expect(mayHaveChildren(intact(file)), file.path).toBe("no");
  }
  const asking = markdown(".opencode/agent/8.md", "permission", ": { task: ask }\n");
  expect(mayHaveChildren(intact(asking))).toBe("ask");
  const allowing = markdown(".opencode/agent/9.md", "permission", ": { task: allow }\n");
  expect(intact(allowing).toolRules).toBeUndefined();
});

test("what two parts of a file say holds together, the stricter one for each call", () => {
  const both = (more: string, key: string, value: string) =>
    intact(markdown(".claude/agents/both.md", key, value, more));
  const hooked = both('disallowedTools: "Bash(rm:*)"\n', "hooks", ": { PreToolUse: [] }\n");
  expect(
    findWider(hooked, { toolRules: [{ tool: "shell", match: "rm*", action: "deny" }] }),
  ).toEqual([]);
  const asked = both(
    "capabilities: { restricted_tools: [Bash] }\n",
    "permission",
    ": { bash: ask }\n",
  );
  expect(findWider(asked, { toolRules: [{ tool: "shell", action: "deny" }] })).toEqual([]);
});

test.each(corruptions)("%s in place of a restriction gives nothing more", (what, corrupt) => {
  const files = restricted.flatMap((file) => [
    { file, held: intact(file) },
    { file: toBroken(file), held: intact(file) },
  ]);
  for (const { file, held } of files) {
    const text = textOf(corrupt(file));
    const { agents, diagnostics } = read(file.path, text);
    for (const { fields } of agents) {
      expect(findWider(fields, held).slice(0, 5), `${file.path}, ${what}:\n${text}`).toEqual([]);
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
    { numRuns: cases(1500) },
  );
});
