import fc from "fast-check";
import { expect, test } from "vitest";
import { judgeByRules, matchGlob } from "../../contracts/judge-by-rules.ts";
import { cases } from "../../testing/cases.test-support.ts";
import { ForeignSource } from "../profiles/foreign-source.ts";
import { foreignFiles } from "./foreign-files.test-support.ts";
import { readAgentFile } from "./read-agent-file.ts";
import { strictestAgent } from "./strictest-agent.ts";

const { read, root, write } = foreignFiles();

const agentText = (more = "") => `---\ndescription: d\nmode: subagent\n${more}---\nP`;

function ruling(folder: string, tool: string, value?: string) {
  const file = readAgentFile(`${root}/${folder}/.opencode/agent/a.md`, { root: `${root}/top` });
  const rules = file.agents[0]?.fields.toolRules ?? [];
  const subjects = value === undefined ? undefined : { kind: "text" as const, values: [value] };
  return judgeByRules([rules], tool, subjects);
}

test("a project's policy reaches the agents beside it, and theirs come after it", () => {
  write("top/opencode.json", '{"permission": {"webfetch": "deny", "bash": {"rm *": "deny"}}}');
  write(
    "top/in/opencode.jsonc",
    '{ // nearer\n"permission": {"edit": "ask"}, "tools": {"glob": false},}',
  );
  write("top/in/.opencode/agent/a.md", agentText('permission: { bash: { "git *": allow } }\n'));
  expect(ruling("top/in", "web_fetch")).toBe("deny");
  expect(ruling("top/in", "edit_file")).toBe("ask");
  expect(ruling("top/in", "write_file")).toBe("ask");
  expect(ruling("top/in", "glob")).toBe("deny");
  expect(ruling("top/in", "shell", "rm -rf x")).toBe("deny");
  expect(ruling("top/in", "shell", "git diff")).toBe("allow");
});

test("the entry of a configuration for an agent restricts the agent's file", () => {
  write("top/entry/opencode.json", '{"agent": {"a": {"disable": true, "tools": {"bash": false}}}}');
  const path = write("top/entry/.opencode/agent/a.md", agentText());
  const [agent] = readAgentFile(path, { root: `${root}/top` }).agents;
  expect(agent?.fields).toMatchObject({ disabled: true, prompt: "P" });
  expect(ruling("top/entry", "shell")).toBe("deny");
});

test.each(["[bash, read]", "bash, read", '"*"', "{ bash: true }"])(
  "what a configuration denies stays denied with tools: %s, unless a map allows it",
  (tools) => {
    write("denied/opencode.json", '{"tools": {"bash": false}}');
    const [agent] = read("denied/.opencode/agent/a.md", agentText(`tools: ${tools}\n`)).agents;
    const ruled = judgeByRules([agent?.fields.toolRules ?? []], "shell", undefined);
    expect(ruled).toBe(tools.startsWith("{") ? "allow" : "deny");
  },
);

test.each([
  ["{ write: false }", ["deny", "deny"]],
  ["{ edit: false }", ["deny", "deny"]],
  ["{ edit: true, write: false }", ["deny", "deny"]],
  ["{ write: false, edit: true }", ["allow", "deny"]],
])("opencode has one permission for all edits: %s", (tools, expected) => {
  const [agent] = read("edits/.opencode/agent/a.md", agentText(`tools: ${tools}\n`)).agents;
  const rules = agent?.fields.toolRules ?? [];
  expect(["edit_file", "write_file"].map((tool) => judgeByRules([rules], tool, undefined))).toEqual(
    expected,
  );
});

test.each([
  { permissions: { bash: "deny" } },
  { Permission: { bash: "deny" } },
  { tools: ["read"] },
  { disallowedTools: ["bash"] },
  { agents: { a: { tools: { bash: false } } } },
  { agent: { a: "x" } },
  { agent: { a: { tools: ["read"] } } },
  { mode: { a: { permissions: { bash: "deny" } } } },
])("opencode: %j is refused, for it restricts in no known form", (configuration) => {
  write("odd/opencode.json", JSON.stringify(configuration));
  const { agents, status } = read("odd/.opencode/agent/a.md", agentText());
  expect([agents, status]).toEqual([[], "error"]);
});

