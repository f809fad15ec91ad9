import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { loadSkills } from "../agents/skills/skill-registry.ts";
import type { Contract } from "../contracts/contract.ts";
import { defaultConfig } from "../control/config.ts";
import type { NewEvent } from "../events/event.ts";
import { exampleContract } from "../testing/example-contract.ts";
import { bindWorkspace } from "../workspaces/bind-workspace.ts";
import { createWorkingCopy } from "../workspaces/git/copies/create-working-copy.ts";
import { openWorkingCopy } from "../workspaces/git/copies/working-copy.ts";
import { detectSandbox } from "../workspaces/sandbox/detect-sandbox.ts";
import { builtInTools } from "./built-in-tools.ts";
import { createDocumentQuery } from "./documents/document-query.ts";
import { editFile } from "./files/edit-file.ts";
import { globFiles } from "./files/glob-files.ts";
import { createGrepFiles } from "./files/grep-files.ts";
import { listFiles } from "./files/list-files.ts";
import { readFile } from "./files/read-file.ts";
import { writeFile } from "./files/write-file.ts";
import { type GateSubject, passGate } from "./gate.ts";
import { hostilePaths, layTraps, notesReading, type Traps } from "./hostile-paths.test-support.ts";
import { createShellTool } from "./shell/shell-tool.ts";
import { loadSkillTool } from "./skills/load-skill.ts";
import type { Tool, ToolContext } from "./tool.ts";

type Attack = (path: string) => readonly [string, object];

/** Every parameter that a path, or something like one, can be put into. */
const parameters: Readonly<Record<string, Attack>> = {
  "read_file path": (path) => ["read_file", { path }],
  "write_file path": (path) => ["write_file", { path, content: "EVIL" }],
  "edit_file path": (path) => ["edit_file", { path, old_text: "\n", new_text: "EVIL" }],
  "list_files path": (path) => ["list_files", { path, recursive: true }],
  "glob path": (path) => ["glob", { path, pattern: "**", include_ignored: true }],
  "glob pattern": (pattern) => ["glob", { pattern, include_ignored: true }],
  "grep path": (path) => ["grep", { path, pattern: "CANARY", include_ignored: true }],
  "grep glob": (glob) => ["grep", { glob, pattern: "CANARY", include_ignored: true }],
  "document_query path": (path) => ["document_query", { path, query: "canary" }],
  "load_skill name": (name) => ["load_skill", { name }],
  "load_skill file": (file) => ["load_skill", { name: "writing", file }],
};

const attacksOnEach = 1000;
const sandbox = detectSandbox(process.env);

function makeTools(base: string): readonly Tool[] {
  const directories = [{ path: join(base, "skills"), origin: "user" }];
  const skills = loadSkillTool(loadSkills({ directories }));
  const files = [readFile, writeFile, editFile, listFiles, globFiles, createGrepFiles()];
  return [...files, createDocumentQuery(), skills];
}

interface Report {
  begun: number;
  completed: number;
  denied: number;
  readonly told: string[];
}

/** Makes these calls as an agent whose contract grants them all, and keeps what it is told. */
async function call(
  { root, home }: Traps,
  tools: readonly Tool[],
  calls: readonly (readonly [string, object])[],
): Promise<Report> {
  const contract: Contract = exampleContract({
    permissions: {
      allowed_tools: tools.map(({ name }) => name),
      scopes: [...new Set(tools.flatMap(({ scopes }) => scopes))],
      skills: ["writing"],
    },
    workspace: { allow_writes: true },
  });
  const workspace = bindWorkspace({
    ...{ root, isolation: "shared", allowWrites: true, forbidden: [home] },
  });
  const report: Report = { begun: 0, completed: 0, denied: 0, told: [] };
  const { signal } = new AbortController();
  const { skills } = contract.permissions;
  const subject: GateSubject = {
    caller: {
      withdrawn: false,
      id: "d000000",
      contract,
      find: (name) => tools.find((tool) => tool.name === name),
      outputBytes: 1 << 20,
      durable: async () => {},
      keepArtifact: () => Promise.reject(new Error("nothing here is that large")),
      untrusted: null,
      isUnattended: false,
      messages: [],
    },
    approve: async () => ({ approved: false }),
    record: (event) => note(report, event),
    contextOf: ({ id }) =>
      ({
        ...{ runId: "r", delegationId: "d", callId: id, workspace, skills, network: [], signal },
      }) as unknown as ToolContext,
    within: (_tool, running) => running,
    isTainted: () => false,
    deliveredBy: () => undefined,
    checkStopped: () => {},
  };
  for (const [index, [name, input]] of calls.entries()) {
    const { text } = await passGate(subject, { id: `call-${index}`, name, input }, false);
    report.told.push(text);
  }
  return report;
}

