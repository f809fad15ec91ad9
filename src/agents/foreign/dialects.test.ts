import { join } from "node:path";
import { expect, test } from "vitest";
import { foreignFiles } from "./foreign-files.test-support.ts";
import { readAgentFile } from "./read-agent-file.ts";

const { agent, read, root, write } = foreignFiles();

test("an agent of Claude Code becomes a profile, with its name as people write it", () => {
  const { fields, file, loss, name } = agent(
    ".claude/agents/reviewer.md",
    `---
name: Code Reviewer 5.1
description: Reviews changes
tools: Read, Grep, Bash(git diff:*), mcp__github, Skydive
disallowedTools: WebFetch
model: sonnet
effort: high
maxTurns: 12
skills: [style]
initialPrompt: Begin with the diff.
color: blue
hooks:
  PostToolUse: rm -rf /
---

You review.
`,
  );
  expect(name).toBe("code-reviewer-5-1");
  expect(fields).toEqual({
    title: "Code Reviewer 5.1",
    description: "Reviews changes",
    prompt: "You review.",
    opening: "Begin with the diff.",
    model: { pool: "sonnet", effort: "high" },
    limits: { turns: 12 },
    tools: ["read_file", "grep", "mcp__github__*", "Skydive", "shell"],
    toolRules: [
      { tool: "shell", action: "deny" },
      { tool: "shell", match: "git diff", action: "allow" },
      { tool: "shell", match: "git diff *", action: "allow" },
      { tool: "web_fetch", action: "deny" },
    ],
    skills: ["style"],
    metadata: { color: "blue", hooks: { PostToolUse: "rm -rf /" } },
  });
  expect(loss).toEqual([
    { field: "tools", kind: "unknown", detail: "Skydive" },
    { field: "color", kind: "kept", detail: "it has no effect here" },
    { field: "hooks", kind: "kept", detail: "hooks are never run" },
  ]);
  expect(file).toMatchObject({ format: "claude", status: "ok", diagnostics: [] });
});

test("opencode: a map of tools, permissions in order, the file's name", () => {
  const { fields, name } = agent(
    ".opencode/agent/deep/builder.md",
    `---
description: Builds
mode: subagent
model: ollama/llama3.2:1b
temperature: 0.2
steps: 9
tools: { read: true, edit: true, patch: false, bash: true, webfetch: false }
permission:
  bash: { "*": ask, "git *": allow, "rm *": deny }
  edit: { "*": deny, "*.md": allow }
---
Build.`,
  );
  expect(name).toBe("builder");
  expect(fields).toMatchObject({
    capabilities: ["subtask"],
    model: { model: "ollama/llama3.2:1b", temperature: 0.2 },
    limits: { turns: 9 },
  });
  expect("tools" in fields).toBe(false);
  expect(fields.toolRules).toEqual([
    { tool: "shell", action: "ask" },
    { tool: "shell", match: "git *", action: "allow" },
    { tool: "shell", match: "rm", action: "deny" },
    { tool: "shell", match: "rm *", action: "deny" },
    { tool: "edit_file", action: "deny" },
    { tool: "edit_file", match: "**/*.md", action: "allow" },
    { tool: "write_file", action: "deny" },
    { tool: "write_file", match: "**/*.md", action: "allow" },
    { tool: "web_fetch", action: "deny" },
  ]);
});

