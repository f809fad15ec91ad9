import { expect, test } from "vitest";
import { judgeByRules } from "../../contracts/judge-by-rules.ts";
import { foreignFiles } from "./foreign-files.test-support.ts";

const { agent, read } = foreignFiles();

function claude(keys: string) {
  return agent(".claude/agents/x.md", `---\nname: x\ndescription: d\n${keys}\n---\nP`);
}

test.each<[string, string, readonly (readonly [string, string])[]]>([
  ["a matcher", "[{ matcher: Bash, hooks: [] }]", [["shell", "ask"]]],
  [
    "alternatives",
    "[{ matcher: 'Edit|Write' }, { matcher: mcp__git__.* }]",
    [
      ["edit_file", "ask"],
      ["write_file", "ask"],
      ["mcp__git__*", "ask"],
    ],
  ],
  ["no matcher", "[{ hooks: [] }]", [["*", "ask"]]],
  ["a star", "[{ matcher: '*' }]", [["*", "ask"]]],
  ["another expression", "[{ matcher: 'Ba.h' }]", [["*", "ask"]]],
  ["no list", "rm -rf /", [["*", "ask"]]],
])("a hook before tools with %s asks in its place", (_, value, expected) => {
  const { fields, file, loss } = claude(`hooks:\n  PreToolUse: ${value}`);
  expect(fields.toolRules?.map(({ action, tool }) => [tool, action])).toEqual(expected);
  expect(file.status).toBe("warning");
  expect(loss).toContainEqual(expect.objectContaining({ field: "hooks", kind: "narrowed" }));
  expect(fields.metadata).toHaveProperty("hooks");
});

test("hooks that cannot forbid a call are kept, and never run", () => {
  const { fields, file } = claude("hooks: { pre: echo, PostToolUse: [{ matcher: Bash }] }");
  expect(fields.toolRules).toBeUndefined();
  expect(file.status).toBe("ok");
});

test("a question from one part of a file does not lift what another denies", () => {
  const { fields } = claude(
    "tools: 'Read, Bash(git diff:*)'\nhooks: { PreToolUse: [{ matcher: Bash }] }",
  );
  expect(fields.toolRules).toEqual([
    { tool: "shell", action: "deny" },
    { tool: "shell", match: "git diff", action: "ask" },
    { tool: "shell", match: "git diff *", action: "ask" },
  ]);
});

test("a mode that only spares questions is kept and told of", () => {
  const { fields, loss } = claude("permissionMode: acceptEdits");
  expect(fields.metadata).toEqual({ permissionMode: "acceptEdits" });
  expect(loss).toEqual([expect.objectContaining({ field: "permissionMode", kind: "kept" })]);
  expect(claude("permissionMode: dontAsk").fields.workspace).toEqual({ allowWrites: false });
});

test("restrictions in our own words count in other programs' files", () => {
  const { fields } = claude(
    "workspace: { allowWrites: false }\nlimits: { max_budget_usd: 0.5, timeout_seconds: 300 }\n" +
      "maxTurns: 4\ntoolRules: [{ tool: shell, action: deny }]",
  );
  expect(fields).toMatchObject({
    workspace: { allowWrites: false },
    limits: { turns: 4, cost: 0.5, timeoutMs: 300_000 },
    toolRules: [{ tool: "shell", action: "deny" }],
  });
  expect(fields.metadata).toBeUndefined();
  const twice =
    "workspace: { checks: [make], approval: true }\n" +
    "Workspace: { checks: [make, lint], approval: false, allowWrites: false }";
  expect(claude(twice).fields.workspace).toEqual({
    ...{ checks: ["make", "lint"], approval: true, allowWrites: false },
  });
  for (const keys of ["workspace: read", "limits: { files: 3 }", "network: false", "exit: 7"]) {
    const file = read(".claude/agents/y.md", `---\nname: y\ndescription: d\n${keys}\n---\nP`);
    expect(file, keys).toMatchObject({ status: "error", agents: [] });
  }
});

