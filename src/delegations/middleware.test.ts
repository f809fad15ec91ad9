import { describe, expect, it } from "vitest";
import { z } from "zod";
import { noExposure } from "../contracts/exposure.ts";
import type { Script } from "../models/scripted/scripted-model.ts";
import { ofType, openEngine, recording, testProfile } from "../testing/engine-fixture.ts";
import { defineTool } from "../tools/tool.ts";
import type { Middleware } from "./middleware.ts";

let executed = 0;
const tick = defineTool({
  name: "tick",
  description: "Counts.",
  effect: "exec",
  exposure: noExposure,
  idempotent: false,
  scopes: [],
  input: z.strictObject({ by: z.int().default(1) }),
  execute({ by }) {
    executed += by;
    return `ticked ${by}`;
  },
});

const profiles = [testProfile("agent", { tools: ["delegate_task", "tick"] })];

/** Each agent ticks, then delegates as long as it can, then reports. */
const deep: Script = ({ caller, tools }) => {
  if (caller.turn === 1) return { calls: [{ tool: "tick" }] };
  const canDelegate = tools.some(({ name }) => name === "delegate_task");
  if (caller.turn > 2 || !canDelegate) return `depth ${caller.depth} done`;
  return { calls: [{ tool: "delegate_task", input: { profile: "agent", task: "deeper" } }] };
};

async function run(script: Script, ...middleware: readonly Middleware[]) {
  executed = 0;
  const { seen, model } = recording(script);
  await using mandate = await openEngine({
    profiles,
    tools: [tick],
    model,
    middleware,
    limits: { maxRetries: 0 },
  });
  const { result, events } = await mandate.run({ task: "go", profile: "agent" });
  return { result, events, seen };
}

describe("middleware", () => {
  it("runs around turns, calls and delegations of every agent at every depth", async () => {
    const turns: string[] = [];
    const calls: string[] = [];
    const delegations: string[] = [];
    const { result } = await run(deep, {
      async turn({ depth, request }, next) {
        const reply = await next();
        turns.push(`${depth}.${request.caller.turn}`);
        return reply;
      },
      async call({ depth, call }, next) {
        calls.push(`${depth} ${call.name}`);
        return next();
      },
      async delegation({ depth, parentId, contract }, next) {
        delegations.push(`${depth} ${contract.profile.id} ${parentId === null ? "root" : "child"}`);
        await next();
      },
    });
    expect(result.status).toBe("completed");
    expect(delegations).toEqual([
      "0 agent root",
      "1 agent child",
      "2 agent child",
      "3 agent child",
    ]);
    expect(calls.filter((each) => each.endsWith("tick"))).toEqual(
      [0, 1, 2, 3].map((d) => `${d} tick`),
    );
    expect(calls.filter((each) => each.endsWith("delegate_task"))).toHaveLength(3);
    expect([...turns].sort()).toEqual(
      ["0.1", "0.2", "0.3", "1.1", "1.2", "1.3", "2.1", "2.2", "2.3", "3.1", "3.2"].sort(),
    );
  });

  it("is composed from the outside in, and unwinds in turn", async () => {
    const order: string[] = [];
    const named = (name: string): Middleware => ({
      async call(_context, next) {
        order.push(`${name} in`);
        const result = await next();
        order.push(`${name} out`);
        return result;
      },
    });
    const once: Script = ({ caller }) => (caller.turn === 1 ? { calls: [{ tool: "tick" }] } : "ok");
    await run(once, named("first"), {}, named("second"));
    expect(order).toEqual(["first in", "second in", "second out", "first out"]);
  });
});