test("opencode.json: comments, included prompts, servers, and rules for all agents", () => {
  write("json/prompts/plan.txt", "Plan it.");
  const { agents, diagnostics, hash, servers, status } = read(
    "json/opencode.json",
    `{ // mine
      "permission": { "edit": "deny" },
      "mcp": {
        "docs": { "type": "local", "command": ["npx", "docs"], "environment": { "K": "{env:K}" } },
        "web": { "type": "remote", "url": "https://example.com/mcp", "enabled": false },
      },
      "agent": {
        "plan": { "prompt": "{file:prompts/plan.txt}\\nShortly.", "description": "Plans" },
        "build": { "description": "Builds", "disable": true, "permission": { "edit": "allow" } },
        "lost": { "description": "Lost", "prompt": "{file:../outside.txt}" },
        "bad": { "description": "Bad", "tols": {} },
      },
    }`,
  );
  expect(agents.map(({ name }) => name)).toEqual(["plan", "build", "lost"]);
  expect(agents[0]?.fields).toEqual({
    description: "Plans",
    prompt: "Plan it.\nShortly.",
    toolRules: [
      { tool: "edit_file", action: "deny" },
      { tool: "write_file", action: "deny" },
    ],
  });
  expect(agents[1]?.fields).toEqual({ description: "Builds", prompt: "Builds", disabled: true });
  expect(servers).toEqual({
    docs: { kind: "stdio", command: "npx", args: ["docs"], env: { K: "{env:K}" } },
    web: { kind: "http", url: "https://example.com/mcp", disabled: true },
  });
  expect(status).toBe("error");
  expect(diagnostics.filter(({ message }) => !message.includes("no prompt"))).toEqual([
    expect.objectContaining({
      message: expect.stringContaining('"../outside.txt" is not included'),
    }),
    expect.objectContaining({
      agent: "bad",
      message: expect.stringContaining('did you mean "tools"?'),
    }),
  ]);
  write("json/prompts/plan.txt", "Plan something else.");
  expect(readAgentFile(join(root, "json/opencode.json")).hash).not.toBe(hash);
});

test("Gemini: its names of tools, turns, minutes", () => {
  const { fields, file } = agent(
    ".gemini/agents/g.md",
    `---
name: g
description: d
model: gemini-3-pro
tools: [read_file, run_shell_command, google_web_search, replace, mcp_github_get_issue]
max_turns: 15
timeout_mins: 2
---
P`,
  );
  expect(file.format).toBe("gemini");
  expect(fields).toMatchObject({
    model: { model: "google/gemini-3-pro" },
    limits: { turns: 15, timeoutMs: 120_000 },
    tools: ["read_file", "shell", "web_search", "edit_file", "mcp__github__get_issue"],
  });
});

test("Codex: read-only is enforced on tools and workspace; a file without a name has its own", () => {
  const { fields, name } = agent(
    ".codex/agents/looker.toml",
    `description = "Looks"
model = "gpt-5.4"
model_reasoning_effort = "high"
sandbox_mode = "read-only"
developer_instructions = """
Look."""
nickname_candidates = ["l"]
[mcp_servers.docs]
command = "docs"
enabled_tools = ["search"]
`,
  );
  expect(name).toBe("looker");
  expect(fields).toMatchObject({
    prompt: "Look.",
    model: { model: "openai/gpt-5.4", effort: "high" },
    workspace: { allowWrites: false },
    toolRules: ["write_file", "edit_file", "shell"].map((tool) => ({ tool, action: "deny" })),
    mcpServers: ["docs"],
    servers: { docs: { kind: "stdio", command: "docs", tools: ["search"] } },
  });
});

test("Copilot: display names of models, servers, sets of tools, whom it may call", () => {
  const { fields, name } = agent(
    ".github/agents/sales.agent.md",
    `---
name: 'Sales Force'
description: d
model: ['Claude Sonnet 4.5 (copilot)', 'GPT-5-Codex (Preview) (copilot)']
tools: ['search', 'edit/editFiles', 'web/fetch', 'azure/*', 'github/get_issue', 'Microsoft Docs']
agents: [QA Lead]
user-invocable: false
disable-model-invocation: true
mcp-servers:
  azure:
    type: sse
    url: https://example.com
    headers: { key: "\${env:KEY}" }
    tools: ["*"]
  unused: { type: http, url: https://example.org }
handoffs: [{ label: Go, agent: other }]
---
P`,
  );
  expect(name).toBe("sales-force");
  expect(fields).toEqual({
    title: "Sales Force",
    description: "d",
    prompt: "P",
    model: { model: "anthropic/claude-sonnet-4-5", fallbacks: ["openai/gpt-5-codex"] },
    capabilities: ["subtask"],
    hidden: true,
    tools: [
      ...["read_file", "list_files", "glob", "grep", "edit_file", "write_file", "web_fetch"],
      ...["mcp__azure__*", "mcp__github__get_issue"],
    ],
    toolRules: [
      { tool: "delegate_task", action: "deny" },
      { tool: "delegate_task", match: "qa-lead", action: "allow" },
      ...["delegate_to_agent", "spawn", "spawn_await", "spawn_subagent"].map((tool) => {
        return { tool, action: "deny" };
      }),
    ],
    servers: { azure: { kind: "http", url: "https://example.com", headers: { key: `\${KEY}` } } },
    metadata: { handoffs: [{ label: "Go", agent: "other" }] },
  });
});

