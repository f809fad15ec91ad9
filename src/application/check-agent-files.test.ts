import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { foreignFiles } from "../agents/foreign/foreign-files.test-support.ts";
import { parseMarkdownProfile } from "../agents/profiles/profile-document.ts";
import { readProfileFile } from "../agents/profiles/read-profile-file.ts";
import { checkAgentFiles } from "./check-agent-files.ts";
import { convertAgentFiles, requireNothingLost } from "./import-agents.ts";

const { root, write } = foreignFiles();
const shipped = join(import.meta.dirname, "../agents/shipped");

test("our own profiles are told as ours wherever they lie, and lose nothing", () => {
  const count = readdirSync(shipped).filter((file) => file.endsWith(".md")).length;
  const reports = checkAgentFiles([shipped]);
  expect(reports).toHaveLength(count);
  for (const { file, format, loss, status } of reports) {
    expect({ file, format, loss, status }).toEqual({
      file,
      format: "mandate",
      loss: [],
      status: "ok",
    });
  }
  const { agents } = convertAgentFiles([shipped]);
  expect(agents).toHaveLength(count);
  for (const { markdown, source } of agents) {
    const read = readProfileFile({ path: shipped, origin: "built in" }, source);
    if ("problem" in read) throw new Error(read.problem.message);
    const { fields, name } = read.layer;
    const written = { name, fields, importedFrom: "mandate" };
    expect(parseMarkdownProfile(markdown, source)).toEqual(written);
  }
});

test("a word that is a command already is told of, and an own one is not", () => {
  const text =
    "---\nname: thief\ndescription: d\ntriggers:\n  slash: [help, agents, own]\n---\nHi.\n";
  const [report] = checkAgentFiles([write(".mandate/agents/thief.md", text)]);
  expect(report).toMatchObject({ status: "warning", name: "thief" });
  expect(report?.diagnostics.map(({ message }) => message.split(" ")[0])).toEqual([
    "/help",
    "/agents",
  ]);
});

test("a problem of our own format has its line, and does not repeat the file", () => {
  const file = write(".mandate/agents/a.yaml", "name: a\ndescription: d\nlimitz: 1\nskils: []\n");
  const [report] = checkAgentFiles([file]);
  expect(report).toMatchObject({ format: "mandate", status: "error", name: null });
  expect(report?.diagnostics.map(({ line }) => line)).toEqual([3, 4]);
  for (const { message } of report?.diagnostics ?? []) {
    expect(message).toMatch(/^unknown key "(?:limitz|skils)"/);
  }
});

test("a name that an earlier file has is a warning on the later one", () => {
  const text = "---\nname: twin\ndescription: d\n---\nP";
  const first = write("twins/.claude/agents/a.md", text);
  write("twins/.claude/agents/b.md", text);
  write("twins/skills/twin/SKILL.md", text);
  const reports = checkAgentFiles([join(root, "twins")]);
  expect(reports.map(({ status }) => status)).toEqual(["ok", "warning", "ok"]);
  expect(reports[1]?.diagnostics[0]?.message).toContain(first);
});

test("a path that does not exist is an error, whatever its ending", () => {
  const reports = checkAgentFiles(["gone", "gone.md", "gone.json"].map((name) => join(root, name)));
  for (const { diagnostics, status } of reports) {
    expect(status).toBe("error");
    expect(diagnostics).toEqual([{ severity: "error", message: "does not exist" }]);
  }
});

test("a file of servers reports servers and no agent", () => {
  const file = write("s/.mcp.json", '{"mcpServers": {"a": {"command": "x"}, "b": {"url": "u"}}}');
  const [report] = checkAgentFiles([file]);
  expect(report).toMatchObject({ format: "mcp", name: null, servers: ["a", "b"] });
  expect(report?.names).toBeUndefined();
});

test("of several agents in a file each finding says which it is about", () => {
  const file = write(
    "several/opencode.json",
    '{"agent": {"a": {"description": "d", "prompt": "P", "color": "red"}, "b": {"prompt": "P", "tols": 1}}}',
  );
  const [report] = checkAgentFiles([file]);
  expect(report?.loss).toEqual([
    { agent: "a", field: "color", kind: "kept", detail: "it has no effect here" },
  ]);
  expect(report?.diagnostics.map(({ agent }) => agent)).toEqual(["b", "b"]);
});

test("a key that a file is refused for is not said to be kept", () => {
  const file = write(".claude/agents/refused.md", "---\nname: r\ndescription: d\ntolls: x\n---\nP");
  expect(checkAgentFiles([file])).toMatchObject([{ status: "error", loss: [] }]);
});

test("a hook that could forbid calls is a loss that --strict does not allow", () => {
  const hooks = "hooks: { PreToolUse: [{ matcher: Bash, hooks: [] }] }";
  const file = write(".claude/agents/h.md", `---\nname: h\ndescription: d\n${hooks}\n---\nP`);
  expect(() => requireNothingLost(convertAgentFiles([file]))).toThrow("would lose something: h");
});

test("what children reported is passed over beside agents, and read when it is named itself", () => {
  const report = write(".mandate/reports/r123456/step-1-result.md", "# Found\n\nAll is well.\n");
  const agent = write(".mandate/agents/told.md", "---\nname: told\ndescription: d\n---\nHi.\n");
  const reports = checkAgentFiles([join(root, ".mandate")]);
  expect(reports.map(({ file }) => file)).toContain(agent);
  expect(reports.map(({ file }) => file)).not.toContain(report);
  expect(checkAgentFiles([report])).toHaveLength(1);
});