test("our own format is known by its keys, also in JSON and YAML", () => {
  const own = [
    ["own/a.md", "---\nname: a\nworkspace: { allowWrites: false }\n---\nP"],
    ["own/w.md", "---\nname: w\nworkspace: { isolation: custom, folder: docs }\n---\nP"],
    ["own/x.md", "---\nname: x\nworkspace: { checks: [make], approval: true }\n---\nP"],
    ["own/b.md", "---\nname: b\ncapabilities: [primary]\n---\nP"],
    ["own/c.yaml", "name: c\nprompt: P\nlimits: { turns: 2 }\nallowedTools: [read_file]\n"],
    ["own/d.json", '{"name": "d", "prompt": "P", "model": {"pool": "x"}, "allowedTools": []}'],
    ["own/.mandate/agents/e.json", '{"name": "e", "prompt": "P"}'],
  ] as const;
  for (const [path, text] of own) {
    expect(agent(path, text).file, path).toMatchObject({ format: "mandate", loss: [] });
  }
  const other =
    "---\nname: o\ndescription: d\ncapabilities: [design]\ntriggers: { words: [x] }\n---\nP";
  expect(read("own/o.md", other).format).toBe("claude");
});

test.each([
  ["{ action: read, resource: '*', effect: allow }", "read_file", "allow"],
  ["{ action: read, resource: '*', effect: allow }", "shell", "none"],
  ["{ action: write, resource: 'docs/**', effect: Allow }", "write_file", "deny"],
  ["{ action: shell, resource: '*', effect: deny }", "shell", "none"],
  [
    "{ action: read, resource: 'src/**', effect: deny }, { action: read, effect: allow }",
    ...(["read_file", "deny"] as const),
  ],
  ["{ permission: bash, pattern: '*', action: ask }", "shell", "ask"],
  ["{ permission: bash, pattern: '*', action: ask }", "read_file", "allow"],
  ["{ tool: Edit, action: deny }", "write_file", "deny"],
])("permissions: [%s] gives %s: %s", (entry, tool, expected) => {
  const { fields } = agent(
    ".claude/agents/l.md",
    `---\nname: l\ndescription: d\npermissions: [${entry}]\n---\nP`,
  );
  const { toolRules = [], tools = "*" } = fields;
  const isGiven = tools === "*" || tools.includes(tool);
  const path = { kind: "path" as const, values: ["src/a.ts"] };
  expect(isGiven ? judgeByRules([toolRules], tool, path) : "none").toBe(expected);
});

test("permissions: an entry that is not understood refuses the agent", () => {
  for (const entry of [
    "deny",
    "{ action: read }",
    "{ effect: deny }",
    "{ action: Bsah, effect: deny }",
  ]) {
    const file = read(
      ".claude/agents/l.md",
      `---\nname: l\ndescription: d\npermissions: [${entry}]\n---\nP`,
    );
    expect(file, entry).toMatchObject({ status: "error", agents: [] });
  }
});

const codex = (text: string) => read(".codex/agents/c.toml", text);

test("Codex: the table [agent] is the agent, and no table drops a restriction", () => {
  const table = '[agent]\nname = "t"\ndescription = "d"\nsandbox_mode = "read-only"\n';
  const inside = codex(`${table}developer_instructions = "P"\n`);
  const beside = codex(`developer_instructions = "P"\n${table}`);
  for (const { agents } of [inside, beside]) {
    expect(agents).toMatchObject([
      { name: "t", fields: { prompt: "P", workspace: { allowWrites: false } } },
    ]);
  }
  const top = 'name = "t"\ndescription = "d"\ndeveloper_instructions = "P"\n';
  for (const lost of [
    `sandbox_mode = "workspace-write"\n${table}`,
    '[security]\nsandbox_mode = "read-only"\n',
    '[profiles.safe.inner]\ndisallowed_tools = ["shell"]\n',
    "[run]\nmax_turns = 3\n",
    "[[steps_of]]\npermission = 'deny'\n",
  ]) {
    expect(codex(top + lost), lost).toMatchObject({ status: "error", agents: [] });
  }
  expect(codex(`${top}[notes]\nauthor = "x"\n`).status).toBe("ok");
});

test("a timeout of an MCP server is in the unit of its program", () => {
  const server = (more: string) => `{"mcpServers": {"s": {"command": "x", "timeout": 60${more}}}}`;
  const timeoutOf = (path: string, more = "") => read(path, server(more)).servers["s"]?.timeoutMs;
  for (const path of [".roo/mcp.json", ".kilocode/mcp.json", "x/cline_mcp_settings.json"]) {
    expect(timeoutOf(`unit/${path}`), path).toBe(60_000);
  }
  expect(timeoutOf("unit/a/mcp.json", ', "alwaysAllow": []')).toBe(60_000);
  for (const path of [".mcp.json", ".cursor/mcp.json"]) expect(timeoutOf(`unit/${path}`)).toBe(60);
});

