import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

export interface AgentFileSeed {
  readonly path: string;
  readonly text: string | Uint8Array;
}

function markdown(path: string, lines: string): AgentFileSeed {
  return {
    path,
    text: `---\nname: guard\ndescription: Looks after things\n${lines}---\n\nLook.\n`,
  };
}

/** A file of each format, with what restricts an agent there. */
export const ownSeeds: readonly AgentFileSeed[] = [
  markdown("profiles/own.md", "tools: [read_file, grep]\nlimits: { turns: 3 }\nscopes: []\n"),
  markdown(".claude/agents/a.md", "tools: Read, Grep\ndisallowedTools: Bash\nmodel: opus\n"),
  markdown(".claude/agents/b.md", "tools:\n  - Read\n  - 'Bash(git:*)'\npermissionMode: plan\n"),
  markdown(".opencode/agent/a.md", "permission:\n  edit: deny\n  bash:\n    '*': ask\n"),
  markdown(".gemini/agents/a.md", "tools: [read_file, grep_search]\nmax_turns: 5\n"),
  markdown(".cursor/agents/a.md", "readonly: true\nmodel: fast\n"),
  markdown("x/a.agent.md", "tools: ['search', 'read']\nagents: []\n"),
  markdown("x/a.chatmode.md", "tools: ['codebase', 'search']\n"),
  markdown(".pi/agents/a.md", "tools: read, bash\n"),
  markdown("skills/guard/SKILL.md", "allowed-tools: Read\n"),
  {
    path: ".codex/agents/a.toml",
    text: 'name = "guard"\ndescription = "Looks"\nsandbox_mode = "read-only"\ndeveloper_instructions = """\nLook.\n"""\n',
  },
  {
    path: ".kiro/agents/a.json",
    text: '{"name": "guard", "description": "Looks", "prompt": "Look.", "tools": ["fs_read"],\n "toolsSettings": {"fs_write": {"deniedPaths": ["secrets/**"]}}}',
  },
  {
    path: "opencode.json",
    text: '{\n  // a comment\n  "agent": {"guard": {"description": "Looks", "prompt": "Look.", "tools": {"bash": false}}},\n}',
  },
  {
    path: "modes/custom_modes.yaml",
    text: "customModes:\n  - slug: guard\n    name: Guard\n    roleDefinition: Look\n    groups: [read, [edit, {fileRegex: '\\.md$'}]]\n",
  },
  {
    path: "recipes/a.yaml",
    text: "version: 1.0.0\ntitle: Guard\ndescription: Looks\ninstructions: Look.\nextensions:\n  - type: builtin\n    name: developer\n    available_tools: [shell]\n",
  },
  {
    path: ".mcp.json",
    text: '{"mcpServers": {"files": {"command": "npx", "args": ["-y", "server"], "env": {"A": "$B"}}}}',
  },
];

const corpus = join(import.meta.dirname, "../../../../shared/corpora/agents");

/** Small files that people published, where the machine has them; else none. */
export function publicSeeds(): readonly AgentFileSeed[] {
  if (!existsSync(corpus)) return [];
  return globSync("**/*", { cwd: corpus })
    .filter((path) => {
      const stats = statSync(join(corpus, path), { throwIfNoEntry: false });
      return path.includes("/") && stats?.isFile() === true && stats.size < 6000;
    })
    .sort()
    .filter((_path, place) => place % 3 === 0)
    .map((path) => ({
      path: path.replaceAll(/(^|\/)dot-/g, "$1."),
      text: readFileSync(join(corpus, path)),
    }));
}

/** Words that mean something in one of the formats. */
export const agentWords: readonly string[] = [
  ...["tools", "tools:", "disallowedTools: ", "permission:\n", "permissionMode: ", "allowed-tools"],
  ...["deny", "allow", "ask", "Bash(", "Bash", "mcp__a__*", "*", "[]", "null", "readonly: "],
  ...["---\n", "---js\n", "+++\n", "name: ../../x\n", "system_prompt_file: ../../etc/passwd\n"],
  ...[
    "  - ",
    "\t",
    "model: ",
    "limits: ",
    "mayDelegate: ",
    "network: ",
    "workspace: ",
    "servers: ",
  ],
];
