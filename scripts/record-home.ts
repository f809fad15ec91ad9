/**
 * Records a small home with runs of every kind, on the scripted model, and packs it:
 *
 *     node scripts/with-setup.mjs node scripts/record-home.ts FILE.tar.gz
 *
 * The archive is a test fixture of one version (see src/surfaces/recorded-home). It is made once.
 */

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { noExposure } from "../src/contracts/exposure.ts";
import type { PriceConfig } from "../src/control/config.ts";
import type { EventType, StoredEvent } from "../src/events/event.ts";
import { createMandate, defineTool, type Mandate, type Profile } from "../src/index.ts";
import { type Script, scriptedModel } from "../src/models/scripted/scripted-model.ts";
import { main } from "../src/surfaces/cli/main.ts";

const root = "/tmp/mandate-recorded";
const home = join(root, "home");
const workspace = join(root, "workspace");
const environment = { MANDATE_HOME: home, HOME: root, PATH: process.env["PATH"] ?? "" };
const operator = { id: "ada", role: "operator" } as const;

// Every part of the product reads this clock: the recording is of one morning, whenever it is made.
const began = Date.now();
const realNow = Date.now.bind(Date);
Date.now = () => Date.UTC(2026, 0, 5, 9) + realNow() - began;

const profile = (name: string, fields: Partial<Profile> = {}): Profile => ({
  name,
  description: `The ${name} of the recording`,
  capabilities: ["subtask"],
  prompt: `You are ${name}.`,
  origin: "recording",
  ...fields,
});

const profiles = [
  profile("boss", {
    capabilities: ["primary", "orchestrator"],
    tools: [
      ...["delegate_task", "list_files", "read_file", "write_file"],
      ...["spawn", "spawn_await", "submit_plan"],
    ],
    mayDelegate: { tools: "*" },
  }),
  profile("know-all", { capabilities: ["primary", "subtask", "orchestrator"], tools: "*" }),
  profile("spender", {
    ...{ capabilities: ["primary"], tools: ["list_files"] },
    model: { maxOutputTokens: 400 },
  }),
  profile("manager", { tools: ["delegate_task"], mayDelegate: { tools: "*" } }),
  profile("worker", { tools: ["list_files", "read_file", "memory_save"] }),
  profile("retrier", { tools: [], limits: { retries: 1 } }),
  profile("writer", { tools: ["write_file"] }),
  profile("approved-writer", { tools: ["write_file"], workspace: { approval: true } }),
  profile("rester", { tools: ["memory_save"], onParentInterrupt: "pause" }),
  profile("asker", { capabilities: ["primary"], tools: ["ask_user"] }),
  profile("reader", { capabilities: ["primary"], tools: ["read_file", "big"] }),
];

const big = defineTool({
  name: "big",
  description: "Says a lot.",
  effect: "read",
  exposure: noExposure,
  idempotent: true,
  scopes: [],
  input: z.strictObject({}),
  execute: () => "a line of a long output\n".repeat(10_000),
});

const never = (): Promise<never> => new Promise(() => undefined);
const call = (tool: string, input: object = {}) => ({ tool, input });
const delegate = (to: string, task: string) => call("delegate_task", { profile: to, task });
const step = (id: string, fields: object = {}) => ({
  ...{ id, title: `Do ${id}`, description: id, profile: "worker" },
  ...fields,
});

