/**
 * Kills a workflow of 40 agents with SIGKILL after each of its appends, in real processes, resumes it
 * in another process, and compares: no finished agent runs again, the result is that of an undisturbed
 * run, and the log passes the checker.
 *
 * npm run torture:workflows -- [--step N] [--from N] [--patterns 0,1,2,3] [--beside N]
 */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { verifyHome } from "../src/application/verify-home.ts";
import { defaultConfig } from "../src/control/config.ts";
import type { StoredEvent } from "../src/events/event.ts";
import { scriptedModel } from "../src/models/scripted/scripted-model.ts";
import { openStore } from "../src/open-store.ts";
import { createRuntime } from "../src/runtime.ts";

const agents = 40;

/** How long each agent takes, by the number in its prompt. */
const patterns: readonly ((n: number) => number)[] = [
  () => 1,
  (n) => 20 - (n % 20),
  (n) => (n * 7) % 13,
  (n) => (n % 5 === 0 ? 40 : 2),
];

const child = `export const meta = { name: "child", description: "Six agents" }
return await parallel([30, 31, 32, 33, 34, 35].map((n) => () => agent("n" + n)))`;

const script = `export const meta = { name: "torture", description: "Forty agents" }
phase("Pipeline")
const first = await pipeline([0, 1, 2, 3, 4, 5, 6, 7], (n) => agent("n" + n), (v, n) => agent("n" + (n + 8) + " after " + v))
log(first.length + " pipelines")
phase("Votes")
const votes = await parallel(Array.from({ length: 10 }, () => () => agent("n20 vote")))
await new Promise((resolve) => setTimeout(resolve, 5))
phase("Child")
const below = await workflow("child")
const rest = await Promise.all([22, 23, 24, 25, 26, 27, 28].map((n) => agent("n" + n)))
return { first, votes, below, rest, last: await agent("n39 last") }`;

if (process.argv[2] === "--in-process") await workIn(process.argv.slice(3));
else process.exitCode = await main();

/** One process: starts or recovers the run, and dies after so many appends. */
async function workIn([folder = "", pattern = "0", kill = "0"]: readonly string[]): Promise<void> {
  const latency = patterns[Number(pattern)] ?? (() => 1);
  const runtime = await createRuntime({
    consent: "named",
    cwd: join(folder, "project"),
    environment: { HOME: folder, MANDATE_HOME: join(folder, "home"), PATH: process.env["PATH"] },
    config: { ...defaultConfig, profiles: [], files: [] },
    trustWorkspace: true,
    profiles: [
      {
        name: "general",
        description: "g",
        capabilities: ["subtask"],
        prompt: "",
        tools: [],
        origin: "x",
      },
    ],
    scripted: scriptedModel(({ caller: { task } }) => {
      const n = Number(/^n(\d+)/.exec(task)?.[1] ?? 0);
      return { text: `done ${task.slice(0, 20)}`, latency_ms: latency(n) };
    }),
  });
  let appends = 0;
  runtime.store.subscribe(() => {
    appends += 1;
    if (appends === Number(kill)) process.kill(process.pid, "SIGKILL");
  });
  const [open] = await runtime.store.listRuns({});
  if (open === undefined) {
    const { hash } = await runtime.store.keepArtifact(JSON.stringify({ script }));
    const run = await runtime.engine.startRun({
      task: "torture",
      profile: "workflow-runner",
      context: `workflow ${hash}`,
      workspace: join(folder, "project"),
    });
    await run.result;
  } else {
    for (const run of await runtime.engine.recover()) await run.result;
  }
  await runtime.close();
}

interface Outcome {
  readonly result: string;
  readonly turns: number;
  readonly asked: ReadonlyMap<string, number>;
  readonly problems: number;
}

async function look(folder: string): Promise<Outcome> {
  const environment = { HOME: folder, MANDATE_HOME: join(folder, "home") };
  const store = await openStore({ environment });
  const events: StoredEvent[] = [];
  let problems = 0;
  try {
    const { violations } = await verifyHome(store, { places: null });
    problems = violations.length;
    const [row] = await store.listRuns({});
    if (row === undefined) return { result: "no run", turns: 0, asked: new Map(), problems: 0 };
    for await (const event of store.readEvents({ runId: row.id })) events.push(event);
  } finally {
    await store.close();
  }
  const asked = new Map<string, number>();
  let result = "open";
  let root: string | undefined;
  for (const { payload, sub_agent_id: id = "", type } of events) {
    if (type === "agent.subagent_created" && payload.parent_id === null) root = id;
    if (type === "agent.model_turn" && id !== root) asked.set(id, (asked.get(id) ?? 0) + 1);
    if (type === "agent.subagent_waiting_for_merge" && id === root) result = payload.output;
  }
  const turns = [...asked.values()].reduce((sum, count) => sum + count, 0);
  return { result, turns, asked, problems };
}

async function run(folder: string, pattern: number, kill: number): Promise<"died" | "ended"> {
  const words = [import.meta.filename, "--in-process", folder, String(pattern), String(kill)];
  const program = spawn(process.execPath, words, { stdio: ["ignore", "inherit", "inherit"] });
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) => {
    program.on("close", (...ended) => resolve(ended));
  });
  if (signal === "SIGKILL") return "died";
  if (code !== 0) throw new Error(`the process ended with ${code ?? signal}`);
  return "ended";
}

function place(): string {
  const folder = mkdtempSync(join(tmpdir(), "mandate-torture-workflow-"));
  const folders = join(folder, "project", ".claude", "workflows");
  mkdirSync(folders, { recursive: true });
  writeFileSync(join(folders, "child.js"), child);
  return folder;
}

/** One kill and the run after it. "ended": there was no such append any more. */
async function round(pattern: number, kill: number, expected: string): Promise<"ended" | string[]> {
  const folder = place();
  try {
    if ((await run(folder, pattern, kill)) === "ended") return "ended";
    await run(folder, pattern, 0);
    const { asked, problems, result, turns } = await look(folder);
    // Killed before the run was written: the second process has started it.
    const again = [...asked.values()].filter((count) => count > 1).length;
    return [
      ...(result === expected ? [] : [`another result: ${result.slice(0, 200)}`]),
      ...(turns === agents && again === 0 ? [] : [`${turns} answers of ${asked.size} agents`]),
      ...(problems === 0 ? [] : [`${problems} violations`]),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      step: { type: "string", default: "1" },
      from: { type: "string", default: "1" },
      patterns: { type: "string", default: "0,1,2,3" },
      beside: { type: "string", default: "2" },
    },
  });
  let failed = 0;
  for (const pattern of values.patterns.split(",").map(Number)) {
    const folder = place();
    await run(folder, pattern, 0);
    const { result: expected, turns } = await look(folder);
    rmSync(folder, { recursive: true, force: true });
    if (turns !== agents) throw new Error(`the undisturbed run has ${turns} agents`);
    let kill = Number(values.from);
    let kills = 0;
    let repeated = 0;
    const worker = async (): Promise<void> => {
      for (let isOver = false; !isOver; ) {
        const at = kill;
        kill += Number(values.step);
        const problems = await round(pattern, at, expected);
        isOver = problems === "ended";
        if (problems === "ended") continue;
        kills += 1;
        if (problems.length === 0) continue;
        repeated += 1;
        console.log(`pattern ${pattern}, append ${at}: ${problems.join("; ")}`);
      }
    };
    await Promise.all(Array.from({ length: Number(values.beside) }, worker));
    failed += repeated;
    console.log(`pattern ${pattern}: ${kills} kills, ${repeated} with a finding`);
  }
  return failed === 0 ? 0 : 1;
}