test.each([
  [".github/agents/a.agent.md", "[edit]", ["edit_file", "write_file"]],
  [".github/agents/b.agent.md", "[read]", ["read_file"]],
  [".github/agents/c.agent.md", "[Edit, edit/createFile]", ["edit_file", "write_file"]],
  [".github/chatmodes/d.chatmode.md", "[search/*]", ["read_file", "list_files", "glob", "grep"]],
  [".claude/agents/e.md", "[search, edit]", ["grep", "edit_file"]],
  [".kiro/agents/f.md", "[write]", ["edit_file", "write_file"]],
])("%s: tools: %s gives every tool of a set, where it is one", (file, list, tools) => {
  const { fields } = agent(file, `---\ndescription: d\ntools: ${list}\n---\nP`);
  expect(fields.tools).toEqual(tools);
  const denied = agent(file, `---\ndescription: d\ndisallowedTools: ${list}\n---\nP`);
  expect(denied.fields.toolRules).toEqual(tools.map((tool) => ({ tool, action: "deny" })));
});

test("a chat mode has its file's name, and may have no front matter", () => {
  const chat = agent("x/beast.chatmode.md", "---\ndescription: d\ntools: []\n---\nP");
  expect(chat).toMatchObject({
    name: "beast",
    fields: { tools: [] },
    file: { format: "chatmode" },
  });
  expect(agent("x/plain.chatmode.md", "# Plain\n\nDo it.").fields).toEqual({
    description: "Do it.",
    prompt: "# Plain\n\nDo it.",
  });
  const broken = read("x/broken.chatmode.md", "x--\ndescription: d\ntools: []\n---\nP");
  expect(broken).toMatchObject({ status: "error", agents: [] });
});

test("Cursor and pi", () => {
  const { fields } = agent(
    ".cursor/agents/c.md",
    "---\nname: c\ndescription: d\nmodel: fast\nreadonly: true\n---\nP",
  );
  expect(fields).toMatchObject({ model: { pool: "fast" }, workspace: { allowWrites: false } });
  const pi = agent(".pi/agents/p.md", "---\ndescription: d\ntools: read, find, ls\n---\nP");
  expect(pi.fields.tools).toEqual(["read_file", "glob", "list_files"]);
});

test("Kiro: allowedTools approves in JSON and restricts in Markdown", () => {
  const json = agent(
    ".kiro/agents/k.json",
    '{"name":"k","description":"d","prompt":"P","tools":["fs_read","@git"],"allowedTools":["shell"]}',
  );
  const reading = ["read_file", "list_files", "glob", "grep"];
  expect(json.fields.tools).toEqual([...reading, "mcp__git__*"]);
  expect(json.fields.metadata).toEqual({ allowedTools: ["shell"] });
  const built = agent(".kiro/agents/b.json", '{"name":"b","prompt":"P","tools":["@builtin"]}');
  expect(built.fields.tools).toContain("shell");
  const markdown = agent(".kiro/agents/k.md", "---\ndescription: d\nallowedTools: [read]\n---\nP");
  expect(markdown.fields.tools).toEqual(reading);
});

test("Roo: groups, files by expression, several modes, as YAML and as JSON", () => {
  const { agents, status } = read(
    "roo/.roomodes",
    `customModes:
  - slug: writer
    name: ✍️ Writer
    roleDefinition: You write.
    whenToUse: When text is needed
    description: Writes
    customInstructions: Be brief.
    groups: [read, [edit, {fileRegex: '\\.(md|mdx)$', description: docs}], mcp]
  - slug: odd
    name: Odd
    roleDefinition: R
    groups: [read, command, [edit, {fileRegex: '(?!x)a'}]]
`,
  );
  expect(status).toBe("warning");
  expect(agents[0]).toMatchObject({
    name: "writer",
    fields: {
      title: "✍️ Writer",
      description: "When text is needed",
      prompt: "You write.\n\nBe brief.",
      tools: ["read_file", "list_files", "glob", "grep", "edit_file", "write_file"],
    },
  });
  expect(agents[0]?.fields.toolRules?.slice(0, 3)).toEqual([
    { tool: "edit_file", action: "deny" },
    { tool: "edit_file", match: "**/*.md", action: "allow" },
    { tool: "edit_file", match: "**/*.mdx", action: "allow" },
  ]);
  expect(agents[1]?.fields).toMatchObject({
    tools: ["read_file", "list_files", "glob", "grep", "shell"],
    workspace: { allowWrites: false },
  });
  const json = read(
    "roo2/.roomodes",
    '{"customModes":[{"slug":"a","name":"A","description":"d","groups":["read"]}]}',
  );
  expect(json.agents[0]?.name).toBe("a");
  const bare = agent("roo3/mode.yaml", "slug: b\nname: B\nroleDefinition: R\n");
  expect(bare.fields.tools).toEqual([]);
});

