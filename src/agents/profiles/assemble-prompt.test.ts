import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { bindWorkspace } from "../../workspaces/bind-workspace.ts";
import { assemblePrompt, type PromptRequest } from "./assemble-prompt.ts";
import type { Profile } from "./profile.ts";

let base: string;
let root: string;

beforeEach(() => {
  base = testFolder();
  root = join(base, "app");
  mkdirSync(root);
  writeFileSync(join(base, "secret"), "SECRET");
});

const plain: Profile = {
  name: "p",
  description: "d",
  capabilities: ["subtask"],
  prompt: "Inline.",
  origin: "test",
};

function assemble(profile: Partial<Profile> = {}, change: Partial<PromptRequest> = {}): string {
  const workspace = bindWorkspace({ root, isolation: "shared", allowWrites: false });
  return assemblePrompt({ profile: { ...plain, ...profile }, workspace, ...change });
}

test("stages come in order, between rules", () => {
  writeFileSync(join(root, "AGENTS.md"), "\ufeffAgents.\r\n\r\n");
  writeFileSync(join(root, "ENVIRONMENT.md"), "Environment.\n");
  writeFileSync(join(root, "PROMPT.md"), "From the file.");
  expect(assemble({ systemPromptFile: "PROMPT.md" })).toBe(
    "Agents.\n\n---\n\nEnvironment.\n\n---\n\nFrom the file.\n\n---\n\nInline.",
  );
});

test("the default files may be missing, a named one may not", () => {
  expect(assemble()).toBe("Inline.");
  expect(() => assemble({ bootstrapFiles: ["SOUL.md"] })).toThrow(/"SOUL.md": it does not exist/);
  expect(() => assemble({ systemPromptFile: "a/b.md" })).toThrow(/"a\/b.md": it does not exist/);
});

test("named bootstrap files take the place of the default ones, and none means none", () => {
  writeFileSync(join(root, "AGENTS.md"), "Agents.");
  writeFileSync(join(root, "SOUL.md"), "Soul.");
  expect(assemble({ bootstrapFiles: ["SOUL.md"] })).toBe("Soul.\n\n---\n\nInline.");
  expect(assemble({ bootstrapFiles: [] })).toBe("Inline.");
});

test("the prompt of the call takes the place of the profile's, and comes last", () => {
  writeFileSync(join(root, "PROMPT.md"), "From the file.");
  const prompt = assemble({ systemPromptFile: "PROMPT.md" }, { systemPrompt: "Of the call." });
  expect(prompt).toBe("From the file.\n\n---\n\nOf the call.");
  expect(assemble({}, { systemPrompt: "  " })).toBe("Inline.");
});

test("files stay below the workspace's root, also through links", () => {
  symlinkSync("../secret", join(root, "AGENTS.md"));
  expect(() => assemble()).toThrow(/leads outside the workspace/);
  expect(() => assemble({ bootstrapFiles: ["../secret"] })).toThrow(/leads outside the workspace/);
  expect(() => assemble({ systemPromptFile: join(base, "secret") })).toThrow(/outside/);
});

test("a file that is too large, or no text, is refused and named", () => {
  writeFileSync(join(root, "AGENTS.md"), "x".repeat(64 * 1024 + 1));
  expect(() => assemble()).toThrow(/"AGENTS.md": it is larger than 64 KB/);
  writeFileSync(join(root, "AGENTS.md"), Buffer.from([0xff]));
  expect(() => assemble()).toThrow(/not valid UTF-8/);
});

test("without a workspace there are no default files, and named ones cannot be had", () => {
  expect(assemble({}, { workspace: null })).toBe("Inline.");
  const named = () => assemble({ systemPromptFile: "P.md" }, { workspace: null });
  expect(named).toThrow(/there is no workspace/);
});

test("lines for certain tools are there for an agent that is offered all of them", () => {
  const prompt = [
    "First.",
    "",
    "<!-- with shell -->",
    "Run `shell`.",
    "<!-- end -->",
    "",
    "<!-- with shell, grep -->",
    "Use both.",
    "<!-- end -->",
    "Last.",
  ].join("\n");
  const having = (...tools: string[]) =>
    assemble({ prompt }, { isOffered: (tool) => tools.includes(tool) });
  expect(having("shell", "grep")).toBe("First.\n\nRun `shell`.\n\nUse both.\nLast.");
  expect(having("shell")).toBe("First.\n\nRun `shell`.\n\nLast.");
  expect(having("grep")).toBe("First.\n\nLast.");
  expect(assemble({ prompt })).toBe(having("shell", "grep"));
});

test.each([
  "<!-- with shell -->\nNo end.",
  "Text <!-- with shell -->\nin a line\n<!-- end -->",
  "<!-- with -->\nNo name.\n<!-- end -->",
  "<!-- end -->\nNo beginning.",
  "<!-- a comment -->\nOf another kind.\n<!-- end -->",
])("what is no such block stays as it is: %j", (prompt) => {
  expect(assemble({ prompt }, { isOffered: () => false })).toBe(prompt);
});

test("files of the workspace and prompts of a call are taken as they are", () => {
  const text = "<!-- with shell -->\nRun.\n<!-- end -->";
  writeFileSync(join(root, "AGENTS.md"), text);
  expect(assemble({}, { systemPrompt: text, isOffered: () => false })).toBe(
    `${text}\n\n---\n\n${text}`,
  );
});
