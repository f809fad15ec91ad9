import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Desk } from "./desk.test-support.ts";

let desk: Desk;

beforeEach(() => {
  desk = new Desk();
});

afterEach(() => desk.clear());

/** No agent program and no key of this machine is found. */
const bare = { PATH: "", HOME: "/nowhere" };

test("an agent program that is not installed is named with how to install it, before a run exists", async () => {
  const environment = { ...bare, ANTHROPIC_API_KEY: "k" };
  const words = ["run", "--agent", "claude-code", "--max-cost", "2", "Count"];
  const { code, err } = await desk.type(words, { environment });
  expect(err).toContain("npm install -g @agentclientprotocol/claude-agent-acp");
  expect(code).toBe(3);
  const { out } = await desk.type(["ls", "--json"], { environment });
  expect(JSON.parse(out)).toEqual([]);
});

test("an unknown program lists the known ones, and only one option names the agent", async () => {
  const unknown = await desk.type(["run", "--agent", "cloude-code", "Count"], {
    environment: bare,
  });
  expect(unknown.code).toBe(2);
  expect(unknown.err).toMatch(/claude-code, codex, gemini, opencode .*Did you mean claude-code\?/);
  const both = await desk.type(["run", "--agent", "codex", "-p", "codex", "Count"]);
  expect([both.code, both.err]).toEqual([2, expect.stringContaining("give one of them")]);
});

test("doctor says of each program whether it is installed, its version, and what to do", async () => {
  const folder = join(desk.home, "bin");
  mkdirSync(folder);
  const install = (name: string, version: string): void => {
    const own = join(desk.home, "packages", name);
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, "package.json"), JSON.stringify({ name, version }));
    writeFileSync(join(own, "main"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
    symlinkSync(join(own, "main"), join(folder, name));
  };
  install("gemini", "0.61.0");
  install("codex-acp", "2.6.0");
  const environment = { ...bare, PATH: `${folder}:/usr/bin:/bin`, OPENAI_API_KEY: "k" };
  const { out } = await desk.type(["doctor", "--json"], { environment });
  const { agents } = JSON.parse(out) as { agents: readonly Record<string, unknown>[] };
  expect(agents.map(({ agent, version }) => [agent, version])).toEqual([
    ["claude-code", null],
    ["codex", "2.6.0"],
    ["gemini", "0.61.0"],
    ["opencode", null],
  ]);
  const [claude, codex, gemini] = agents;
  expect(claude).toMatchObject({ path: null, problem: expect.stringContaining("Install it") });
  expect(codex).toMatchObject({
    path: join(desk.home, "packages/codex-acp/main"),
    provider: "openai",
  });
  expect(gemini).toMatchObject({ provider: null, set: expect.stringContaining("GEMINI_API_KEY") });
  const said = await desk.type(["doctor"], { environment });
  expect(said.out).toMatch(/○ claude-code +.*npm install -g @agentclientprotocol/);
});