test("an agent has the restrictions of all its entries: as a mode, and by its nested name", () => {
  const deny = (tool: string) => ({ permission: { [tool]: "deny" } });
  const entries = { agent: { a: deny("bash"), "team/m": deny("bash") }, mode: { a: deny("edit") } };
  write("both/opencode.json", JSON.stringify(entries));
  const rulesOf = (path: string) => read(path, agentText()).agents[0]?.fields.toolRules;
  const shell = { tool: "shell", action: "deny" };
  expect(rulesOf("both/.opencode/agents/team/m.md")).toEqual([shell]);
  const all = [shell, ...["edit_file", "write_file"].map((tool) => ({ tool, action: "deny" }))];
  expect(rulesOf("both/.opencode/agent/a.md")).toEqual(all);
  const text = JSON.stringify({ ...entries, agent: { a: { ...deny("bash"), prompt: "P" } } });
  expect(read("modes/opencode.json", text).agents[0]?.fields.toolRules).toEqual(all);
});

test("a policy above applies to the configuration of a folder, and not above the project", () => {
  write("top/opencode.json", '{"permission": {"webfetch": "deny", "bash": {"rm *": "deny"}}}');
  const text = '{"agent": {"b": {"description": "d", "prompt": "P"}}}';
  const inside = readAgentFile(write("top/json/opencode.json", text), { root: `${root}/top` });
  expect(inside.agents[0]?.fields.toolRules).toContainEqual({ tool: "web_fetch", action: "deny" });
  expect(read("top/json/opencode.json", text).agents[0]?.fields.toolRules).toBeUndefined();
});

test("a policy that cannot be read refuses the agents that it may restrict", () => {
  write("broken/opencode.json", '{"permission": {');
  const { agents, diagnostics, status } = read("broken/.opencode/agent/a.md", agentText());
  expect([agents, status]).toEqual([[], "error"]);
  expect(diagnostics[0]?.message).toMatch(
    /opencode\.json can restrict this agent and cannot be read/,
  );
});

test("what the settings of Claude Code deny or ask about holds for the agents beside them", () => {
  const settings = { permissions: { deny: ["Bash(rm:*)", "Read(./.env)"], ask: ["WebFetch"] } };
  write("claude/.claude/settings.json", JSON.stringify({ ...settings, hooks: {} }));
  write(
    "claude/.claude/settings.local.json",
    '{"permissions": {"deny": ["mcp__db"], "allow": ["Bash"]}}',
  );
  const { agents } = read("claude/.claude/agents/c.md", "---\nname: c\ndescription: d\n---\nP");
  const rules = agents[0]?.fields.toolRules ?? [];
  const rulingOf = (tool: string, kind: "path" | "text", value: string) =>
    judgeByRules([rules], tool, { kind, values: [value] });
  for (const tool of ["grep", "glob", "list_files"]) {
    expect(rulingOf(tool, "path", ".env")).toBe("deny");
    expect(rulingOf(tool, "path", "src")).toBe("allow");
  }
  expect(rulingOf("shell", "text", "rm -rf x")).toBe("deny");
  expect(rulingOf("shell", "text", "ls")).toBe("allow");
  expect(rulingOf("read_file", "path", ".env")).toBe("deny");
  expect(rulingOf("web_fetch", "text", "https://x.org")).toBe("ask");
  expect(rulingOf("mcp__db__query", "text", "x")).toBe("deny");
  const elsewhere = read("claude/agents/c.md", "---\nname: c\ndescription: d\n---\nP");
  expect(elsewhere.agents[0]?.fields.toolRules).toBeUndefined();
  write("claude/.claude/settings.json", "{");
  expect(read("claude/.claude/agents/c.md", "---\nname: c\n---\nP").status).toBe("error");
});

test.each([
  [{ permissions: { deny: ["Edit(/docs/**)"] } }, ["edit_file", "write_file"], "docs/a.md", "deny"],
  [{ permissions: { ask: ["Edit"] } }, ["edit_file", "write_file"], "a.md", "ask"],
  [{ permissions: { defaultMode: "plan" } }, ["edit_file", "write_file", "shell"], "x", "deny"],
  [{ hooks: { PreToolUse: [{ matcher: "Bash", hooks: [] }] } }, ["shell"], "x", "ask"],
])("Claude Code: %j restricts %j", (settings, tools, path, expected) => {
  write("rules/.claude/settings.json", JSON.stringify(settings));
  const text = "---\nname: c\ndescription: d\n---\nP";
  const rules = read("rules/.claude/agents/c.md", text).agents[0]?.fields.toolRules ?? [];
  for (const tool of tools) {
    const kind = tool === "shell" ? "text" : "path";
    expect(judgeByRules([rules], tool, { kind, values: [path] }), tool).toBe(expected);
  }
});

