import { describe, expect, it } from "vitest";
import type { Script } from "../../models/scripted/scripted-model.ts";
import {
  type EngineOptions,
  ofType,
  openEngine,
  recording,
  testProfile,
} from "../../testing/engine-fixture.ts";

const profiles = [
  testProfile("lead", { tools: ["delegate_task"], mayDelegate: { tools: ["list_files"] } }),
  testProfile("worker", { tools: ["list_files"] }),
  testProfile("closer", {
    tools: ["list_files", "complete_task"],
    exit: { tools: ["complete_task"] },
  }),
];

const limits = { maxOutputTokens: 400, maxRetries: 0 };

async function run(
  script: Script,
  request: { profile?: string; maxTokens?: number; budgetTokens?: number },
  options: EngineOptions = {},
) {
  const { seen, model } = recording(script);
  await using mandate = await openEngine({
    profiles,
    model,
    ...options,
    limits: { ...limits, ...options.limits },
  });
  const { workspace } = mandate;
  const { result, events, runId } = await mandate.run({
    task: "go",
    profile: "worker",
    workspace,
    ...request,
  });
  const row = (await mandate.store.listRuns({})).find(({ id }) => id === runId);
  return { result, events, seen, row };
}

/** Works as long as it is let, and reports when its tools are gone. */
const busy: Script = ({ caller, tools }) => {
  const usage = { prompt: 300 * caller.turn, completion: 100 };
  if (tools.length === 0) return { text: "the best so far", usage };
  const input = { path: ".", limit: caller.turn };
  return { text: `step ${caller.turn}`, calls: [{ tool: "list_files", input }], usage };
};

describe("fault 13: a budget that is nearly spent", () => {
  it("withdraws the tools, takes one last turn, and hands in the best result as truncated", async () => {
    const { result, events, seen } = await run(busy, { maxTokens: 6000 });
    expect(result).toMatchObject({
      status: "completed",
      result: "the best so far",
      truncated: true,
      closeReason: "budget_exhausted",
    });
    expect(seen.at(-1)?.tools).toEqual([]);
    expect(seen.slice(0, -1).every(({ tools }) => tools.length > 0)).toBe(true);
    const turns = ofType(events, "agent.model_turn");
    expect(turns.map(({ payload }) => payload.last === true)).toEqual(
      turns.map((_, index) => index === turns.length - 1),
    );
    const [waiting] = ofType(events, "agent.subagent_waiting_for_merge");
    expect(waiting?.payload).toMatchObject({ truncated: true, reason: "budget_exhausted" });
    const { prompt, completion } = result.tokenUsage;
    expect(prompt + completion).toBeLessThanOrEqual(6000);
  });

  it("refuses calls that come in the last turn all the same", async () => {
    const stubborn: Script = (request) => {
      const reply = busy(request) as object;
      const calls = [{ tool: "list_files", input: { path: ".", limit: request.caller.turn } }];
      return { ...reply, text: `step ${request.caller.turn}`, calls };
    };
    const { result, events } = await run(stubborn, { maxTokens: 6000 });
    const last = ofType(events, "agent.model_turn").find(({ payload }) => payload.last);
    const denied = ofType(events, "agent.tool_denied");
    expect(denied[0]?.payload.rule).toBe("tools_withdrawn");
    const started = ofType(events, "agent.tool_started").filter(
      ({ seq }) => seq > (last?.seq ?? 0),
    );
    expect(started).toEqual([]);
    expect(result).toMatchObject({ status: "completed", truncated: true });
    expect(result.result).toMatch(/^step \d+$/);
    const { prompt, completion } = result.tokenUsage;
    expect(prompt + completion).toBeLessThanOrEqual(6000);
  });

  it("keeps the exit tools in the last turn", async () => {
    const { result, seen } = await run(
      (request) => {
        const names = request.tools.map(({ name }) => name);
        if (names.includes("list_files")) return busy(request);
        expect(names).toEqual(["complete_task"]);
        return { calls: [{ tool: "complete_task", input: { summary: "handed in" } }] };
      },
      { profile: "closer", maxTokens: 6000 },
    );
    expect(result).toMatchObject({ status: "completed", result: "handed in", truncated: true });
    expect(seen.length).toBeGreaterThan(2);
  });

  it("hands in the best text so far when not even a last turn fits", async () => {
    const { result, seen } = await run(
      ({ caller }) => ({
        text: `step ${caller.turn}`,
        calls: [{ tool: "list_files", input: { limit: caller.turn } }],
        // More than anybody expected: nearly all is gone at once.
        usage: { prompt: 5900, completion: 10 },
      }),
      { maxTokens: 6000 },
    );
    expect(seen).toHaveLength(1);
    expect(result).toMatchObject({ status: "completed", result: "step 1", truncated: true });
  });

  it("lets the caller decide: it is told that the result is truncated, and why", async () => {
    const { seen, result } = await run(
      (request) => {
        if (request.caller.depth === 1) return busy(request);
        const input = { profile: "worker", task: "x", maxTokens: 6000 };
        return request.caller.turn === 1
          ? { calls: [{ tool: "delegate_task", input }] }
          : "decided";
      },
      { profile: "lead" },
    );
    const shown = JSON.parse(seen.at(-1)?.messages.at(-1)?.text ?? "{}");
    expect(shown).toMatchObject({
      status: "completed",
      truncated: true,
      closeReason: "budget_exhausted",
    });
    expect(result).toMatchObject({ status: "completed", result: "decided" });
  });
});

