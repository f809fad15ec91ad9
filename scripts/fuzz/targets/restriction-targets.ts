import assert from "node:assert/strict";
import fc from "fast-check";
import { findWider } from "../../../src/agents/foreign/authority-of.test-support.ts";
import { readAgentFile } from "../../../src/agents/foreign/read-agent-file.ts";
import { defineTarget } from "../target.ts";
import { TestFolder } from "../test-folder.ts";

interface Restricted {
  readonly path: string;
  readonly before: string;
  /** The key and its value, in which things happen. */
  readonly restriction: string;
  readonly after: string;
}

function markdown(path: string, restriction: string): Restricted {
  const before = "---\nname: guard\ndescription: Looks after things\n";
  return { path, before, restriction, after: "---\n\nLook.\n" };
}

function json(path: string, restriction: string): Restricted {
  const before = '{"name": "guard", "description": "Looks", "prompt": "Look.", ';
  return { path, before, restriction, after: "}" };
}

const restricted: readonly Restricted[] = [
  markdown(".claude/agents/a.md", "tools: Read, Grep\n"),
  markdown(".claude/agents/b.md", "tools: [Read, Grep]\n"),
  markdown(".claude/agents/c.md", "tools:\n  - Read\n  - Grep\n"),
  markdown(".claude/agents/d.md", "disallowedTools: Bash, Write\n"),
  markdown(".claude/agents/e.md", "disallowedTools:\n  - Bash\n  - Write\n"),
  markdown(".claude/agents/f.md", "permissionMode: plan\n"),
  markdown(".claude/agents/g.md", 'tools: "Bash(git:*), Read"\n'),
  markdown(".opencode/agent/a.md", "tools:\n  bash: false\n  write: false\n"),
  markdown(".opencode/agent/b.md", "permission:\n  edit: deny\n  bash: deny\n"),
  markdown(".gemini/agents/a.md", "tools: [read_file, grep_search]\n"),
  markdown(".cursor/agents/a.md", "readonly: true\n"),
  markdown("x/a.agent.md", "tools: ['search', 'read']\n"),
  markdown("profiles/a.md", "tools: [read_file]\nworkspace: { allowWrites: false }\n"),
  markdown("profiles/b.md", "toolRules: [{ tool: shell, action: deny }]\n"),
  markdown("profiles/c.md", "limits: { turns: 3, tokens: 500 }\nscopes: []\n"),
  json(".kiro/agents/a.json", '"tools": ["fs_read"]'),
  json(".kiro/agents/b.json", '"toolsSettings": {"fs_write": {"deniedPaths": ["secrets/**"]}}'),
];

/** Marks that mean nothing by themselves: who adds or loses one did not mean to allow anything. */
const marks = [
  ...[
    " ",
    "  ",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "'",
    '"',
    "[",
    "]",
    "{",
    "}",
    ":",
    ",",
    "-",
    "- ",
    "|",
    ">",
  ],
  ...[
    "&",
    "!",
    "%",
    "@",
    "`",
    "?",
    "\\",
    "\0",
    "\u200b",
    "\u00a0",
    "\ufeff",
    "\u2028",
    "=",
    ";",
    "+",
  ],
];

const edit = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  mark: fc.constantFrom(...marks),
  does: fc.constantFrom("insert", "insert", "remove", "replace"),
});

export const restrictions = defineTarget({
  name: "restrictions",
  surface: "profiles",
  promise: "no slip in the marks of a restriction allows more than the restriction did",
  cases: 300,
  open() {
    const folder = new TestFolder();
    const read = ({ path }: Restricted, text: string) => readAgentFile(folder.write(path, text));
    const held = new Map(
      restricted.map((file) => {
        const [agent] = read(file, file.before + file.restriction + file.after).agents;
        assert.ok(agent, `${file.path} does not load`);
        return [file.path, agent.fields];
      }),
    );
    return {
      inputs: fc.record({
        place: fc.nat(restricted.length - 1),
        edits: fc.array(edit, { minLength: 1, maxLength: 2 }),
      }),
      check({ edits, place }) {
        const file = restricted[place];
        const outer = file && held.get(file.path);
        if (file === undefined || outer === undefined) return;
        const text = file.before + edits.reduce(apply, file.restriction) + file.after;
        for (const { fields } of read(file, text).agents) {
          assert.deepEqual(findWider(fields, outer).slice(0, 3), [], `${file.path}:\n${text}`);
        }
      },
      close: () => folder[Symbol.dispose](),
    };
  },
});

function apply(
  text: string,
  { at, does, mark }: { at: number; does: string; mark: string },
): string {
  const place = Math.floor(at * text.length);
  // A word with something in it is another word: near misses of keys have tests of their own.
  if (/\w\w/.test(text.slice(place - 1, place + 1))) return text;
  if (does === "insert") return text.slice(0, place) + mark + text.slice(place);
  // Letters and patterns are what somebody says; only what is between them can be a slip.
  if (/[\w*/.()]/.test(text[place] ?? "")) return text;
  return text.slice(0, place) + (does === "replace" ? mark : "") + text.slice(place + 1);
}
