import { expect, test } from "vitest";
import { judgeByRules } from "../../contracts/judge-by-rules.ts";
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
