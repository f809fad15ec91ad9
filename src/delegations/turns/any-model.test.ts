import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import type { ScriptedCall, ScriptedReply } from "../../models/scripted/playbook.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import type { Message, ModelRequest } from "../../ports/model.ts";
import { cases } from "../../testing/cases.test-support.ts";
import {
  type EngineOptions,
  ofType,
  openEngine,
  type TestEngine,
  testProfile,
} from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";
import { defineTool } from "../../tools/tool.ts";

const tick = (name: string, idempotent: boolean) =>
  defineTool({
    name,
    description: "Does something.",
    effect: idempotent ? "read" : "exec",
    exposure: noExposure,
    idempotent,
    scopes: [],
    input: z.strictObject({ n: z.int() }),
    async execute({ n }) {
      await delay(n % 4);
      if (n % 7 === 0) throw new Error("it broke");
      return "x".repeat((n % 5) * 300);
    },
  });

const tools = [tick("read_it", true), tick("change_it", false)];
const leaf = ["read_it", "change_it", "ask_user", "write_file", "complete_task"];
const all = [
  ...leaf,
  "spawn",
  "spawn_await",
  "delegate_task",
  "cancel_delegation",
  "get_delegation_result",
  "list_sub_agents",
];
const profiles = [
  testProfile("agent", { tools: all, limits: { timeoutMs: 3000 } }),
  testProfile("hasty", { tools: all, limits: { timeoutMs: 25 } }),
  testProfile("closer", {
    tools: leaf,
    exit: { tools: ["complete_task"], evidence: "tool_calls" },
  }),
  testProfile("poor", { tools: leaf, limits: { tokens: 9000 } }),
];

/** Gives one number for one moment of a delegation, before and after a crash. */
function numbersFor(seed: number, { caller, messages }: ModelRequest): (below: number) => number {
  const told = messages.map(
    ({ role, text }) => `${role}${text.replaceAll(/[0-9a-f]{6,}|"duration":\d+/g, "")}`,
  );
  const { task, depth, attempt, turn } = caller;
  const state = createHash("sha256")
    .update(JSON.stringify([seed, task, depth, attempt, turn, caller.try, told]))
    .digest();
  let at = 0;
  return (below) => (state[at++ % state.length] ?? 0) % below;
}

function jobs(messages: readonly Message[]): string[] {
  return messages.flatMap((each) => {
    if (each.role !== "tool" || each.isError) return [];
    if (each.tool === "spawn") return each.text;
    return each.tool === "delegate_task" ? String(JSON.parse(each.text).delegationId) : [];
  });
}

