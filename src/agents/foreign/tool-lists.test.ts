import { expect, test } from "vitest";
import { matchGlob } from "../../contracts/judge-by-rules.ts";
import { Findings } from "./agent-file.ts";
import { readAllowedTools } from "./allowed-tools.ts";
import { readDeniedTools } from "./denied-tools.ts";
import { readPermission } from "./permission.ts";
import { toMatches } from "./tool-patterns.ts";
import { canonicalTools } from "./tool-reference.ts";

function place() {
  return { field: "tools", line: 3, findings: new Findings(), servers: ["my_docs"] };
}

test.each([
  ["read_file", "Read read READ read_file fs_read readFile"],
  ["edit_file", "Edit edit replace editFiles edit/editFiles patch MultiEdit"],
  ["write_file", "Write write write_file fs_write WriteFile"],
  ["shell", "Bash bash shell run_shell_command runCommands execute terminalCommand"],
  ["grep", "Grep grep grep_search search codebase search/codebase"],
  ["glob", "Glob glob find"],
  ["list_files", "LS list list_directory"],
  ["web_fetch", "WebFetch webfetch web_fetch fetch web/fetch"],
  ["web_search", "WebSearch google_web_search websearch"],
  ["delegate_task", "Task Agent task agent invoke_agent runSubagent"],
])("%s is what %s stand for", (tool, names) => {
  for (const name of names.split(" ")) expect(canonicalTools(name), name).toEqual([tool]);
});

test.each<[string, unknown, readonly string[]]>([
  ["text with commas", "Read, Grep", ["read_file", "grep"]],
  ["text with spaces", "Read Grep", ["read_file", "grep"]],
  ["commas in parentheses", "Agent(a, b), Read", ["read_file", "delegate_task"]],
  ["a list", ["Read", "Glob"], ["read_file", "glob"]],
  ["commas in a list", ["Read, Glob"], ["read_file", "glob"]],
  ["what is not a name", ["Read", 7, null, { a: 1 }], ["read_file"]],
  ["two names of one tool", "Edit, MultiEdit", ["edit_file"]],
  [
    "servers",
    "mcp__a__t, mcp__b, c/*, d/t, @e, @f/t, mcp_my_docs_find",
    [
      ...["mcp__a__t", "mcp__b__*", "mcp__c__*", "mcp__d__t", "mcp__e__*", "mcp__f__t"],
      "mcp__my_docs__find",
    ],
  ],
  ["a pattern over a server's tools", "mcp__a__get_*, Read", ["read_file"]],
  ["parentheses that do not match", "Bash(git:*, Read", []],
  [
    "a map",
    { read: true, bash: false, task: "ask", write: "maybe" },
    ["read_file", "delegate_task"],
  ],
  ["a map that begins with none", { "*": false, read: true }, ["read_file"]],
])("%s is read as a list of tools", (_, value, tools) => {
  expect(readAllowedTools(value, place()).tools).toEqual(tools);
});

test("a map that only denies leaves the rest as it is; one that begins with all says so", () => {
  expect(readAllowedTools({ bash: false }, place())).toEqual({
    rules: [{ tool: "shell", action: "deny" }],
  });
  expect(readAllowedTools({ "*": true, bash: false, "docs_*": false }, place())).toEqual({
    tools: "*",
    rules: [
      { tool: "shell", action: "deny" },
      { tool: "mcp__docs__*", action: "deny" },
    ],
  });
});

test("the part in parentheses cannot be kept: the tool is not allowed, and that is told", () => {
  const at = place();
  expect(readAllowedTools("Read(~/x), Edit(src/**), mcp__a__t(x)", at)).toEqual({
    tools: ["edit_file"],
    rules: [
      { tool: "edit_file", action: "deny" },
      { tool: "edit_file", match: "src/**", action: "allow" },
    ],
  });
  expect(at.findings.loss.map(({ kind }) => kind)).toEqual(["narrowed", "narrowed"]);
});

test("a prohibition that cannot be kept as written takes the whole tool", () => {
  const pattern = `Bash(${"x".repeat(2000)})`;
  expect(readDeniedTools(pattern, place()).rules).toEqual([{ tool: "shell", action: "deny" }]);
});

test.each([null, "", "Bsh", ["Read", 7], { Bash: true }, "Bash(rm", "mcp__*(x)"])(
  "a list of what is denied that says %j is refused",
  (value) => {
    const at = place();
    readDeniedTools(value, at);
    expect(at.findings.hasFailed).toBe(true);
  },
);

test.each<[string, unknown, "refused" | "denied"]>([
  ["a list", ["bash"], "refused"],
  ["a pattern that fits no tool", { "*sh*": "deny" }, "refused"],
  ["a misspelt tool", { bsah: "deny" }, "refused"],
  ["nothing", null, "denied"],
  ["another word", "perhaps", "denied"],
  ["an action of another kind", { bash: 7 }, "denied"],
  ["an empty map of commands", { bash: {} }, "denied"],
])("a permission that is %s is refused or denies", (_, value, outcome) => {
  const at = place();
  const { rules } = readPermission(value, at);
  expect(at.findings.hasFailed).toBe(outcome === "refused");
  if (outcome === "denied") expect(rules.at(-1)?.action).toBe("deny");
});

test("an explicit map of nothing is no rule", () => {
  expect(readPermission({}, place()).rules).toEqual([]);
});

test("all MCP tools can be denied at once", () => {
  expect(readDeniedTools("mcp__*, Bash", place())).toEqual({
    rules: [{ tool: "shell", action: "deny" }],
    isWithoutServers: true,
  });
});

test("prohibitions of paths cover the root, homes and braces", () => {
  const denies = (pattern: string, path: string) =>
    toMatches("read_file", pattern, "deny")?.some((glob) => matchGlob(glob, path)) === true;
  expect(denies("**/.env", ".env")).toBe(true);
  expect(denies("./.env", ".env")).toBe(true);
  expect(denies("~/.ssh/**", ".ssh/id")).toBe(true);
  expect(denies("/etc/passwd", "etc/passwd")).toBe(true);
  expect(denies("*.{env,pem}", "a/b.pem")).toBe(true);
  expect(denies("secrets/", "secrets/a")).toBe(true);
  expect(denies("src/**/x", "src/x")).toBe(true);
  expect(denies("src/**", "docs/a")).toBe(false);
});