describe("middleware around calls", () => {
  const once: Script = ({ caller }) => (caller.turn === 1 ? { calls: [{ tool: "tick" }] } : "ok");

  it("denies by throwing: nothing runs, the model is told, the log says which rule", async () => {
    const { events, seen, result } = await run(once, {
      call: async () => {
        throw new Error("not on a Sunday");
      },
    });
    expect(executed).toBe(0);
    expect(ofType(events, "agent.tool_started")).toEqual([]);
    expect(ofType(events, "agent.tool_denied")[0]?.payload).toMatchObject({
      rule: "middleware",
      tool: "tick",
      error: "The call was refused: not on a Sunday",
    });
    expect(seen[1]?.messages.at(-1)).toMatchObject({ isError: true });
    expect(result.status).toBe("completed");
  });

  it("may change the input, and what it changes passes the gate like anything else", async () => {
    const changed = (input: unknown, name = "tick"): Middleware => ({
      call: ({ call }, next) => next({ ...call, id: "forged", name, input }),
    });
    await run(once, changed({ by: 5 }));
    expect(executed).toBe(5);
    const invalid = await run(once, changed({ by: "many" }));
    expect(executed).toBe(0);
    expect(ofType(invalid.events, "agent.tool_denied")[0]?.payload).toMatchObject({
      call_id: "call_1_1",
      rule: "invalid_input",
    });
    const notGranted = await run(once, changed({ path: "x" }, "read_file"));
    expect(ofType(notGranted.events, "agent.tool_denied")[0]?.payload.rule).toBe(
      "tool_not_granted",
    );
  });

  it("that answers by itself leaves a record, and nothing runs", async () => {
    const { events, seen } = await run(once, { call: async () => ({ text: "from the cache" }) });
    expect(executed).toBe(0);
    expect(ofType(events, "agent.tool_started")).toEqual([]);
    expect(seen[1]?.messages.at(-1)?.text).toBe("from the cache");
  });

  it("makes a call once, however often it goes on", async () => {
    const { events } = await run(once, {
      async call(_context, next) {
        await next();
        return next();
      },
    });
    expect(ofType(events, "agent.tool_started")).toHaveLength(1);
    expect(executed).toBe(1);
  });

  it("that throws afterwards does not undo what happened", async () => {
    const { events, result } = await run(once, {
      async call(_context, next) {
        await next();
        throw new Error("too late");
      },
    });
    expect(executed).toBe(1);
    expect(ofType(events, "agent.tool_completed")).toHaveLength(1);
    expect(ofType(events, "agent.tool_denied")).toEqual([]);
    expect(result.status).toBe("completed");
  });
});

describe("middleware around turns", () => {
  const answer: Script = () => ({ text: "42", usage: { prompt: 30, completion: 12 } });

  it("refuses by throwing: the delegation is denied by policy", async () => {
    const { result, seen } = await run(answer, {
      turn: async () => {
        throw new Error("over quota");
      },
    });
    expect(seen).toEqual([]);
    expect(result).toMatchObject({ status: "failed", closeReason: "policy_denied" });
    expect(result.result).toBe("The turn was refused: over quota");
    expect(result.tokenUsage).toEqual({ prompt: 0, completion: 0, cost: 0 });
  });

  it("may answer in place of the model", async () => {
    const { result, seen } = await run(answer, {
      turn: async () => ({ text: "cached", calls: [], finish: "stop", usage: null, served: null }),
    });
    expect(seen).toEqual([]);
    expect(result).toMatchObject({ status: "completed", result: "cached" });
  });

  it("cannot send a request that was not reserved", async () => {
    const { seen } = await run(answer, {
      async turn(_context, next) {
        await next();
        return next();
      },
    });
    expect(seen).toHaveLength(1);
  });

  // take-turn.ts, refusedTurn: settles nothing, although the request was sent and answered.
  it("that throws after the model answered does not make its tokens free", async () => {
    const { result } = await run(answer, {
      async turn(_context, next) {
        await next();
        throw new Error("I do not like it");
      },
    });
    expect(result).toMatchObject({ status: "failed", closeReason: "policy_denied" });
    expect(result.tokenUsage.prompt + result.tokenUsage.completion).toBeGreaterThanOrEqual(42);
  });
});

describe("middleware around delegations", () => {
  it.each<[string, Middleware]>([
    ["throws", { delegation: async () => Promise.reject(new Error("no")) }],
    ["does not go on", { delegation: async () => {} }],
  ])("that %s keeps the child from working, and the child is closed", async (_how, middleware) => {
    const { result, seen } = await run(deep, middleware);
    expect(seen).toEqual([]);
    expect(result).toMatchObject({ status: "failed", closeReason: "policy_denied" });
  });

  it("stops a child alone; its caller hears of it and goes on", async () => {
    const { result } = await run(deep, {
      async delegation({ depth }, next) {
        if (depth === 1) throw new Error("nobody below me");
        await next();
      },
    });
    expect(result.status).toBe("completed");
    expect(result.subDelegations).toMatchObject([
      { status: "failed", closeReason: "policy_denied", result: "nobody below me" },
    ]);
  });
});
