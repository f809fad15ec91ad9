import { describe, expect, it } from "vitest";
import type { Cause } from "../../events/cause.ts";
import type { StoredEvent } from "../../events/event.ts";
import { ofType, openEngine, type TestEngine } from "../../testing/engine-fixture.ts";
import type { Reserved, ReservedRequest } from "../agent-programs.ts";
import type { Session } from "../session.ts";
import { replayAgain } from "./replay-again.test-support.ts";

const model = "anthropic/claude-sonnet-4-5";
const reply = { served: "claude-sonnet-4-5", finish: "stop", text: "hello" };

interface Limits {
  readonly maxTokens?: number;
  readonly maxCost?: number;
  readonly timeoutMs?: number;
}

function open(engine: TestEngine, limits: Limits = {}): Promise<Session> {
  const requests = { models: [model], network: false, ...limits };
  return engine.engine.openSession({ client: "program", requests });
}

function reserve(
  engine: TestEngine,
  session: Session,
  { maxOutput = 1000, promptBound = 1000 } = {},
): Promise<Reserved> {
  const price = engine.models.price(model);
  const { signal } = new AbortController();
  return session.requests.reserve({ model, price, promptBound, maxOutput, isSeen: true, signal });
}

async function reserved(engine: TestEngine, session: Session): Promise<ReservedRequest> {
  const outcome = await reserve(engine, session);
  if ("refused" in outcome) throw new Error(outcome.refused.code);
  return outcome.request;
}

function settledIn(events: readonly StoredEvent[]) {
  return ofType(events, "agent.budget_settled").map(({ payload }) => payload);
}

async function differences(engine: TestEngine, runId: string) {
  return (await replayAgain(engine.store, runId)).differences;
}

describe("the requests that another program makes", () => {
  it("are reserved and settled side by side, and replayed", async () => {
    await using engine = await openEngine({ model: () => "" });
    const session = await open(engine, { maxTokens: 10_000, maxCost: 1 });
    const first = await reserved(engine, session);
    const second = await reserved(engine, session);
    await second.complete({ ...reply, usage: { prompt: 900, completion: 10 } });
    first.received = 50;
    await first.cut();
    const third = await reserved(engine, session);
    await third.unanswered();
    await session.end({ said: "program exited with code 0." });
    const events = await engine.events(session.runId);
    expect(ofType(events, "agent.model_turn").map(({ payload }) => payload.request)).toEqual([2]);
    expect(settledIn(events)).toMatchObject([
      { request: 2, prompt: 900, completion: 10, cost: 0.00285 },
      { request: 1, prompt: 1000, completion: 50, estimated: true },
      { request: 3, prompt: 0, completion: 0, cost: 0 },
    ]);
    expect((await session.closed).status).toBe("completed");
    expect(await differences(engine, session.runId)).toEqual([]);
  });

  it("get what is left, and are refused with the reason when that is too little", async () => {
    await using engine = await openEngine({ model: () => "" });
    const session = await open(engine, { maxTokens: 3000 });
    const first = await reserve(engine, session, { maxOutput: 64_000 });
    if ("refused" in first) throw new Error("refused");
    expect(first.request.maxOutput).toBeLessThan(2000);
    await first.request.complete({ ...reply, usage: { prompt: 1000, completion: 850 } });
    const next = await reserve(engine, session, { promptBound: 1100 });
    const refused: Cause = { code: "tokens_too_small", needed: 1164 };
    expect(next).toEqual({ refused });
    await session.requests.refuse(refused, "claude-sonnet-4-5");
    await session.requests.refuse(refused, "claude-sonnet-4-5");
    await session.end({ failed: { code: "program_failed", program: "program", exit: 1 } });
    const events = await engine.events(session.runId);
    expect(ofType(events, "agent.request_refused")).toHaveLength(1);
    expect((await session.closed).closeReason).toBe("budget_exhausted");
    expect(await differences(engine, session.runId)).toEqual([]);
  });

  it("wait while others hold what they need, and then share it", async () => {
    await using engine = await openEngine({ model: () => "" });
    const session = await open(engine, { maxTokens: 5000 });
    const first = await reserved(engine, session);
    const second = await reserved(engine, session);
    const third = reserved(engine, session);
    await first.complete({ ...reply, usage: { prompt: 10, completion: 10 } });
    await second.complete({ ...reply, usage: { prompt: 10, completion: 10 } });
    await (await third).complete({ ...reply, usage: { prompt: 10, completion: 10 } });
    await session.end({ said: "done" });
    expect((await session.closed).tokenUsage).toMatchObject({ prompt: 30, completion: 30 });
  });

  it("are settled as estimates by every end", async () => {
    await using engine = await openEngine({ model: () => "" });
    for (const end of ["said", "cancelled", "failed"] as const) {
      const session = await open(engine, { maxTokens: 50_000 });
      const requests = [await reserved(engine, session), await reserved(engine, session)];
      for (const [index, request] of requests.entries()) request.received = 10 + index;
      if (end === "cancelled") await engine.engine.cancel(session.runId, "enough");
      else if (end === "said") await session.end({ said: "done" });
      else await session.end({ failed: { code: "program_failed", program: "p", exit: "SIGTERM" } });
      expect(settledIn(await engine.events(session.runId))).toMatchObject([
        { request: 1, prompt: 1000, completion: 10, estimated: true },
        { request: 2, prompt: 1000, completion: 11, estimated: true },
      ]);
      await requests[0]?.complete({ ...reply, usage: { prompt: 1, completion: 1 } });
      expect(await reserve(engine, session)).toHaveProperty("refused");
      expect(await differences(engine, session.runId)).toEqual([]);
    }
  });

  it("are settled as the whole reservation when their process died", async () => {
    await using engine = await openEngine({ model: () => "" });
    const session = await open(engine, { maxTokens: 50_000 });
    await reserved(engine, session);
    await reserved(engine, session);
    engine.abandon();
    await using next = await engine.another({ model: () => "" });
    await next.engine.recover();
    const events = await next.events(session.runId);
    expect(settledIn(events)).toMatchObject([
      { request: 1, prompt: 1000, completion: 1000, estimated: true },
      { request: 2, prompt: 1000, completion: 1000, estimated: true },
    ]);
    const [failed] = ofType(events, "agent.subagent_failed");
    expect(failed?.payload.cause).toEqual({ code: "program_gone" });
  });

  it("end with an overrun when the provider reports more than was reserved", async () => {
    await using engine = await openEngine({ model: () => "" });
    const session = await open(engine, { maxTokens: 50_000 });
    const request = await reserved(engine, session);
    await request.complete({ ...reply, usage: { prompt: 3000, completion: 10 } });
    expect(await reserve(engine, session)).toEqual({ refused: { code: "budget_overrun" } });
    await session.end({ said: "done" });
    expect((await session.closed).closeReason).toBe("budget_exhausted");
  });
});