/** What the boss calls, turn by turn, for each of its tasks. */
const bossCalls: Readonly<Record<string, readonly (readonly object[])[]>> = {
  "old work": [[delegate("worker", "old help")]],
  nested: [[delegate("manager", "lead the worker")], [call("list_files")]],
  retried: [[delegate("retrier", "fail twice")]],
  mixed: [[delegate("worker", "break"), delegate("worker", "look around")]],
  cancelled: [[delegate("worker", "quick"), delegate("worker", "stuck")]],
  "taken over": [[delegate("worker", "quick"), delegate("worker", "slow")]],
  paused: [[delegate("rester", "stuck until resumed")]],
  "merge one, conflict two": [
    ["one", "two", "three"].map((word) => delegate("writer", `write ${word}`)),
  ],
  "merge what a person approves": [
    ["yes", "no"].map((word) => delegate("approved-writer", `write ${word}`)),
  ],
  denied: [
    [
      call("no_such_tool"),
      call("write_file", { path: "../outside.txt", content: "x" }),
      call("read_file", { wrong: true }),
      delegate("nobody", "this"),
    ],
  ],
  plan: [
    [
      call("submit_plan", {
        goal: "a report",
        steps: [
          step("gather"),
          step("measure"),
          step("write", { depends_on: ["gather", "measure"], profile: "writer" }),
          step("check", { depends_on: ["write"] }),
        ],
      }),
    ],
  ],
  "plan that fails": [
    [
      call("submit_plan", {
        goal: "a report",
        steps: [step("break"), step("after", { depends_on: ["break"] })],
      }),
    ],
  ],
  watched: [[call("list_files")], [call("list_files")], [call("list_files")]],
  "spawn and wait": [
    [call("spawn", { task: "look around", profile: "worker" })],
    [call("spawn_await", { job_ids: "*" })],
  ],
  "spawn and leave": [[call("spawn", { task: "stuck", profile: "worker" })]],
};

/** Set by the events that a turn waits for. */
const remarked = Promise.withResolvers<void>();
const watching = Promise.withResolvers<void>();
let isTakenOver = false;

const script: Script = async ({ caller, messages, tools }) => {
  const { profile: who, task, turn } = caller;
  switch (who) {
    case "boss": {
      if (task === "watched" && turn === 1) await watching.promise;
      if (task === "watched" && turn === 2) await remarked.promise;
      // Time for the watcher to see the last calls.
      if (task === "watched" && turn > 2) await sleep(150);
      if (task === "provider rejects") return { fault: "rejected" };
      if (task === "out of time") return { fault: "hang" };
      if (task === "more than reserved") {
        return { text: "done", usage: { prompt: 20_000, completion: 9000 } };
      }
      if (task === "usage unknown") return { fault: "no-usage", text: "done" };
      const calls = bossCalls[task]?.[turn - 1];
      return calls === undefined ? `${task}: done` : { calls: calls as { tool: string }[] };
    }
    case "spender": {
      const usage = { prompt: 300 * turn, completion: 100 };
      if (tools.length === 0) return { text: "the best so far", usage };
      return { calls: [call("list_files", { path: ".", limit: turn })], usage };
    }
    case "know-all":
      return "I know";
    case "manager":
      return turn === 1 ? { calls: [delegate("worker", "remember the port")] } : "led";
    case "retrier":
      if (caller.attempt === 1) return { fault: "overloaded", retry_after_ms: 5 };
      return caller.try === 1 ? { fault: "connection", partial: "half a" } : "at last";
    case "pair":
      if (messages.at(-1)?.role === "tool" || !messages.at(-1)?.text.includes("list_files")) {
        return "ok";
      }
      return { calls: [call("interject", { severity: "warn", message: "Mind the tests." })] };
    case "writer":
    case "approved-writer": {
      const path = who === "writer" ? "a.txt" : `${task.replace("write ", "")}.txt`;
      return turn === 1
        ? { calls: [call("write_file", { path, content: `${task}\n` })] }
        : "written";
    }
    case "asker":
      return turn === 1
        ? { calls: [call("ask_user", { message: "Blue or green?" })] }
        : `told: ${messages.at(-1)?.text}`;
    case "reader":
      return turn === 1 ? { calls: [call("big")] } : `read: ${task}`;
    case "rester":
      return turn === 1 ? { calls: [call("memory_save", { text: "I was here." })] } : never();
    default:
      if (task === "remember the port" && turn === 1) {
        return { calls: [call("memory_save", { text: "The port is 8080.", tags: ["port"] })] };
      }
      if (task === "look around" && turn === 1) return { calls: [call("list_files")] };
      if (task.startsWith("break")) return { fault: "rejected" };
      if (task === "stuck") return never();
      if (task === "slow" && !isTakenOver) return never();
      return `${task}: done`;
  }
};