test.each([
  { permission: { deny: ["Bash"] } },
  { Permissions: { deny: ["Bash"] } },
  { permissions: ["Bash"] },
  { permissions: { Deny: ["Bash"] } },
  { permissions: { denied: ["Bash"] } },
  { disallowedTools: ["Bash"] },
  { hook: { PreToolUse: [] } },
])("Claude Code: %j is refused, for it restricts in no known form", (settings) => {
  write("odd/.claude/settings.json", JSON.stringify(settings));
  const { agents, status } = read("odd/.claude/agents/c.md", "---\nname: c\n---\nP");
  expect([agents, status]).toEqual([[], "error"]);
});

test("a policy is found in folders without a dot and far above, and never given up silently", () => {
  const settings = '{"permissions": {"deny": ["Bash"]}}';
  write("dots/dot-claude/settings.json", settings);
  write("dots/in/dot-opencode/opencode.json", '{"permission": {"bash": "deny"}}');
  const denial = { tool: "shell", action: "deny" };
  const claude = "---\nname: c\ndescription: d\n---\nP";
  const [first] = read("dots/dot-claude/agents/c.md", claude).agents;
  const [second] = read("dots/in/dot-opencode/agent/a.md", agentText()).agents;
  expect([first?.fields.toolRules, second?.fields.toolRules]).toEqual([[denial], [denial]]);
  write("far/.git/HEAD", "");
  write("far/.claude/settings.json", settings);
  const place = (depth: number) => `far/${"d/".repeat(depth)}.claude/agents/c.md`;
  expect(read(place(17), claude).agents[0]?.fields.toolRules).toEqual([denial]);
  expect(read(place(70), claude)).toMatchObject({ agents: [], status: "error" });
});

test("a change of the policy alone changes the agent and its trust", () => {
  const path = write("changing/.opencode/agent/a.md", agentText());
  const reader = {
    find: () => [path],
    read: (file: string) => readAgentFile(file),
    strictestAgent,
  };
  const source = new ForeignSource(reader, { root: `${root}/changing`, isTrusted: false });
  const before = source.read().layers[0];
  write("changing/opencode.json", '{"permission": "ask"}');
  const after = source.read().layers[0];
  expect(before?.fields.toolRules).toBeUndefined();
  expect(after?.fields.toolRules).toEqual([{ tool: "*", action: "ask" }]);
  expect(after?.untrustedHash).not.toBe(before?.untrustedHash);
});

type Entries = readonly (readonly [tool: string, glob: string, action: string])[];

/** What opencode does: the entries of all configurations in their order, and the last match decides. */
function reference(entries: Entries, tool: string, value: string): string {
  const fits = ([name, glob]: Entries[number]) =>
    (name === "*" || name === tool) && matchGlob(glob, value);
  return entries.findLast(fits)?.[2] ?? "allow";
}

test("permissions of a project and of its agents decide in the order that opencode has", () => {
  const action = fc.constantFrom("allow", "ask", "deny");
  const globs = fc.dictionary(fc.constantFrom("*", "git *", "rm *", "git push *"), action, {
    minKeys: 1,
  });
  const permission = fc
    .tuple(
      fc.shuffledSubarray(["bash", "*", "webfetch"]),
      fc.record({ bash: fc.oneof(action, globs), "*": action, webfetch: action }),
    )
    .map(([keys, said]) => {
      const entries = new Map<string, unknown>(Object.entries(said));
      return Object.fromEntries(keys.map((key) => [key, entries.get(key)]));
    });
  const entriesOf = (map: object): Entries =>
    Object.entries(map).flatMap(([tool, said]) =>
      Object.entries(typeof said === "string" ? { "*": said } : said).map(
        ([glob, each]) => [tool, glob, String(each)] as const,
      ),
    );
  const check = (project: object, own: object) => {
    const config = { permission: project, agent: { a: { prompt: "P", permission: own } } };
    const [agent] = read("order/opencode.json", JSON.stringify(config)).agents;
    const entries = [...entriesOf(project), ...entriesOf(own)];
    for (const [tool, ours] of [["bash", "shell"] as const, ["webfetch", "web_fetch"] as const]) {
      for (const value of ["git push x", "git log", "rm x", "ls"]) {
        const subjects = { kind: "text" as const, values: [value] };
        const ruling = judgeByRules([agent?.fields.toolRules ?? []], ours, subjects);
        expect(ruling, value).toBe(reference(entries, tool, value));
      }
    }
  };
  fc.assert(fc.property(permission, permission, check), { numRuns: cases(2000) });
});
