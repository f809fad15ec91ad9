import { rmSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { ModelFault, type ModelUsage } from "../../ports/model.ts";
import {
  alterDatabase,
  isDistributed,
  isOnPostgres,
  notOffered,
} from "../../testing/alter-database.test-support.ts";
import { ofType, openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { initRepository } from "../../testing/git-workspace.test-support.ts";
import { defineTool } from "../../tools/tool.ts";
import { replayAgain } from "./replay-again.test-support.ts";

const same = { differences: [], isFinished: true };
const boss = testProfile("boss", { capabilities: ["primary"] });
const delegate = (profile: string, task: string) => ({
  tool: "delegate_task",
  input: { profile, task },
});

test("no model is asked and no tool runs: there is nothing but the recording", async () => {
  let [asked, ran] = [0, 0];
  const count = defineTool({
    name: "count",
    description: "Counts how often it runs.",
    effect: "write",
    exposure: noExposure,
    idempotent: false,
    scopes: [],
    input: z.strictObject({}),
    execute: () => `run ${++ran}`,
  });
  await using engine = await openEngine({
    profiles: [boss],
    tools: [count],
    model({ caller }) {
      asked++;
      return caller.turn < 3 ? { calls: [{ tool: "count", input: {} }] } : "done";
    },
  });
  const { runId } = await engine.run({ task: "go", profile: "boss", workspace: engine.workspace });
  expect([asked, ran]).toEqual([3, 2]);
  expect(await replayAgain(engine.store, runId)).toMatchObject(same);
  expect([asked, ran]).toEqual([3, 2]);
});

test("work that was handed in for review by a program's own tool is handed in again", async ({
  skip,
}) => {
  if (isDistributed) skip(notOffered.replay);
  const handIn = defineTool({
    name: "hand_in",
    description: "Hands in what was made.",
    effect: "read",
    exposure: noExposure,
    idempotent: true,
    scopes: [],
    mayComeBack: true,
    input: z.strictObject({}),
    ends: () => "unseen",
    execute: () => ({ text: "Approved.", exit: "the text" }),
  });
  await using engine = await openEngine({
    profiles: [
      testProfile("reviewer"),
      testProfile("writer", { tools: ["hand_in"], exit: { review: { profile: "reviewer" } } }),
    ],
    tools: [handIn],
    model: () => ({ calls: [{ tool: "hand_in", input: {} }] }),
  });
  const { result, runId } = await engine.run({ task: "go", profile: "writer" });
  expect(result.status).toBe("completed");
  expect(await replayAgain(engine.store, runId)).toMatchObject(same);
});

test("faults, retries, another attempt and a fallback happen again without their waits", async () => {
  const kinds = ["overloaded", "connection", "rate-limited"] as const;
  await using engine = await openEngine({
    profiles: [boss, testProfile("worker", { limits: { retries: 1 } })],
    limits: { backoffMs: 20, requestTries: 3 },
    async model({ caller }) {
      if (caller.profile === "boss") {
        return caller.turn === 1 ? { calls: [delegate("worker", "one")] } : "done";
      }
      if (caller.attempt === 2) return caller.try === 1 ? { fault: "overloaded" } : "at last";
      throw new ModelFault(kinds[caller.try - 1] ?? "overloaded", `${caller.try} of three`, {
        retryAfterMs: 30,
        partial: "half a",
      });
    },
  });
  const { events, runId } = await engine.run({ task: "go", profile: "boss" });
  expect(ofType(events, "agent.retried").map(({ payload }) => payload.what)).toEqual([
    ...["request", "request", "attempt", "request"],
  ]);
  expect(await replayAgain(engine.store, runId)).toMatchObject(same);
});

test("refusals, malformed calls and a turn that middleware refused happen again", async () => {
  const script: Script = ({ caller }) => {
    if (caller.profile === "worker") return "never heard";
    if (caller.turn === 2) return "done";
    return {
      calls: [
        { tool: "no_such_tool", input: {} },
        { tool: "write_file", input: { path: "../x", content: "" } },
        { tool: "read_file", input: { wrong: true } },
        delegate("nobody", "this"),
        delegate("worker", "that"),
      ],
    };
  };
  await using engine = await openEngine({
    profiles: [boss, testProfile("worker")],
    model: script,
    middleware: [
      {
        turn(context, next) {
          if (context.depth > 0) throw new Error("not today");
          return next();
        },
      },
    ],
  });
  const { events, runId } = await engine.run({
    task: "go",
    profile: "boss",
    workspace: engine.workspace,
  });
  expect(ofType(events, "agent.tool_denied").map(({ payload }) => payload.rule)).toEqual([
    ...["unknown_tool", "invalid_input", "path_outside_workspace"],
  ]);
  expect(ofType(events, "agent.subagent_failed")[0]?.payload.error).toContain("not today");
  expect(await replayAgain(engine.store, runId)).toMatchObject(same);
});

/** Goes on for as long as it has tools. */
function eat(usage: ModelUsage, tools: readonly unknown[]) {
  if (tools.length === 0) return { text: "the best I have", usage };
  return { calls: [{ tool: "list_files", input: {} }], usage, latency_ms: 1 };
}

test("budgets that siblings race for, and last turns, come out the same", async ({ skip }) => {
  skip(isDistributed, notOffered.replay);
  await using engine = await openEngine({
    profiles: [boss, testProfile("greedy", { tools: ["list_files"] })],
    maxConcurrent: 3,
    model({ caller, maxOutputTokens, tools }) {
      if (caller.profile === "boss") {
        if (caller.turn > 1) return "done";
        return { calls: Array.from({ length: 12 }, (_, index) => delegate("greedy", `${index}`)) };
      }
      return eat({ prompt: 600, completion: Math.min(400, maxOutputTokens) }, tools);
    },
  });
  const { events, runId } = await engine.run({
    task: "go",
    profile: "boss",
    workspace: engine.workspace,
    budgetTokens: 40_000,
  });
  expect(ofType(events, "agent.model_turn").some(({ payload }) => payload.last)).toBe(true);
  expect(await replayAgain(engine.store, runId)).toMatchObject(same);
});

test("caps in dollars that siblings race for come out the same, whatever things cost now", async ({
  skip,
}) => {
  skip(isDistributed, notOffered.replay);
  const prices = { "scripted/playbook": { input: 3, output: 15, cacheWrite: 3.75 } };
  await using engine = await openEngine({
    profiles: [
      testProfile("boss", { capabilities: ["primary"], limits: { cost: 0.2 } }),
      testProfile("greedy", { tools: ["list_files"] }),
      testProfile("poor", { tools: ["list_files"], limits: { cost: 0.001 } }),
    ],
    maxConcurrent: 3,
    limits: { maxOutputTokens: 1500 },
    config: { models: { providers: {}, pools: {}, prices } },
    model({ caller, maxOutputTokens, tools }) {
      if (caller.profile === "boss") {
        if (caller.turn > 1) return "done";
        const greedy = Array.from({ length: 12 }, (_, index) => delegate("greedy", `${index}`));
        return { calls: [delegate("poor", "x"), ...greedy] };
      }
      const completion = Math.min(700, maxOutputTokens);
      return eat({ prompt: 900, completion, cacheWrite: 100 }, tools);
    },
  });
  const { events, runId } = await engine.run({
    task: "go",
    profile: "boss",
    workspace: engine.workspace,
  });
  expect(ofType(events, "agent.model_turn").some(({ payload }) => payload.last)).toBe(true);
  expect(ofType(events, "agent.paused").length).toBeGreaterThan(0);
  const failed = ofType(events, "agent.subagent_failed").map(({ payload }) => payload.error);
  expect(failed[0]).toMatch(/^A single answer may cost \$0\.\d+ here, and \$0\.001 are left/);
  expect(await replayAgain(engine.store, runId)).toMatchObject(same);
});

test("what was too large for the log is read from its artifact, and missed when that is gone", async () => {
  const big = defineTool({
    name: "big",
    description: "Says a lot.",
    effect: "read",
    exposure: noExposure,
    idempotent: true,
    scopes: [],
    input: z.strictObject({}),
    execute: () => "ä".repeat(50_000),
  });
  await using engine = await openEngine({
    profiles: [boss],
    tools: [big],
    breaks: ["I7"],
    model: ({ caller }) => (caller.turn === 1 ? { calls: [{ tool: "big", input: {} }] } : "done"),
  });
  const { runId } = await engine.run({ task: "go", profile: "boss" });
  expect(await replayAgain(engine.store, runId)).toMatchObject(same);
  if (isOnPostgres) await alterDatabase(engine, "DELETE FROM artifacts");
  else rmSync(`${engine.home}/artifacts`, { recursive: true });
  await expect(replayAgain(engine.store, runId)).rejects.toThrow(/artifact [0-9a-f]{12} .*missing/);
});

test("merges, conflicts and questions replay from the log, when the folder is long gone", async () => {
  const writer = testProfile("writer", { tools: ["write_file"], workspace: { approval: true } });
  await using engine = await openEngine({
    profiles: [testProfile("lead", { capabilities: ["primary"] }), writer],
    model({ caller }) {
      if (caller.profile === "lead") {
        if (caller.turn > 1) return "done";
        return { calls: ["one", "two", "no"].map((task) => delegate("writer", task)) };
      }
      const input = { path: "a.txt", content: `${caller.task}\n` };
      return caller.turn === 1 ? { calls: [{ tool: "write_file", input }] } : "written";
    },
  });
  initRepository(engine.workspace, { "a.txt": "before\n" });
  const unsubscribe = engine.store.subscribe((events) => {
    for (const { payload, type } of events) {
      if (type !== "agent.asked") continue;
      const answer = payload.question.includes("(no)") ? "no" : "yes";
      void engine.engine.answer(payload.ask_id, answer);
    }
  });
  const { events, runId } = await engine.run({
    task: "go",
    profile: "lead",
    workspace: engine.workspace,
  });
  unsubscribe();
  const merges = ofType(events, "agent.worktree_merged").map(({ payload }) => payload.strategy);
  expect(merges.toSorted()).toEqual(["conflict", "fast-forward", "refused"]);
  // The copies that are no longer needed go before their folder does.
  await (await engine.parts.copies()).settled();
  rmSync(engine.workspace, { recursive: true });
  expect(await replayAgain(engine.store, runId)).toMatchObject(same);
});

test("a cancel in the middle happens again, at the same place, to the same children", async () => {
  await using engine = await openEngine({
    profiles: [boss, testProfile("worker", { tools: ["list_files"] })],
    model({ caller }) {
      if (caller.profile === "boss") {
        return { calls: [delegate("worker", "quick"), delegate("worker", "slow")] };
      }
      return caller.task === "quick" ? "done" : new Promise<never>(() => undefined);
    },
  });
  const { result, runId } = await engine.start({ task: "go", profile: "boss" });
  await new Promise<void>((resolve) => {
    engine.store.subscribe((events) => {
      if (events.some(({ type }) => type === "agent.subagent_closed")) resolve();
    });
  });
  await engine.engine.cancel(runId, "enough");
  expect((await result).status).toBe("cancelled");
  expect(await replayAgain(engine.store, runId)).toMatchObject(same);
});

test("a worker that died and one that took over replay as one run", async ({ skip }) => {
  skip(isDistributed, notOffered.replay);
  let isDead = false;
  const script: Script = ({ caller }) => {
    if (caller.profile === "boss") {
      return caller.turn === 1
        ? { calls: ["a", "b"].map((task) => delegate("worker", task)) }
        : "done";
    }
    if (caller.turn === 1) return { calls: [{ tool: "list_files", input: {} }] };
    return caller.task === "b" && !isDead ? { fault: "stall" } : "done";
  };
  const profiles = [boss, testProfile("worker", { tools: ["list_files"] })];
  await using engine = await openEngine({ profiles, model: script });
  const { runId } = await engine.start({
    task: "go",
    profile: "boss",
    workspace: engine.workspace,
  });
  await new Promise<void>((resolve) => {
    engine.store.subscribe((events) => {
      if (events.some(({ type }) => type === "agent.subagent_closed")) resolve();
    });
  });
  engine.abandon();
  isDead = true;
  const second = await engine.another({ profiles, model: script });
  const [recovered] = await second.engine.recover(runId);
  expect((await recovered?.result)?.status).toBe("completed");
  expect(await replayAgain(second.store, runId)).toMatchObject(same);
});
