import { describe, expect, it } from "vitest";
import type { Script } from "../models/scripted/scripted-model.ts";
import {
  type EngineOptions,
  ofType,
  openEngine,
  recording,
  type TestEngine,
  testProfile,
} from "../testing/engine-fixture.ts";
import { until } from "../testing/until.ts";

const profiles = [
  testProfile("lead", {
    tools: ["delegate_task", "spawn", "spawn_await", "get_delegation_result"],
  }),
  testProfile("worker", { tools: [] }),
  testProfile("patient", { tools: [], limits: { retries: 3 } }),
];

async function run(
  script: Script,
  options: EngineOptions & { profile?: string } = {},
  listen?: (engine: TestEngine) => void,
) {
  const { profile = "worker", ...engineOptions } = options;
  const { seen, model } = recording(script);
  await using mandate = await openEngine({ profiles, model, ...engineOptions });
  listen?.(mandate);
  const { result, events } = await mandate.run({ task: "go", profile });
  return { result, events, seen };
}

describe("attempts", () => {
  it("are retried with a wait, numbered from 1, and start from a fresh conversation", async () => {
    const { result, events, seen } = await run(
      ({ caller }) => (caller.attempt === 1 ? { fault: "empty" } : "second try"),
      { limits: { backoffMs: 10 } },
    );
    expect(result).toMatchObject({
      status: "completed",
      result: "second try",
      evidence: { attempts: 2 },
    });
    expect(ofType(events, "agent.subagent_attempt").map(({ payload }) => payload)).toEqual([
      { attempt: 1, of: 2 },
      { attempt: 2, of: 2 },
    ]);
    const [retried, ...more] = ofType(events, "agent.retried");
    expect(more).toEqual([]);
    expect(retried?.payload).toMatchObject({ what: "attempt" });
    expect(retried?.payload.reason).toMatch(/^empty answer: /);
    expect(retried?.payload.delay_ms).toBeGreaterThanOrEqual(5);
    expect(retried?.payload.delay_ms).toBeLessThanOrEqual(10);
    expect(seen.at(-1)?.messages).toHaveLength(1);
    expect(seen.map(({ caller }) => [caller.attempt, caller.turn])).toEqual([
      [1, 1],
      [1, 2],
      [2, 1],
    ]);
  });

  it("are at most one more than the retries, and the last failure is the result", async () => {
    const once = await run(() => ({ fault: "empty" }));
    expect(once.result).toMatchObject({
      status: "failed",
      closeReason: "empty_output",
      evidence: { attempts: 2 },
    });
    const patient = await run(() => ({ fault: "empty" }), { profile: "patient" });
    const numbers = ofType(patient.events, "agent.subagent_attempt").map(
      ({ payload }) => payload.attempt,
    );
    expect(numbers).toEqual([1, 2, 3, 4]);
  });

  it.each<[string, Script]>([
    ["a refused request", () => ({ fault: "rejected" })],
    ["another model", () => ({ text: "hi", served: "another" })],
    ["calls that policy refuses", () => ({ calls: Array(5).fill({ tool: "spawn" }) })],
  ])("are not repeated after %s: it would be the same again", async (_what, script) => {
    const { events, result } = await run(script);
    expect(result.status).toBe("failed");
    expect(ofType(events, "agent.subagent_attempt")).toHaveLength(1);
  });

  it("count their tokens together", async () => {
    const usage = { prompt: 100, completion: 10 };
    const { result } = await run(({ caller }) =>
      caller.attempt === 1 ? { fault: "empty", usage } : { text: "ok", usage },
    );
    expect(result.tokenUsage).toMatchObject({ prompt: 300, completion: 30 });
  });
});

describe("the outcome of a run", () => {
  const leadWith =
    (steps: readonly object[], childrenEnd: () => Promise<unknown>): Script =>
    async ({ caller, messages }) => {
      if (caller.profile === "worker")
        return caller.task === "fail" ? { fault: "rejected" } : "fine";
      const step = steps[caller.turn - 1];
      if (step === undefined) {
        await childrenEnd();
        return "done";
      }
      const job =
        messages.find((each) => each.role === "tool" && each.tool === "spawn")?.text ?? "";
      return { calls: [JSON.parse(JSON.stringify(step).replace("JOB", job))] };
    };
  const spawn = (task: string) => ({ tool: "spawn", input: { task, profile: "worker" } });
  const wait = (more: object = {}) => ({ tool: "spawn_await", input: { job_ids: "*", ...more } });

  async function outcomeOf(...steps: readonly { readonly tool: string; readonly input: object }[]) {
    const children = steps.filter(({ tool }) => tool === "spawn" || tool === "delegate_task");
    let closed = 0;
    const childrenEnd = () => until("its children end", () => closed === children.length);
    const { events, result } = await run(
      leadWith(steps, childrenEnd),
      { profile: "lead" },
      ({ store }) =>
        store.subscribe((stored) => {
          closed += ofType(stored, "agent.subagent_closed").length;
        }),
    );
    expect(result.status).toBe("completed");
    return ofType(events, "run.finished").map(({ payload }) => payload);
  }

  it("is a success when every failure reached the agent that delegated", async () => {
    expect(await outcomeOf(spawn("fail"), wait())).toMatchObject([{ outcome: "succeeded" }]);
    const delegate = { tool: "delegate_task", input: { task: "fail", profile: "worker" } };
    expect(await outcomeOf(delegate)).toMatchObject([{ outcome: "succeeded" }]);
    const get = { tool: "get_delegation_result", input: { delegationId: "JOB" } };
    expect(await outcomeOf(spawn("fail"), wait({ max_wait_ms: 30_000 }), get)).toMatchObject([
      { outcome: "succeeded" },
    ]);
  });

  it("is a failure when one was passed over, and says whose", async () => {
    const [finished] = await outcomeOf(spawn("fail"), spawn("fine"), {
      tool: "spawn_await",
      input: { job_ids: "none" },
    });
    expect(finished?.outcome).toBe("failed");
    expect(finished?.reason).toMatch(/the failure of [0-9a-f]{6,} never reached its caller/);
  });

  it("does not mind a success that nobody asked for", async () => {
    expect(await outcomeOf(spawn("fine"), spawn("fine"))).toMatchObject([{ outcome: "succeeded" }]);
  });

  it("is the root's failure when the root fails, and is written once, last", async () => {
    const { events } = await run(() => ({ fault: "rejected" }), { profile: "lead" });
    expect(events.at(-1)).toMatchObject({ type: "run.finished", payload: { outcome: "failed" } });
    expect(ofType(events, "run.finished")).toHaveLength(1);
    expect(ofType(events, "run.finished")[0]?.payload.reason).toMatch(/^request rejected: /);
  });

  it("does not count what fell with a caller whose own failure was delivered", async () => {
    const script: Script = ({ caller }) => {
      if (caller.depth === 2) return { fault: "hang" };
      if (caller.depth === 1)
        return caller.turn === 1 ? { calls: [spawn("x")] } : { fault: "rejected" };
      if (caller.turn > 1) return "I know that it failed";
      return { calls: [{ tool: "delegate_task", input: { task: "x", profile: "lead" } }] };
    };
    const { events, result } = await run(script, { profile: "lead" });
    expect(result.subDelegations).toMatchObject([
      { status: "failed", subDelegations: [{ closeReason: "parent_closed" }] },
    ]);
    expect(ofType(events, "run.finished")[0]?.payload.outcome).toBe("succeeded");
  });
});