test("two spellings of one server in a file give the stricter one", () => {
  const text = '{"mcpServers": {"a b": {"command": "x", "tools": ["t"]}, "a-b": {"command": "x"}}}';
  expect(read("twice/.mcp.json", text)).toMatchObject({
    status: "warning",
    servers: { "a-b": { command: "x", tools: ["t"] } },
  });
});

function kiro(settings: string) {
  const text = `{"name":"k","description":"d","prompt":"P","toolsSettings":${settings}}`;
  return read(".kiro/agents/k.json", text);
}

test("Kiro: what settings deny is denied to every tool that does it", () => {
  const { agents } = kiro('{"fs_write": {"deniedPaths": ["secrets/**"]}}');
  expect(agents[0]?.fields.toolRules).toEqual([
    { tool: "edit_file", match: "secrets/**", action: "deny" },
    { tool: "write_file", match: "secrets/**", action: "deny" },
  ]);
  for (const value of ['"secrets"', "null", "7", "[7]", "{}"]) {
    const rules = kiro(`{"fs_write": {"deniedPaths": ${value}}}`).agents[0]?.fields.toolRules;
    expect(rules, value).toEqual([
      { tool: "edit_file", action: "deny" },
      { tool: "write_file", action: "deny" },
    ]);
  }
  for (const key of ["deniedPath", "denyPaths", "disallowedPaths", "deniedPats"]) {
    const file = kiro(`{"fs_write": {"${key}": ["secrets/**"]}}`);
    expect(file, key).toMatchObject({ status: "error", agents: [] });
  }
});

test("Kiro: what settings allow needs no question, and the rest is asked about or denied", () => {
  const rules = (settings: string) => kiro(settings).agents[0]?.fields.toolRules;
  expect(rules('{"shell": {"allowedCommands": ["git status", "npm .*", "a(b)"]}}')).toEqual([
    { tool: "shell", action: "ask" },
    { tool: "shell", match: "git status", action: "allow" },
    { tool: "shell", match: "npm *", action: "allow" },
  ]);
  expect(rules('{"shell": {"allowedCommands": ["ls"], "denyByDefault": true}}')).toEqual([
    { tool: "shell", action: "deny" },
    { tool: "shell", match: "ls", action: "allow" },
  ]);
  expect(rules('{"shell": {"denyByDefault": true}}')).toEqual([{ tool: "shell", action: "deny" }]);
});

test("Codex: a search that is off, skills as settings, a token from the environment", () => {
  const { fields, loss } = agent(
    ".codex/agents/c.toml",
    `name = "c"
description = "d"
developer_instructions = "P"
web_search = "disabled"
[[skills.config]]
path = "/x/skills/Old Way/SKILL.md"
enabled = false
[mcp_servers.docs]
url = "https://example.com/mcp"
bearer_token_env_var = "DOCS_TOKEN"
startup_timeout_sec = 20
tool_timeout_sec = 5
`,
  );
  expect(fields.toolRules).toEqual([
    { tool: "web_search", action: "deny" },
    { tool: "load_skill", match: "Old Way", action: "deny" },
    { tool: "load_skill", match: "old-way", action: "deny" },
  ]);
  expect("skills" in fields).toBe(false);
  expect(fields.servers).toEqual({
    docs: {
      kind: "http",
      url: "https://example.com/mcp",
      headers: { Authorization: `Bearer \${DOCS_TOKEN}` },
      timeoutMs: 5000,
    },
  });
  expect(fields.metadata).toMatchObject({ mcp_servers: { docs: { startup_timeout_sec: 20 } } });
  expect(loss.map(({ field }) => field)).toEqual([
    "mcp_servers.docs.startup_timeout_sec",
    "skills",
  ]);
});