function note(report: Report, { type, payload }: NewEvent): void {
  if (type === "agent.tool_started") report.begun += 1;
  if (type === "agent.tool_completed") report.completed += 1;
  if (type === "agent.tool_denied") report.denied += 1;
  report.told.push(JSON.stringify(payload));
}

function expectUntouched(traps: Traps, { told, begun, completed, denied }: Report): void {
  const { canary, unseen } = traps;
  expect(told.filter((text) => text.includes(canary) || text.includes(unseen))).toEqual([]);
  expect(traps.touched()).toEqual([]);
  // Otherwise nothing was attacked.
  expect(begun + denied).toBe(attacksOnEach);
  expect(denied).toBeGreaterThan(0);
  expect(completed).toBeGreaterThan(0);
}

describe(`${attacksOnEach} hostile paths through the gate`, () => {
  test.each(Object.entries(parameters))(
    "as %s open, list and change nothing outside",
    async (_, attack) => {
      const traps = layTraps();
      const paths = hostilePaths(traps, attacksOnEach);
      const report = await call(traps, makeTools(traps.base), paths.map(attack));
      expectUntouched(traps, report);
    },
    120_000,
  );

  test.skipIf(!sandbox.isUsable)(
    `as shell cwd run nothing outside${sandbox.isUsable ? "" : ` (skipped: ${sandbox.problem})`}`,
    async () => {
      const traps = layTraps();
      const { tool, close } = createShellTool({ sandbox, environment: process.env });
      const paths = hostilePaths(traps, attacksOnEach);
      const calls = paths.map(
        (cwd) => ["shell", { argv: ["/bin/sh", "-c", "pwd; ls"], cwd }] as const,
      );
      const report = await call(traps, [tool], calls);
      await close();
      expectUntouched(traps, report);
    },
    300_000,
  );
});

test(`${attacksOnEach} hostile paths as the id of a working copy reach nothing but copies`, async () => {
  const traps = layTraps();
  const home = join(traps.base, "skills/writing/home");
  for (const id of hostilePaths(traps, attacksOnEach)) {
    expect(() => openWorkingCopy(home, id)).toThrow(/is not a valid id|There is no working copy/);
    if (/^[\w-]+$/.test(id)) continue;
    const making = createWorkingCopy({ source: traps.root, id, home });
    await expect(making).rejects.toThrow(/is not a valid id of a working copy/);
  }
  expect(readdirSync(home)).toEqual([]);
  expect(traps.touched()).toEqual([]);
});

test("every parameter of every tool that could be a path is among those attacked", () => {
  const environment = { BRAVE_API_KEY: "x", PATH: process.env["PATH"] };
  const registry = loadSkills({ directories: [] });
  const sources = { environment, skills: registry };
  const shell = createShellTool({ sandbox, environment }).tool;
  const found = [
    ...builtInTools({ ...defaultConfig, profiles: [], files: [] }, sources),
    shell,
  ].flatMap((tool) => {
    const { properties = {} } = z.toJSONSchema(tool.input, { io: "input", unrepresentable: "any" });
    const names = Object.keys(properties).filter((name) => pathLike.test(name));
    return names.map((name) => `${tool.name} ${name}`);
  });
  const attacked = [...Object.keys(parameters), "shell cwd"];
  // A regular expression for lines, and words for a reviewer, whose own calls open what they name.
  const noPlaces = ["grep pattern", "request_review paths"];
  expect(found.filter((name) => ![...attacked, ...noPlaces].includes(name))).toEqual([]);
  expect(attacked.filter((name) => !found.includes(name))).toEqual(["load_skill name"]);
});

const pathLike = /(?:^|_)(?:path|file|folder|directory|dir|cwd|glob|root|pattern)s?(?:_|$)/;

test("the traps tell when something outside was looked at", async ({ skip }) => {
  const traps = layTraps();
  if (!notesReading(traps.base)) return skip("this file system does not note who reads");
  const workspace = bindWorkspace({ root: traps.base, isolation: "shared", allowWrites: false });
  const context = { workspace, signal: new AbortController().signal } as unknown as ToolContext;
  await readFile.execute(readFile.input.parse({ path: "outside/canary.txt" }), context);
  await listFiles.execute(listFiles.input.parse({ path: "app-evil" }), context);
  expect(traps.touched()).toEqual([
    join(traps.base, "app-evil"),
    join(traps.base, "outside/canary.txt"),
  ]);
});