describe("a budget", () => {
  it("that is too small for a single answer asks nobody and fails", async () => {
    const { result, seen } = await run(busy, { maxTokens: 400 });
    expect(seen).toEqual([]);
    expect(result).toMatchObject({ status: "failed", closeReason: "budget_exhausted" });
    expect(result.tokenUsage).toEqual({ prompt: 0, completion: 0, cost: 0 });
    const least = Number(/which may take (\d+) tokens/.exec(result.result)?.[1]);
    expect((await run(busy, { maxTokens: least - 1 })).seen).toEqual([]);
    expect((await run(busy, { maxTokens: least })).seen).not.toEqual([]);
  });

  it("is reserved before each request leaves, and settled once by what was reported", async () => {
    const { events, result } = await run(busy, { maxTokens: 6000 });
    const reserved = ofType(events, "agent.budget_reserved").map(({ payload }) => payload);
    const settled = ofType(events, "agent.budget_settled").map(({ payload }) => payload);
    expect(reserved.map(({ request }) => request)).toEqual(settled.map(({ request }) => request));
    expect(reserved.map(({ tokens }) => tokens)).toEqual(
      settled.map(({ reserved: tokens }) => tokens),
    );
    let spent = 0;
    for (const [index, { tokens }] of reserved.entries()) {
      expect(spent + tokens).toBeLessThanOrEqual(6000);
      spent += (settled[index]?.prompt ?? 0) + (settled[index]?.completion ?? 0);
    }
    expect(result.tokenUsage.prompt + result.tokenUsage.completion).toBe(spent);
  });

  it("of a child is deducted from its caller, and from the run", async () => {
    const usage = { prompt: 1000, completion: 100 };
    const { result, events, row } = await run(
      ({ caller }) => {
        if (caller.depth === 1) return { text: "done", usage };
        const input = { profile: "worker", task: "x", maxTokens: 50_000 };
        if (caller.turn > 3) return { text: "done", usage };
        return { calls: [{ tool: "delegate_task", input }], usage };
      },
      { profile: "lead", maxTokens: 40_000 },
    );
    const granted = ofType(events, "agent.subagent_created")
      .slice(1)
      .map(({ payload }) => payload.receipt?.find(({ field }) => field === "tokens")?.granted);
    // The lead's own turns and its children's come out of the same forty thousand, and it keeps back
    // a part of what its next prompt leaves, to read what the child says.
    const kept = ofType(events, "agent.tool_started").map(({ payload }) => payload.keeps?.tokens);
    const left = [40_000 - 1100, 40_000 - 3 * 1100, 40_000 - 5 * 1100];
    expect(granted).toEqual(left.map((tokens, index) => tokens - (kept[index] ?? 0)));
    expect(Math.min(...kept.map(Number))).toBeGreaterThan(7000);
    expect(result.status).toBe("completed");
    expect(row?.tokens).toBe(7 * 1100);
  });

  it("of the whole run is the limit for all of them together", async () => {
    const { result, row, seen } = await run(
      (request) => {
        if (request.caller.depth === 1) return busy(request);
        const input = { profile: "worker", task: "x" };
        const calls = [{ tool: "delegate_task", input }];
        return request.tools.length > 0 ? { calls } : "the lead's best";
      },
      { profile: "lead", budgetTokens: 15_000 },
    );
    expect(row?.tokens).toBeLessThanOrEqual(15_000);
    expect(seen.length).toBeGreaterThan(4);
    expect(["completed", "failed"]).toContain(result.status);
    expect(result.closeReason).toBe("budget_exhausted");
  });

  it("takes the worst case when a provider does not say what it used", async () => {
    const { events, result } = await run(() => ({ text: "done", fault: "no-usage" }), {});
    const [settled] = ofType(events, "agent.budget_settled");
    expect(settled?.payload).toMatchObject({ estimated: true, completion: expect.any(Number) });
    expect(settled?.payload.prompt).toBeGreaterThan(500);
    expect(result.status).toBe("completed");
  });
});
