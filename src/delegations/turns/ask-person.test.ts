import { describe, expect, it } from "vitest";
import type { Script } from "../../models/scripted/scripted-model.ts";
import {
  type EngineOptions,
  ofType,
  openEngine,
  recording,
  type TestEngine,
  testProfile,
} from "../../testing/engine-fixture.ts";
import { HeldClock } from "../../testing/held-clock.test-support.ts";
import { until } from "../../testing/until.ts";

const profiles = [
  testProfile("asker", { tools: ["ask_user"] }),
  testProfile("agent", { tools: ["delegate_task", "ask_user"] }),
];

/** Asks once and repeats what it was told. */
const ask: Script = ({ caller, messages }) =>
  caller.turn === 1
    ? { calls: [{ tool: "ask_user", input: { message: "Blue or green?" } }] }
    : `told: ${messages.at(-1)?.text}`;

async function firstAsk({ events }: Pick<TestEngine, "events">, runId: string) {
  return until("the question", async () => ofType(await events(runId), "agent.asked")[0]);
}

const options = (more: EngineOptions = {}): EngineOptions => ({ profiles, model: ask, ...more });

describe("a question to the person behind the run", () => {
  it("waits for the answer, which is then the result of the call", async () => {
    await using mandate = await openEngine(options());
    const { runId, delegationId, result } = await mandate.start({ task: "go", profile: "asker" });
    const { payload } = await firstAsk(mandate, runId);
    expect(payload).toMatchObject({ question: "Blue or green?", default: null });
    const state = await mandate.store.readRun(runId);
    expect(state?.delegations.get(delegationId)).toMatchObject({
      status: "running",
      waitingOn: { on: "answer", detail: payload.ask_id },
      ask: { question: "Blue or green?" },
    });
    expect(await mandate.engine.answer(payload.ask_id, "green")).toBe(true);
    expect((await result).result).toBe("told: green");
    const [answered] = ofType(await mandate.events(runId), "agent.answered");
    expect(answered?.payload).toEqual({ ask_id: payload.ask_id, answer: "green", by: "person" });
  });

  it("takes the first answer; a second one is too late, an unknown question is an error", async () => {
    await using mandate = await openEngine(options());
    const { runId, result } = await mandate.start({ task: "go", profile: "asker" });
    const { payload } = await firstAsk(mandate, runId);
    const [first, second] = await Promise.all([
      mandate.engine.answer(payload.ask_id, "green"),
      mandate.engine.answer(payload.ask_id, "blue"),
    ]);
    // Which of two that are sent at once arrives first is nobody's to say.
    expect([first, second].toSorted()).toEqual([false, true]);
    expect((await result).result).toBe(first ? "told: green" : "told: blue");
    expect(await mandate.engine.answer(payload.ask_id, "red")).toBe(false);
    for (const id of ["qffffff", "ffffff", "nonsense"]) {
      await expect(mandate.engine.answer(id, "x")).rejects.toMatchObject({ code: "unknown-ask" });
    }
  });

  it("is answered by the default at its deadline", async () => {
    const limits = { askDeadlineMs: 20, askDefault: "blue" };
    await using mandate = await openEngine(options({ limits }));
    const { result, events } = await mandate.run({ task: "go", profile: "asker" });
    expect(result.result).toBe("told: No answer came in time; the default is: blue");
    expect(ofType(events, "agent.answered")[0]?.payload).toMatchObject({
      answer: "blue",
      by: "default",
    });
  });

  it("expires at its deadline when there is no default, and the model is told", async () => {
    await using mandate = await openEngine(options({ limits: { askDeadlineMs: 20 } }));
    const { result, events } = await mandate.run({ task: "go", profile: "asker" });
    expect(result.status).toBe("completed");
    expect(result.result).toMatch(/^told: Error: no answer came in time/);
    expect(ofType(events, "agent.answered")[0]?.payload).toMatchObject({
      answer: null,
      by: "expired",
    });
    expect(ofType(events, "agent.tool_failed")).toHaveLength(1);
  });

  it("can be answered from another process on the same file", async () => {
    await using mandate = await openEngine(options());
    const { runId, result } = await mandate.start({ task: "go", profile: "asker" });
    const second = await mandate.another(options());
    const { payload } = await firstAsk(second, runId);
    expect(await second.engine.answer(payload.ask_id, "green")).toBe(true);
    expect((await result).result).toBe("told: green");
  });

  it("comes from depth three like from anywhere, while all above it wait without a slot", async () => {
    const deep: Script = (request) => {
      const { caller, messages } = request;
      if (caller.depth === 3) return ask(request);
      if (caller.turn > 1) return JSON.parse(messages.at(-1)?.text ?? "{}").result;
      return { calls: [{ tool: "delegate_task", input: { profile: "agent", task: "deeper" } }] };
    };
    await using mandate = await openEngine(options({ model: deep, maxConcurrent: 1 }));
    const { runId, result } = await mandate.start({ task: "go", profile: "agent" });
    const asked = await firstAsk(mandate, runId);
    const state = await mandate.store.readRun(runId);
    expect(state?.delegations.get(asked.sub_agent_id ?? "")?.depth).toBe(3);
    await until("nobody has a slot", () => mandate.parts.scheduler.running === 0);
    await mandate.engine.answer(asked.payload.ask_id, "green");
    expect((await result).result).toBe("told: green");
  });

  it("does not keep one from being cancelled", async () => {
    await using mandate = await openEngine(options());
    const cancelled = await mandate.start({ task: "go", profile: "asker" });
    await firstAsk(mandate, cancelled.runId);
    expect(await mandate.engine.cancel(cancelled.runId, "never mind")).toBe("cancelled");
    expect((await cancelled.result).status).toBe("cancelled");
  });

  it("is put one at a time, in the order of the calls", async () => {
    const { seen, model } = recording(({ caller }) => {
      const calls = ["one", "two", "three"].map((message) => ({
        tool: "ask_user",
        input: { message },
      }));
      return caller.turn === 1 ? { calls } : "done";
    });
    await using mandate = await openEngine(options({ model }));
    const { runId, result } = await mandate.start({ task: "go", profile: "asker" });
    for (const count of [1, 2, 3]) {
      const asked = await until(`question ${count}`, async () =>
        ofType(await mandate.events(runId), "agent.asked").at(count - 1),
      );
      await mandate.engine.answer(asked.payload.ask_id, `answer ${count}`);
    }
    await result;
    const order = (await mandate.events(runId)).flatMap(({ type }) =>
      type === "agent.asked" || type === "agent.answered" ? type : [],
    );
    expect(order).toEqual([1, 2, 3].flatMap(() => ["agent.asked", "agent.answered"]));
    const texts = seen[1]?.messages.flatMap((each) => (each.role === "tool" ? each.text : []));
    expect(texts).toEqual(["answer 1", "answer 2", "answer 3"]);
  });
});

