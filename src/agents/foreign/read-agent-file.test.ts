import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { foreignFiles } from "./foreign-files.test-support.ts";
import { readAgentFile } from "./read-agent-file.ts";

const { agent, read, root, write } = foreignFiles();

test("our own format is read by our own loader", () => {
  const own = "---\nname: a\ndescription: d\nmaxTokenBudget: 5\n---\nP";
  expect(agent("profiles/a.md", own)).toMatchObject({
    fields: { limits: { tokens: 5 } },
    file: { format: "mandate" },
  });
  const bad = read(".mandate/agents/b.md", "---\nname: b\nlimitz: 1\n---\nP");
  expect(bad).toMatchObject({ status: "error", agents: [] });
});

test("what is empty is none, and what is all has to say so", () => {
  const tools = (value: string) =>
    agent(".claude/agents/t.md", `---\nname: t\ndescription: d\ntools:${value}\n---\nP`);
  expect(tools(" []").fields.tools).toEqual([]);
  expect(tools("").fields.tools).toEqual([]);
  expect(tools("").file).toMatchObject({ status: "warning" });
  expect(tools(" undefined").fields.tools).toEqual([]);
  expect(tools(" {}").fields.tools).toEqual([]);
  expect(tools(' "*"').fields.tools).toBe("*");
  expect(tools(" true").fields.tools).toBe("*");
  const unsaid = agent(".claude/agents/u.md", "---\nname: t\ndescription: d\n---\nP");
  expect("tools" in unsaid.fields).toBe(false);
});

test("a document is an agent only where its front matter names and describes one", () => {
  const front = "---\nname: security\ndescription: d\n---\nP";
  for (const name of ["security", "changelog", "license", "SECURITY"]) {
    expect(read(`named/.claude/agents/${name}.md`, front).agents, name).toHaveLength(1);
    const note = read(`named/.claude/agents/${name}.md`, "# Notes\n\ntools: none\n");
    expect(note.status, name).toBe("skipped");
  }
  expect(read("named/.claude/agents/README.md", front).status).toBe("skipped");
});

test("a skill may be as large as where it is used", () => {
  const skill = (size: number) =>
    read("skills/large/SKILL.md", `---\nname: large\ndescription: d\n---\n${"x".repeat(size)}`);
  expect(skill(1000).status).toBe("ok");
  expect(skill(300 * 1024)).toMatchObject({
    status: "warning",
    diagnostics: [{ message: "a model is shown the first 256 KB of it" }],
  });
  expect(skill(9 * 1024 * 1024).status).toBe("error");
});

test("what asks for more is given nothing", () => {
  const { fields, file } = agent(
    ".claude/agents/y.md",
    "---\nname: y\ndescription: d\npermissionMode: bypassPermissions\n---\nP",
  );
  expect(fields).toEqual({ description: "d", prompt: "P" });
  expect(file.diagnostics).toEqual([expect.objectContaining({ severity: "warning", line: 4 })]);
});

test.each([
  ["tool", "tools"],
  ["alowed-tools", "allowed-tools"],
  ["disallowdTools", "disallowedTools"],
  ["permision", "permission"],
  ["sandbox_mod", "sandbox_mode"],
  ["readnly", "readonly"],
  ["mcpServer", "mcpServers"],
])("the key %s is an error that names %s", (key, nearest) => {
  const file = read(".claude/agents/n.md", `---\nname: n\ndescription: d\n${key}: x\n---\nP`);
  expect(file).toMatchObject({ status: "error", agents: [] });
  expect(file.diagnostics[0]).toMatchObject({ line: 4, message: expect.stringContaining(nearest) });
});

test("keys that are near a restriction by chance are kept like any other", () => {
  const keys = "max_tokens submission agent skill events rules goals models codesearch timeout";
  const lines = keys.split(" ").map((key) => `${key}: 1`);
  const { fields } = agent(
    ".claude/agents/o.md",
    `---\nname: o\ndescription: d\n${lines.join("\n")}\npermission: { codesearch: deny, lsp: deny }\n---\nP`,
  );
  expect(Object.keys(fields.metadata ?? {})).toEqual(keys.split(" "));
});

test("a denied tool that is misspelt is an error: it would deny nothing", () => {
  const file = read(
    ".claude/agents/m.md",
    "---\nname: m\ndescription: d\ndisallowedTools: Bsah\n---\nP",
  );
  expect(file.diagnostics[0]?.message).toContain('did you mean "bash"');
});

