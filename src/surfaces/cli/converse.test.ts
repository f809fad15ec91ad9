import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { KnownAgent } from "../../contracts/agent-runner.ts";
import { Desk } from "./desk.test-support.ts";

const playbook = `
version: 1
replies:
  - when: { profile: general, turn: 1, task: "hand it on" }
    calls: [{ tool: delegate_task, input: { profile: coder, task: "make it" } }]
  - when: { profile: general }
    text: "{{last}}"
  - text: "Hello, what can I do?"
`;

let desk: Desk;

beforeEach(() => {
  desk = new Desk();
  desk.write("book.yaml", playbook);
});
afterEach(() => desk.clear());

const run = (...words: string[]) => desk.type(["run", "--playbook", "book.yaml", ...words]);

// general is scripted above; the runners carry out a plan's file or a script, and ask no model.
const others: ReadonlySet<string> = new Set([
  ...["general", "plan-runner", "workflow-runner"],
  // Programs that have to be installed.
  ...(["claude-code", "codex", "gemini", "opencode"] satisfies readonly KnownAgent[]),
]);
const shipped = readdirSync(join(import.meta.dirname, "../../agents/shipped"))
  .map((file) => file.replace(/\.md$/, ""))
  .filter((name) => !others.has(name));

test.each(shipped)("a person can talk with %s, and go on talking", async (profile) => {
  const first = await run("--profile", profile, "--json", "hello");
  expect(first.code).toBe(0);
  const { delegationId, outcome, result } = JSON.parse(first.out);
  expect([outcome, result]).toEqual(["succeeded", "Hello, what can I do?"]);
  const next = await run("--continue", delegationId, "and again");
  expect([next.code, next.out]).toEqual([0, "Hello, what can I do?\n"]);
});

test("work that an agent delegates still has to show what was done", async () => {
  const { code, out } = await run("hand it on");
  expect(code).toBe(0);
  expect(out).toContain("exit_rule_unmet");
});