describe("a question that is open when its process dies", () => {
  async function dieAsking(more: EngineOptions = {}) {
    const mandate = await openEngine(options(more));
    const { runId } = await mandate.start({ task: "go", profile: "asker" });
    const asked = await firstAsk(mandate, runId);
    mandate.abandon();
    return { mandate, runId, asked };
  }

  it("is still the same question afterwards, and can be answered", async () => {
    const { mandate: first, runId, asked } = await dieAsking();
    await using mandate = first;
    const second = await mandate.another(options());
    const [recovered] = await second.engine.recover();
    await until("it asks again", () => second.engine.liveRuns.some(({ asks }) => asks.size > 0));
    expect(await second.engine.answer(asked.payload.ask_id, "green")).toBe(true);
    expect((await recovered?.result)?.result).toBe("told: green");
    expect(ofType(await second.events(runId), "agent.asked")).toHaveLength(1);
  });

  it("can be answered while nobody works on the run; the answer is there when it goes on", async () => {
    const { mandate: first, asked } = await dieAsking();
    await using mandate = first;
    const desk = await mandate.another(options());
    expect(await desk.engine.answer(asked.payload.ask_id, "green")).toBe(true);
    const [recovered] = await desk.engine.recover();
    expect((await recovered?.result)?.result).toBe("told: green");
  });

  it("keeps its deadline, which may have passed meanwhile", async () => {
    const clock = new HeldClock();
    const { mandate: first, runId } = await dieAsking({
      clock,
      limits: { askDeadlineMs: 60_000, askDefault: "blue" },
    });
    await using mandate = first;
    clock.pass(60_001);
    const second = await mandate.another(options({ clock, limits: { askDeadlineMs: 600_000 } }));
    const [recovered] = await second.engine.recover();
    expect((await recovered?.result)?.result).toBe(
      "told: No answer came in time; the default is: blue",
    );
    expect(ofType(await second.events(runId), "agent.answered")).toHaveLength(1);
  });
});
