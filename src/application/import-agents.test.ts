import { expect, test } from "vitest";
import { foreignFiles } from "../agents/foreign/foreign-files.test-support.ts";
import { parseMarkdownProfile } from "../agents/profiles/profile-document.ts";
import { judgeByRules } from "../contracts/judge-by-rules.ts";
import { convertAgentFiles } from "./import-agents.ts";

const { root, write } = foreignFiles();

function converted(folder: string, taken: readonly string[] = []) {
  const { agents, ...rest } = convertAgentFiles([`${root}/${folder}`], new Set(taken));
  const profiles = agents.map(({ loss, markdown, name, originally }) => {
    return { ...parseMarkdownProfile(markdown, name), name, originally, loss };
  });
  return { ...rest, profiles };
}

const claude = (folder: string, name: string, keys: string) =>
  write(
    `${folder}/.claude/agents/${name}.md`,
    `---\nname: ${name}\ndescription: d\n${keys}\n---\nP`,
  );

test("an agent whose name is taken gets the program's name in front, and rules follow it", () => {
  claude("taken", "reviewer", "tools: Read");
  claude("taken", "claude-reviewer", "tools: Read");
  claude("taken", "lead", "tools: Agent(reviewer, other)");
  const { profiles } = converted("taken", ["reviewer", "general"]);
  expect(profiles.map(({ name, originally }) => [name, originally])).toEqual([
    ["claude-reviewer", undefined],
    ["lead", undefined],
    ["claude-reviewer-2", "reviewer"],
  ]);
  const allowed = profiles[1]?.fields.toolRules?.filter(({ action }) => action === "allow");
  expect(allowed?.map(({ match }) => match)).toEqual(["claude-reviewer-2", "other"]);
  for (const { importedFrom } of profiles) expect(importedFrom).toBe("claude");
});

test.each([
  [
    "toolRules: [{ tool: delegate_task, action: deny }, " +
      '{ tool: delegate_task, match: "review*", action: allow }, ' +
      "{ tool: delegate_task, match: other, action: allow }]",
    ["deny", "allow", "allow"],
  ],
  ["disallowedTools: Agent(review*)", ["deny", "deny", "allow"]],
])("patterns of agents' names mean the renamed ones too: %s", (keys, rulings) => {
  const folder = `renamed-${rulings[1]}`;
  claude(folder, "reviewer", "tools: Read");
  claude(folder, "lead", keys);
  const { toolRules = [] } = converted(folder, ["reviewer"]).profiles[0]?.fields ?? {};
  const judge = (name: string) =>
    judgeByRules([toolRules], "delegate_task", { kind: "text", values: [name] });
  expect(["reviewer", "claude-reviewer", "other"].map(judge)).toEqual(rulings);
});

test.each([
  [
    "Bash(git log --format={hash}:*)",
    "allow",
    ["git log --format={hash}", "git log --format={hash} *"],
  ],
  ["Bash(ls ~/.config:*)", "allow", ["ls ~/.config", "ls ~/.config *"]],
  ["Bash(rm [a-z]*)", "deny", ["rm **"]],
  ["Bash(rm -rf ~)", "deny", ["rm -rf ?"]],
  ["Bash(:(){ :|:& };:)", "deny", [":()*;:"]],
  ["Read(docs/{a,b}/**)", "allow", ["docs/a/**", "docs/b/**"]],
  ["Read(~/.ssh/[a-z]*)", "deny", ["*.ssh/?*"]],
  ["Read([a-z].md)", "allow", []],
  ["Edit(~draft/*)", "allow", []],
  ["WebFetch(https://x.org/{id})", "allow", []],
  ["WebFetch(https://x.org/{id})", "deny", ["https://x.org/*"]],
])("%s can be written where it %ss, and never allows more", (item, action, matches) => {
  const folder = `pattern-${Math.abs(item.length * 31 + (item.charCodeAt(6) ?? 0))}-${action}`;
  claude(folder, "a", `${action === "allow" ? "tools" : "disallowedTools"}: ["${item}"]`);
  const { profiles, refused } = converted(folder);
  expect(refused).toEqual([]);
  const rules = profiles[0]?.fields.toolRules ?? [];
  // A denial of reading is one for each tool that reads.
  const written = rules.flatMap((rule) => (rule.action === action ? [rule.match] : []));
  expect([...new Set(written)]).toEqual(matches);
  const isExact = action === "allow" && matches.length > 0;
  const losses = profiles[0]?.loss.map(({ kind }) => kind);
  expect([...new Set(losses)]).toEqual(isExact ? [] : ["narrowed"]);
});

test("what cannot be a profile of its own is refused by name, and the others are written", () => {
  claude("refused", "good", "");
  write("refused/.mandate/agents/coder.md", "---\nname: coder\nlimits: { turns: 3 }\n---\n");
  const { profiles, refused } = converted("refused");
  expect(profiles.map(({ name }) => name)).toEqual(["good"]);
  expect(refused).toMatchObject([{ name: "coder", message: /has no description/ }]);
});

test("of two agents with one name the stricter is written, in either order", () => {
  const kiro = (folder: string, file: string, text: string) =>
    write(`${folder}/.kiro/agents/${file}`, text);
  const wide = '{"name": "dev", "description": "wide", "prompt": "P", "tools": ["*"]}';
  const strict = "---\nname: dev\ndescription: strict\ntools: [read]\n---\nP";
  kiro("twins", "a.json", wide);
  kiro("twins", "b.md", strict);
  kiro("turned", "a.md", strict);
  kiro("turned", "b.json", wide);
  for (const folder of ["twins", "turned"]) {
    const { duplicates, profiles } = converted(folder);
    expect(profiles.map(({ fields }) => fields.description)).toEqual(["strict"]);
    expect(duplicates).toMatchObject([{ kind: "agent", name: "dev", source: /\.json$/ }]);
  }
});

test("of two agents that each allow something else both restrict", () => {
  claude("mixed", "a", "tools: Read, Bash\nmaxTurns: 9");
  write("mixed/.github/agents/a.md", "---\nname: a\ndescription: e\ntools: [read, edit]\n---\nQ");
  write("mixed/.cursor/agents/a.md", "---\nname: a\ndescription: f\nreadonly: true\n---\nR");
  const { duplicates, profiles } = converted("mixed");
  expect(duplicates).toHaveLength(2);
  expect(profiles[0]?.fields).toMatchObject({
    description: "d",
    tools: ["read_file"],
    limits: { turns: 9 },
    workspace: { allowWrites: false },
  });
});

test("of two servers with one name the stricter is kept, and the other is named", () => {
  const server = (more: string) => `{"mcpServers": {"docs": {"command": "docs"${more}}}}`;
  write("servers/a/.mcp.json", server(', "tools": ["find"], "timeout": 5000'));
  write("servers/b/.mcp.json", server(""));
  write("servers/c/.mcp.json", '{"mcpServers": {"docs": {"command": "other"}}}');
  const { duplicates, servers } = converted("servers");
  expect(servers).toEqual({
    docs: { kind: "stdio", command: "docs", tools: ["find"], timeoutMs: 5000 },
  });
  expect(duplicates.map(({ kind, name, source }) => [kind, name, source.slice(-11)])).toEqual([
    ["server", "docs", "b/.mcp.json"],
    ["server", "docs", "c/.mcp.json"],
  ]);
});