function open(prices: Record<string, PriceConfig>): Promise<Mandate> {
  return createMandate({
    ...{ environment, cwd: workspace, profiles, principal: operator },
    tools: [big],
    scripted: scriptedModel(script),
    config: {
      agents: { delegation: { profiles: { directory: join(root, "agents") } } },
      models: { prices },
      tools: { spawn: { enabled: true } },
    },
    limits: { backoffMs: 1, watchIntervalMs: 5, requestTries: 2, askDeadlineMs: 2_000_000_000 },
  });
}

const hourMs = 3_600_000;

async function type(words: readonly string[], laterMs = 0): Promise<string> {
  let said = "";
  const screen = { isTerminal: false, columns: 80, rows: 24 };
  const write = (text: string): void => {
    said += text;
  };
  const code = await main(words, {
    ...{ environment, cwd: workspace, program: "mandate", pid: process.pid },
    stdout: { ...screen, write, writeExact: write },
    stderr: { ...screen, write, writeExact: write },
    now: () => Date.now() + laterMs,
    onSignal: () => () => undefined,
    leave: (left) => process.exit(left),
  });
  if (code !== 0) throw new Error(`mandate ${words.join(" ")} gave ${code}: ${said}`);
  return said;
}

/** The first event of this type, once it is in the log. */
async function until(mandate: Mandate, runId: string, type: EventType): Promise<StoredEvent> {
  for (;;) {
    for await (const event of mandate.events({ runId })) if (event.type === type) return event;
    await sleep(5);
  }
}

function prepare(): void {
  rmSync(root, { recursive: true, force: true });
  mkdirSync(join(workspace, ".mandate", "agents"), { recursive: true });
  writeFileSync(join(workspace, "a.txt"), "before\n");
  writeFileSync(
    join(workspace, ".mandate", "agents", "reviewer.md"),
    "---\nname: reviewer\ndescription: Reviews what others wrote\ntools: [read_file]\n---\nYou review.\n",
  );
  const git = (...words: readonly string[]) =>
    execFileSync("git", [
      "-C",
      workspace,
      "-c",
      "user.name=Ada",
      "-c",
      "user.email=ada@example.com",
      ...words,
    ]);
  git("init", "--quiet", "--initial-branch=main");
  git("add", "--all");
  git("commit", "--quiet", "--message=First");
}

/** Without prices. One run is pruned, one is left by a worker that dies. */
async function recordFirst(): Promise<void> {
  const mandate = await open({});
  await mandate.delegate({ profile: "boss", task: "old work", workspace });
  await type(["prune", "--older-than", "1h"], hourMs * 2);
  await mandate.delegate({ profile: "boss", task: "retried", workspace });
  const { runId } = await mandate.start({ profile: "boss", task: "taken over", workspace });
  await until(mandate, runId, "agent.subagent_closed");
  await mandate.close();
}

async function say(mandate: Mandate, text: string, run?: string): Promise<void> {
  const reply = await mandate.command(text, { ...operator, workspace, ...(run && { run }) });
  if (!reply.ok) throw new Error(`${text}: ${JSON.stringify(reply)}`);
}

