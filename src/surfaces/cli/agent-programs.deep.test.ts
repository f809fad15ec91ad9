/** Agent programs behind the front door: as the agent of a run, as sub-agent, in plans and in scripts. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Desk } from "./desk.test-support.ts";

/** Writes the file that its task names, says what it does, and asks no model. */
const program = `#!/usr/bin/env node
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
const send = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
const update = (update) => send({ method: "session/update", params: { sessionId: "s", update } });
const say = (text) => update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize") {
    send({ id, result: { protocolVersion: 1, agentInfo: { name: "fake", version: "1.2.3" }, agentCapabilities: {} } });
  } else if (method === "session/new") send({ id, result: { sessionId: "s" } });
  else if (method === "session/prompt") {
    const [, file = "made.txt"] = /write (\\S+\\.txt)/.exec(params.prompt[0].text) ?? [];
    say("I will write it.");
    update({ sessionUpdate: "plan", entries: [{ content: "Write", status: "in_progress", priority: "high" }] });
    const call = { toolCallId: "call_1", title: "Write " + file, kind: "edit", rawInput: { path: file } };
    update({ sessionUpdate: "tool_call", status: "pending", ...call });
    writeFileSync(file, "made\\n");
    update({ sessionUpdate: "tool_call_update", toolCallId: "call_1", status: "completed" });
    say("Written: " + file);
    send({ id, result: { stopReason: "end_turn" } });
  }
});
`;

let desk: Desk;
let environment: Record<string, string>;

beforeEach(() => {
  desk = new Desk();
  const file = join(desk.home, "program", "fake-agent.mjs");
  mkdirSync(dirname(file));
  writeFileSync(file, program, { mode: 0o755 });
  mkdirSync(join(desk.home, "mandate", "agents"), { recursive: true });
  writeFileSync(
    join(desk.home, "mandate", "agents", "scribe.md"),
    `---
name: scribe
description: Writes files
capabilities: [primary, subtask]
runner: { acp: ["${file}"] }
tools: [read_file, list_files, write_file, edit_file, shell]
---
You write files.
`,
  );
  // A program finds its interpreter where the PATH shows it.
  const PATH = `${dirname(process.execPath)}:${process.env["PATH"]}`;
  environment = { PATH, HOME: desk.home, ANTHROPIC_API_KEY: "not used" };
});

afterEach(() => desk.clear());

const made = (name: string): string => readFileSync(join(desk.folder, name), "utf8");

async function verified(): Promise<void> {
  const { code, out } = await desk.type(["verify"], { environment });
  expect([code, out]).toEqual([0, expect.stringContaining("everything holds")]);
}

function playbook(...replies: readonly string[]): string {
  return `--playbook=${desk.write("plan.yaml", `version: 1\nreplies:\n${replies.join("\n")}\n`)}`;
}

test("its texts, calls and plan are the transcript of its run, once each, and its file is merged", async () => {
  const ran = await desk.type(["run", "-p", "scribe", "write lamps.txt"], { environment });
  expect([ran.code, ran.out.trim(), made("lamps.txt")]).toEqual([
    0,
    "Written: lamps.txt",
    "made\n",
  ]);
  const listed = await desk.type(["ls", "--json"], { environment });
  const [{ id = "" } = {}] = JSON.parse(listed.out) as { id?: string }[];
  const { out: text } = await desk.type(["sessions", "export", id], { environment });
  for (const part of ["fake 1.2.3 works", "I will write it.", "edit: done", "Written: lamps.txt"]) {
    expect(text.split(part).length - 1, part).toBe(1);
  }
  expect(text).toContain("Write");
  const { out: logs } = await desk.type(["logs", id], { environment });
  expect(logs).toContain("fake 1.2.3 works");
  await verified();
}, 60_000);

test.each([
  ["delegate_task", "{ tool: delegate_task, input: { profile: scribe, task: write child.txt } }"],
])(
  "an agent has its sub-agent be a program with %s",
  async (tool, call) => {
    const file = playbook(
      `  - when: { depth: 0, turn: 1 }\n    calls: [${call}]`,
      `  - when: { depth: 0, turn: 2 }\n    ${tool === "spawn" ? "calls: [{ tool: spawn_await, input: {} }]" : "text: Done"}`,
      "  - { text: Done }",
    );
    const ran = await desk.type(["run", "-p", "orchestrator", file, "go"], { environment });
    expect([ran.code, made("child.txt"), ran.err]).toEqual([0, "made\n", expect.any(String)]);
    await verified();
  },
  60_000,
);

test("a step of a plan is done by a program", async () => {
  const plan = desk.write(
    "steps.yaml",
    "steps:\n  - { id: one, title: One, description: write step.txt, profile: scribe }\n",
  );
  const ran = await desk.type(["run", "--plan", plan], { environment });
  expect([ran.code, ran.err, made("step.txt")]).toEqual([0, expect.any(String), "made\n"]);
  await verified();
}, 60_000);

test("a workflow script names it as agentType", async () => {
  const script = desk.write(
    "write.js",
    `export const meta = { name: "write", description: "Writes" };
return await agent("write flow.txt", { agentType: "scribe" });
`,
  );
  await desk.type(["workflow", "check", "--trust", script], { environment });
  const words = ["workflow", "run", "--trust-folder", script];
  const ran = await desk.type(words, { environment });
  expect([ran.code, ran.out, ran.err]).toEqual([
    0,
    expect.stringContaining("flow.txt"),
    expect.any(String),
  ]);
  await verified();
}, 60_000);