test.each([
  ["README.md", "# Agents\n"],
  ["agents/README.zh-CN.md", "---\nname: x\ndescription: d\n---\n"],
  [".claude/agents/notes.md", "Remember the milk.\n"],
  [".claude/agents/CLAUDE.md", "# Rules\n"],
  ["agent.schema.json", '{"type":"object"}'],
  ["prompt.txt", "You are"],
  ["other.json", '{"a": 1}'],
  ["other.yaml", "a: 1\n"],
  ["empty.yaml", ""],
])("%s is no agent, and that is noted", (path, text) => {
  const file = read(`none/${path}`, text);
  expect(file).toMatchObject({ status: "skipped", agents: [] });
  expect(file.diagnostics[0]).toMatchObject({ severity: "note" });
});

test.each([
  ["a folder", () => write(".claude/agents/folder.md/x", "")],
  ["a broken JSON", () => write("opencode.json", '{"agent": ')],
  ["a broken TOML", () => write(".codex/agents/x.toml", 'name = "x')],
  ["a broken YAML", () => write("custom_modes.yaml", "a: [")],
  ["a NUL", () => write(".claude/agents/nul.md", "---\nname: a\0\n---\n")],
  ["too much text", () => write(".claude/agents/big.md", "a".repeat(300_000))],
  ["deep nesting", () => write("deep.json", "[".repeat(100_000))],
  ["a prototype key", () => write("proto.json", '{"name":"a","prompt":"b","__proto__":{}}')],
])("%s is an error, not an exception", (what, make) => {
  const path = what === "a folder" ? join(make(), "..") : make();
  const file = readAgentFile(path);
  expect(file).toMatchObject({ file: path, status: "error", agents: [] });
  expect(file.diagnostics.at(-1)?.message.length).toBeGreaterThan(5);
});

test("a missing file, a device and a pipe are errors at once", () => {
  const pipe = join(root, "pipe.md");
  execFileSync("mkfifo", [pipe]);
  for (const path of [join(root, "absent.md"), pipe]) {
    expect(readAgentFile(path).status).toBe("error");
  }
});

test("bytes that are no UTF-8 are a warning, and the rest is read", () => {
  const bytes = Buffer.from("---\nname: a\ndescription: d\n---\nunder 10\xB5s", "latin1");
  const file = read(".claude/agents/latin.md", bytes);
  expect(file.status).toBe("warning");
  expect(file.agents[0]?.fields.prompt).toBe("under 10\uFFFDs");
});

test("a link that leads out of the root is refused, and so is an include through one", () => {
  write("outside/secret.md", "---\nname: s\ndescription: d\n---\nP");
  mkdirSync(join(root, "inside"), { recursive: true });
  symlinkSync(join(root, "outside/secret.md"), join(root, "inside/link.md"));
  const file = readAgentFile(join(root, "inside/link.md"), { root: join(root, "inside") });
  expect(file).toMatchObject({ status: "error", agents: [] });
  write("inside/opencode.json", '{"agent":{"a":{"description":"d","prompt":"{file:link.md}"}}}');
  const including = readAgentFile(join(root, "inside/opencode.json"));
  expect(including).toMatchObject({
    status: "warning",
    agents: [{ fields: { description: "d" } }],
  });
  expect(including.agents[0]?.fields.prompt).toBe("d");
});

test("the format of a flat folder is told by content, or by the first folder below the root", () => {
  const text = "---\nname: a\ndescription: d\nmode: subagent\n---\nP";
  expect(read("flat/a.md", text).format).toBe("opencode");
  expect(read("flat/b.md", "---\nname: a\ndescription: d\nmax_turns: 3\n---\nP").format).toBe(
    "gemini",
  );
  const path = write("sorted/pi/a.md", "---\nname: a\ndescription: d\n---\nP");
  expect(readAgentFile(path, { root: join(root, "sorted") }).format).toBe("pi");
  expect(read("x/dot-cursor/agents/a.md", text).format).toBe("cursor");
});

test("joiners inside an emoji are text like any other", () => {
  const { fields, name } = agent(
    ".claude/agents/family.md",
    "---\nname: 👩‍💻 dev\ndescription: For 👩‍💻\n---\nP 👨‍👩‍👧",
  );
  expect({ name, description: fields.description }).toEqual({
    name: "dev",
    description: "For 👩‍💻",
  });
});