test("opencode: what a map of tools does not name stays as it is", () => {
  const fields = (tools: string) =>
    agent(".opencode/agent/o.md", `---\ndescription: d\ntools: ${tools}\n---\nP`).fields;
  expect(fields("{ write: true }")).toEqual({ description: "d", prompt: "P" });
  expect(fields("{ read: true, write: false }")).toEqual({
    description: "d",
    prompt: "P",
    toolRules: ["edit_file", "write_file"].map((tool) => ({ tool, action: "deny" })),
  });
  expect(fields('{ "*": false, read: true }').tools).toEqual(["read_file"]);
  expect(fields("{ skill: false }").skills).toEqual([]);
});

test("opencode: exceptions that cannot be kept are told of, skills are told apart by name", () => {
  const { fields, loss } = agent(
    ".opencode/agent/p.md",
    `---
description: d
permission:
  task: { "*": deny, "orchestrator-*": allow }
  skill: { "*": deny, "Code Style": allow, "old-*": allow }
---
P`,
  );
  expect(fields.toolRules).toContainEqual({
    tool: "load_skill",
    match: "code-style",
    action: "allow",
  });
  expect(loss).toEqual([
    { field: "permission.task", kind: "narrowed", detail: "orchestrator-* is no exception here" },
    { field: "permission.skill", kind: "narrowed", detail: "old-* is no exception here" },
  ]);
});

test("Gemini: all tools of a server, and of all servers", () => {
  const gemini = (tools: string) =>
    agent(".gemini/agents/g.md", `---\nname: g\ndescription: d\ntools: ${tools}\n---\nP`).fields;
  expect(gemini("[read_file, mcp_github_*]").tools).toEqual(["read_file", "mcp__github__*"]);
  expect(gemini('[read_file, "mcp_*"]')).toMatchObject({ tools: ["read_file"], mcpServers: "*" });
  expect(claude('disallowedTools: "mcp_*"').fields.mcpServers).toEqual([]);
});

test("Roo: of two limits on a group both hold", () => {
  const groups = (value: string) =>
    agent("roo/mode.yaml", `slug: m\nname: M\nroleDefinition: R\ngroups: ${value}\n`);
  const limit = (expression: string) => `[edit, { fileRegex: '${expression}' }]`;
  const same = groups(`[${limit("\\.(md|txt)$")}, ${limit("\\.md$")}]`);
  expect(same.fields.toolRules?.flatMap(({ match }) => match ?? [])).toEqual([
    "**/*.md",
    "**/*.md",
  ]);
  const apart = groups(`[read, ${limit("\\.md$")}, ${limit("\\.txt$")}]`);
  expect(apart.fields.workspace).toEqual({ allowWrites: false });
  expect(apart.loss).toContainEqual(expect.objectContaining({ field: "groups", kind: "narrowed" }));
});

test("a list of tools none of which exists here is a warning that names near ones", () => {
  const near = claude("tools: Reed, Skydive").file;
  expect(near.diagnostics[0]?.message).toContain("none of the tools it names exists here");
  expect(near.diagnostics[0]?.message).toContain("did you mean read_file?");
  expect(claude("tools: Skydive, Read").file.status).toBe("ok");
});

test("what has no description takes it from its prompt, and what has neither is an error", () => {
  const text = (keys: string, body: string) => `---\nname: n\n${keys}---\n${body}`;
  const derived = agent(".claude/agents/n.md", text("", "# N\n\nYou do it. Always."));
  expect(derived.fields.description).toBe("You do it.");
  expect(derived.file.status).toBe("warning");
  const goose = agent("g/r.yaml", "title: Do It\nprompt: Do it now.\nextensions: []\n");
  expect(goose.fields).toMatchObject({ description: "Do it now.", prompt: "Do it now." });
  expect(goose.fields.opening).toBeUndefined();
  const empty = read(".claude/agents/n.md", text("", ""));
  expect(empty).toMatchObject({ status: "error", agents: [] });
});

test("settings of what cannot be a tool are refused, and so are rules for it", () => {
  const settings = '{"|fs_write": {"deniedPaths": ["secrets/**"]}}';
  const kiro = `{"name": "x", "description": "d", "prompt": "P", "toolsSettings": ${settings}}`;
  expect(read(".kiro/agents/x.json", kiro)).toMatchObject({ status: "error", agents: [] });
  const rules = "---\nname: x\ndescription: d\ntoolRules: [{ tool: shell&, action: deny }]\n---\nP";
  expect(read("profiles/x.md", rules)).toMatchObject({ status: "error", agents: [] });
});
