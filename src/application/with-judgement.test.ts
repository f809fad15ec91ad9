import { expect, test } from "vitest";
import { foreignFiles } from "../agents/foreign/foreign-files.test-support.ts";
import { checkAgentFiles } from "./check-agent-files.ts";

const { write } = foreignFiles();

const profile = (name: string, keys: string): string =>
  write(`.mandate/agents/${name}.md`, `---\nname: ${name}\ndescription: d\n${keys}\n---\nHi.\n`);

test("a slip in a name of ours is an error at its line, with what was meant", () => {
  const keys = [
    "tools: [read_file, read_fil, grpe]",
    "scopes: [files:raed]",
    "skills: [writng]",
    "exit: { tools: [complete_tsk], review: { profile: reviwer } }",
    "mayDelegate: { tools: [shel] }",
    "toolRules: [{ tool: web_fech, action: deny }]",
  ];
  const file = profile("slipped", keys.join("\n"));
  const [report] = checkAgentFiles([file], undefined, { skill: new Set(["writing"]) });
  expect(report).toMatchObject({ status: "error", name: "slipped" });
  expect(report?.diagnostics.map(({ line, message }) => `${line}: ${message}`).sort()).toEqual([
    '4: tools: there is no tool "grpe"; did you mean "grep"?',
    '4: tools: there is no tool "read_fil"; did you mean "read_file"?',
    '5: scopes: there is no scope "files:raed"; did you mean "files:read"?',
    '6: skills: there is no skill "writng"; did you mean "writing"?',
    '7: exit.review: there is no profile "reviwer"; did you mean "reviewer"?',
    '7: exit.tools: there is no tool "complete_tsk"; did you mean "complete_task"?',
    '8: mayDelegate.tools: there is no tool "shel"; did you mean "shell"?',
    '9: toolRules: there is no tool "web_fech"; did you mean "web_fetch"?',
  ]);
});

test("a name that is like none here is a warning, since another machine may know it", () => {
  const file = profile("elsewhere", "tools: [query_warehouse, mcp__docs__*]\nskills: [nope]");
  const [report] = checkAgentFiles([file], undefined, { skill: new Set(["writing"]) });
  expect(report?.status).toBe("warning");
  expect(report?.diagnostics.map(({ message }) => message)).toEqual([
    'tools: there is no tool "query_warehouse" here; it counts only where there is one',
    'skills: there is no skill "nope" here; it counts only where there is one',
  ]);
});

test("what is known, beside it or somewhere in the product, is nothing to tell", () => {
  const reviewed = profile("reviewed", "exit: { review: { profile: my-reviewer } }");
  const reviewer = profile("my-reviewer", "tools: [read_file, web_search, spawn]\nskills: [any]");
  const rule = profile("ruled", "toolRules: [{ tool: browser_click, action: deny }]");
  const reports = checkAgentFiles([reviewed, reviewer, rule]);
  expect(reports.map(({ status }) => status)).toEqual(["ok", "ok", "ok"]);
});

test("a file of another program is told of as before", () => {
  const text = "---\nname: helper\ndescription: d\ntools: Read, read_fiel\n---\nHelp.\n";
  const [report] = checkAgentFiles([write(".claude/agents/helper.md", text)]);
  expect(report?.status).not.toBe("error");
});

test("a watcher that names tools which change something is a warning: it would not get them", () => {
  const only = profile(
    "only",
    "capabilities: [watcher]\ntools: [interject, read_file, write_file]",
  );
  const both = profile("both", "capabilities: [watcher, subtask]\ntools: [shell, mcp__a__b]");
  const fine = profile("fine", "capabilities: [watcher]\ntools: [interject, read_file, web_fetch]");
  const open = profile("open", 'capabilities: [watcher]\ntools: "*"');
  const [first, second, ...others] = checkAgentFiles([only, both, fine, open]);
  expect(first).toMatchObject({
    status: "warning",
    diagnostics: [
      {
        severity: "warning",
        line: 5,
        message:
          'tools: a watcher changes nothing, so it does not get write_file; take them out, or the capability "watcher"',
      },
    ],
  });
  expect(second?.diagnostics[0]?.message).toMatch(/that watches .* does not get shell, mcp__a__b/);
  expect(others.map(({ status }) => status)).toEqual(["ok", "ok"]);
});

test("a server that is not configured is a warning, where it is known which are", () => {
  const file = profile("served", "mcpServers: [docs, tickets]");
  const [report] = checkAgentFiles([file], undefined, { server: new Set(["docs"]) });
  expect(report?.diagnostics.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^mcpServers: there is no MCP server "tickets" here/),
  ]);
});