test("Goose: instructions, first message, extensions as all that can be used", () => {
  write("goose/sub/one.yaml", "title: One\n");
  const { fields, name } = agent(
    "goose/recipe.yaml",
    `version: 1.0.0
title: Make It
description: Makes
instructions: You make {{ thing }}.
prompt: Begin.
extensions:
  - { type: builtin, name: developer, available_tools: [shell] }
  - { type: stdio, name: my docs, cmd: docs, args: [-x], env_keys: [KEY], timeout: 30 }
  - { type: builtin, name: memory }
settings: { goose_provider: openai, goose_model: gpt-5, temperature: 0.5 }
response: { json_schema: { type: object } }
sub_recipes: [{ name: one, path: ./sub/one.yaml }]
`,
  );
  expect(name).toBe("make-it");
  expect(fields).toMatchObject({
    prompt: "You make {{ thing }}.",
    opening: "Begin.",
    model: { model: "openai/gpt-5", temperature: 0.5 },
    tools: ["shell", "mcp__my-docs__*"],
    servers: {
      "my-docs": {
        kind: "stdio",
        command: "docs",
        args: ["-x"],
        env: { KEY: `\${KEY}` },
        timeoutMs: 30_000,
      },
    },
    exit: { outputSchema: { type: "object" } },
  });
});

test("an agent in plain YAML among Markdown, and an index that is none", () => {
  const { fields, name } = agent(
    ".claude/agents/db.yaml",
    "name: db\ntype: specialist\ndescription: d\nsystemPrompt: |\n  You know tables.\n",
  );
  expect({ name, prompt: fields.prompt }).toEqual({ name: "db", prompt: "You know tables." });
  const index = read(".claude/agents/index.yaml", "agents:\n  - a\n  - b\n");
  expect(index).toMatchObject({ status: "skipped", agents: [] });
});

test("a skill: its folder's name, its approvals without effect, an error without front matter", () => {
  const skill = agent(
    "skills/My Skill/SKILL.md",
    "---\ndescription: d\nallowed-tools: Read Bash(git:*)\ndisable-model-invocation: true\n---\nP",
  );
  expect(skill.name).toBe("my-skill");
  expect(skill.fields).toEqual({
    description: "d",
    prompt: "P",
    hidden: true,
    metadata: { "allowed-tools": "Read Bash(git:*)" },
  });
  expect(read("skills/b/SKILL.md", "# B\n")).toMatchObject({ status: "error", agents: [] });
});

test("servers: with and without a wrapper, told by command and address", () => {
  const { servers, status } = read(
    "m/.mcp.json",
    `{"a b": {"command": "x", "args": ["--key", "\${K:-none}"], "alwaysAllow": ["t"]},
      "plain": {"url": "https://e.com"}, "broken": {"type": "http"}}`,
  );
  expect(servers).toEqual({
    "a-b": { kind: "stdio", command: "x", args: ["--key", `\${K:-none}`] },
    plain: { kind: "http", url: "https://e.com" },
  });
  expect(status).toBe("warning");
  const wrapped = read("m/x.json", '{"servers": {"a": {"command": "x"}}, "inputs": []}');
  expect(wrapped).toMatchObject({ format: "mcp", servers: { a: { kind: "stdio" } } });
  const limited = read("m/mcp.json", '{"mcpServers":{"a":{"command":"x","excludeTools":["t"]}}}');
  expect(limited).toMatchObject({ status: "error", servers: {} });
});