/** With prices. Two runs are left open: one is paused, one waits for an answer. */
async function recordSecond(): Promise<void> {
  isTakenOver = true;
  const mandate = await open({ "scripted/playbook": { input: 3, output: 15, cacheWrite: 3.75 } });
  for (const { result } of mandate.recovered) await result;
  const run = (task: string, more: object = {}, who = "boss") =>
    mandate.delegate({ profile: who, task, workspace, ...more });
  await say(mandate, "/agents register @helper | worker | Helps with small things");
  await say(mandate, "/agents pin @helper --workspace");
  await run("look around", {}, "@helper");

  const nested = await mandate.start({ profile: "boss", task: "nested", workspace });
  await nested.result;
  const [memory] = await mandate.memory.list();
  if (memory !== undefined) await mandate.memory.promote(memory.id);
  await run("mixed");
  await run("provider rejects");
  await run("out of time", { timeout: 300 });
  await run("spend it all", { maxTokenBudget: 6000 }, "spender");
  await run("too little for one answer", { maxTokenBudget: 6000 });
  await run("all tools in the prompt", {}, "know-all");
  await run("usage unknown", { maxCost: 0.5 });
  await run("more than reserved");
  await run("denied");
  await run("plan");
  await run("plan that fails");
  await run("spawn and wait");
  await run("spawn and leave");
  await run("look at a lot", {}, "reader");

  const cancelled = await mandate.start({ profile: "boss", task: "cancelled", workspace });
  await until(mandate, cancelled.runId, "agent.subagent_closed");
  await mandate.cancel(cancelled.delegationId, "enough");
  await cancelled.result;

  const conflicted = await run("merge one, conflict two");
  const lost = conflicted.subDelegations?.at(-1);
  if (lost !== undefined) await mandate.discard(lost.delegationId, { deleteChanges: true });
  const stopAnswering = mandate.on("agent.asked", ({ payload }) => {
    void mandate.answer(payload.ask_id, payload.question.includes("write no") ? "no" : "yes");
  });
  await run("merge what a person approves");
  await run("be told", {}, "asker");
  stopAnswering();

  const watched = await mandate.start({ profile: "boss", task: "watched", workspace });
  const stopWatching = mandate.on("agent.interjected", ({ payload }) => {
    if (payload.from.startsWith("watcher:")) remarked.resolve();
  });
  await say(mandate, "/pair on", watched.runId);
  watching.resolve();
  await watched.result;
  stopWatching();

  const first = await run("hello");
  const second = await mandate.sessions.continue(first.delegationId, "and now?");
  await second.result;
  await mandate.sessions.rename(second.runId, "Greetings");

  const goals = [];
  for (const task of ["first goal", "second goal"]) {
    goals.push(await mandate.start({ profile: "boss", task, workspace, isGoal: true }));
  }
  for (const { result } of goals) await result;

  const closed = await until(mandate, nested.runId, "agent.subagent_closed");
  await (await mandate.fork(nested.runId, { at: closed.run_seq })).result;

  const { tools, close } = await mandate.tools({ client: "another program", workspace });
  await tools["delegate_task"]?.execute({ profile: "worker", task: "help another program" });
  await close();

  const items = await mandate.inbox.read();
  await mandate.inbox.markRead(items[3]?.id ?? 0);

  // Without a folder: these two can go on wherever the recording is opened.
  const paused = await mandate.start({ profile: "boss", task: "paused" });
  await until(mandate, paused.runId, "agent.tool_completed");
  await (await mandate.interrupt(paused.runId, "I have to go")).settled;
  const asking = await mandate.start({ profile: "asker", task: "wait for an answer" });
  await until(mandate, asking.runId, "agent.asked");
  await mandate.close();
}

/** One file, nothing beside it, and no worker that could seem alive. */
function checkpoint(): void {
  const database = new DatabaseSync(join(home, "mandate.db"));
  database.exec("PRAGMA wal_checkpoint(TRUNCATE); VACUUM;");
  database.close();
}

async function record(file: string): Promise<void> {
  if (existsSync(file)) throw new Error(`${file} exists, and no recording is made again.`);
  prepare();
  await recordFirst();
  await recordSecond();
  await type(["profiles", "trust", "reviewer"]);
  console.log(await type(["verify"]));
  checkpoint();
  mkdirSync(dirname(file), { recursive: true });
  execFileSync("tar", [
    "--exclude=./mandate.db-*",
    "--sort=name",
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    "--mtime=2026-01-05 10:00Z",
    "-C",
    home,
    "-czf",
    file,
    ".",
  ]);
}

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error("Say where the archive goes: record-home.ts FILE.tar.gz");
await record(resolve(file));
// A provider that never answers holds nothing that has to be waited for.
process.exit(0);