/** Whatever a model can do, well or badly. */
function anything(seed: number): Script {
  return (request) => {
    const pick = numbersFor(seed, request);
    const { caller, messages } = request;
    const known = jobs(messages);
    const job = known[pick(known.length || 1)] ?? "ffffff";
    const profile = ["agent", "hasty", "closer", "poor", "agent", "nobody"][pick(6)];
    const task = `${caller.task.slice(-12)}.${caller.turn}${pick(9)}`;
    const someCall = (): ScriptedCall => {
      const calls: ScriptedCall[] = [
        { tool: "read_it", input: { n: pick(30) } },
        { tool: "change_it", input: { n: pick(30) } },
        { tool: "spawn", input: { task, profile } },
        {
          tool: "delegate_task",
          input: { task, profile, ...(pick(3) === 0 && { timeout: 1 + pick(60) }) },
        },
        {
          tool: "spawn_await",
          input: { job_ids: "*", ...(pick(2) === 0 && { max_wait_ms: 1 + pick(20) }) },
        },
        { tool: "cancel_delegation", input: { delegationId: job } },
        { tool: "get_delegation_result", input: { delegationId: job } },
        { tool: "list_sub_agents", input: {} },
        { tool: "ask_user", input: { message: "well?" } },
        { tool: "write_file", input: { path: "../x", content: "" } },
        { tool: "no_such_tool", input: {} },
        { tool: "spawn", input: { task: `${task}!`, profile } },
        { tool: "delegate_task", input: { task: `${task}!`, profile } },
        ...(caller.depth === 0 ? [] : [{ tool: "complete_task", input: { summary: task } }]),
      ];
      return calls[pick(calls.length)] ?? { tool: "read_it", input: {} };
    };
    const latency_ms = pick(4);
    const kind = pick(16);
    if (caller.turn > 6) return { text: `enough of ${caller.task}`, latency_ms };
    const faults: ScriptedReply["fault"][] = [
      "empty",
      "length",
      "overloaded",
      "connection",
      "no-usage",
    ];
    const worse: ScriptedReply["fault"][] = [
      "context-overflow",
      "malformed-call",
      "rate-limited",
      "rejected",
    ];
    if (kind === 0) return { text: "t", fault: faults[pick(5)], latency_ms };
    if (kind === 1) {
      const fault = worse[pick(4)];
      return { text: "t", fault, ...(fault === "rate-limited" && { retry_after_ms: pick(6) }) };
    }
    if (kind === 2 && caller.depth > 0) return { text: `done with ${caller.task}`, latency_ms };
    if (kind === 3 && pick(4) === 0) return { text: "t", served: "another" };
    return {
      text: pick(2) === 0 ? "thinking" : "",
      latency_ms,
      calls: Array.from({ length: 1 + pick(3) }, someCall),
    };
  };
}

const limits = {
  maxChildren: 25,
  maxOutputTokens: 500,
  askDeadlineMs: 8,
  askDefault: "yes",
  requestTries: 3,
  toolOutputBytes: 500,
  joinTokens: 300,
  deadlines: { firstTokenMs: 1000, stallMs: 1000, toolMs: 1000, idleMs: 5000 },
};

async function ended(mandate: TestEngine, runId: string): Promise<boolean> {
  return ofType(await mandate.events(runId), "run.finished").length > 0;
}

const seeds = Array.from({ length: cases(400, 4) }, (_, n) => n + 1);

it.each(seeds)("whatever its models do, a run ends, and its log holds (%i)", async (seed) => {
  const options: EngineOptions = {
    profiles,
    tools,
    limits,
    model: anything(seed),
    maxConcurrent: 1 + (seed % 5),
  };
  await using mandate = await openEngine(options);
  let current = mandate;
  let commits = 0;
  const dies = seed % 3 === 0 ? 2 + (seed % 23) : Number.POSITIVE_INFINITY;
  const died = new Promise<"died">((resolve) => {
    mandate.store.subscribe(() => {
      if (++commits !== dies) return;
      mandate.abandon();
      resolve("died");
    });
  });
  const request = {
    task: `seed ${seed}`,
    profile: "agent",
    budgetTokens: 150_000,
    workspace: mandate.workspace,
  };
  const running = mandate.start(request);
  const finished = running.then(async ({ runId, result }) => {
    if (seed % 4 === 1) {
      await delay(seed % 30);
      const state = await mandate.store.readRun(runId);
      const all = [...(state?.delegations.keys() ?? [])];
      await mandate.engine.cancel(all[seed % all.length] ?? runId, "from outside");
    }
    return result;
  });
  const outcome = await Promise.race([died, finished.catch(() => died)]);
  if (outcome === "died") {
    current = await mandate.another(options);
    const recovered = await current.engine.recover();
    await Promise.all(recovered.map(({ result }) => result));
  }
  const rows = await current.store.listRuns({});
  for (const { id } of rows) expect(await ended(current, id)).toBe(true);
  // Every slot is given back, also by those who were writing a report when the run ended.
  const { scheduler } = current.parts;
  await until("every slot is given back", () => scheduler.running === 0);
  expect([scheduler.running, scheduler.queued]).toEqual([0, 0]);
});
