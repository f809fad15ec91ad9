import assert from "node:assert/strict";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { afterEach, beforeEach, describe, it } from "vitest";
import type { Store } from "../../ports/store.ts";
import { SqliteStore } from "../../stores/sqlite/sqlite-store.ts";
import { about, attempted, StoredRun, started } from "../../testing/stored-run.ts";
import { traceRuns } from "./trace-runs.ts";

const usage = { prompt: 1, completion: 2, cost: 0.5 };
const seal = {
  summary: "",
  output_hash: null,
  usage,
  turns: 1,
  tool_calls: 1,
  attempts: 2,
  requested: "google/gemini",
  served: [],
};

describe("spans of a run", () => {
  let store: Store;
  let memory: InMemorySpanExporter;
  let stop: () => void;

  beforeEach(() => {
    store = new SqliteStore({ path: ":memory:", synchronous: "normal", artifacts: null });
    memory = new InMemorySpanExporter();
    const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(memory)] });
    stop = traceRuns(store, provider.getTracer("test"));
  });

  afterEach(async () => {
    stop();
    await store.close();
  });

  const find = (name: string): ReadableSpan => {
    const found = memory.getFinishedSpans().filter((span) => span.name === name);
    assert.equal(found.length, 1, name);
    return found[0] as ReadableSpan;
  };

  it("mark questions, answers, plans, further attempts and merges", async () => {
    const run = await StoredRun.start(store);
    const id = await run.child();
    const ask = { ask_id: store.newAskId(), call_id: "c", question: "secret?", deadline_at: 9e15 };
    const steps = [{ key: "a", title: "secret", profile: "p", depends_on: [], owns: [] }];
    await run.append(
      { type: "run.planned", payload: { by: id, call_id: "c", steps } },
      about(id, "agent.asked", { ...ask, default: null }),
      about(id, "agent.answered", { ask_id: ask.ask_id, answer: "secret", by: "person" }),
      about(id, "agent.subagent_attempt", { attempt: 2, of: 2 }),
      about(id, "agent.subagent_waiting_for_merge", { output: "secret", output_hash: "h" }),
      about(id, "agent.worktree_merged", {
        strategy: "copy",
        conflicted_files: ["secret.txt"],
        commit: "abc",
      }),
      about(id, "agent.subagent_completed", { integrator: "runtime", reason: "integrated" }),
      about(id, "agent.subagent_closed", {
        sub_agent_id: id,
        step_idx: 0,
        final_status: "completed",
        close_reason: "integrated",
        seal,
      }),
    );
    const agent = find("invoke_agent tester");
    assert.deepEqual(
      agent.events.map(({ name }) => name),
      ["mandate.plan", "mandate.ask", "mandate.answer", "mandate.attempt", "mandate.merge"],
    );
    assert.equal(agent.events[4]?.attributes?.["mandate.merge.conflicts"], 1);
    assert.equal(agent.attributes["gen_ai.provider.name"], "gcp.gemini");
    assert.equal(agent.attributes["gen_ai.usage.output_tokens"], 2);
    assert.equal(agent.attributes["mandate.cost_usd"], 0.5);
    assert.ok(!JSON.stringify([agent.attributes, agent.events]).includes("secret"));
  });

  it("take a request and its tries for one, and end what a failure leaves open", async () => {
    const run = await StoredRun.start(store);
    const id = await run.child();
    const reserve = (request: number) =>
      about(id, "agent.budget_reserved", { request, tokens: 10 });
    const settle = (request: number) =>
      about(id, "agent.budget_settled", {
        request,
        reserved: 10,
        prompt: 0,
        completion: 0,
        cost: 0,
      });
    await run.append(
      reserve(1),
      settle(1),
      about(id, "agent.retried", {
        what: "request",
        cause: { code: "model_unavailable", text: "secret" },
        reason: "secret",
        delay_ms: 5,
      }),
      reserve(2),
      about(id, "agent.model_turn", {
        requested: "openai/gpt",
        served: "gpt-2026",
        usage,
        finish_reason: "tool-calls",
        calls: [{ id: "c", name: "shell", input: "secret" }],
      }),
      settle(2),
      about(id, "agent.tool_started", { call_id: "c", tool: "shell", changes: "any" }),
      reserve(3),
      about(id, "agent.subagent_failed", {
        code: "cancelled",
        cause: { code: "cancelled", text: "secret" },
        error: "secret",
      }),
      about(id, "agent.subagent_closed", {
        sub_agent_id: id,
        step_idx: 0,
        final_status: "failed",
        close_reason: "cancelled",
        seal,
      }),
    );
    const agent = find("invoke_agent tester");
    const chat = find("chat gpt");
    assert.equal(chat.parentSpanContext?.spanId, agent.spanContext().spanId);
    assert.equal(chat.attributes["gen_ai.response.model"], "gpt-2026");
    assert.deepEqual(chat.attributes["gen_ai.response.finish_reasons"], ["tool_call"]);
    assert.deepEqual(
      chat.events.map(({ name, attributes }) => [name, attributes?.["mandate.retry.delay_ms"]]),
      [["mandate.retry", 5]],
    );
    for (const name of ["chat gemini", "execute_tool shell", "invoke_agent tester"]) {
      assert.equal(find(name).attributes["error.type"], "cancelled", name);
      assert.equal(find(name).status.code, 2, name);
    }
    const all = memory.getFinishedSpans();
    assert.ok(
      !JSON.stringify(all.map(({ attributes, events }) => [attributes, events])).includes("secret"),
    );
  });

  it("of children are below the call that made them, also of a plan's, and of watchers below the root", async () => {
    const run = await StoredRun.start(store);
    const root = await run.child();
    const plan = { call_id: "plan/1", tool: "submit_plan", changes: "none", joins: true } as const;
    await run.append(about(root, "agent.tool_started", plan));
    const [step, watcher, orphan] = [
      store.newDelegationId(),
      store.newDelegationId(),
      store.newDelegationId(),
    ];
    for (const [id, parent, call] of [
      [step, root, "plan/1/login"],
      [watcher, null, null],
      [orphan, root, "gone"],
    ] as const) {
      const creation = run.creation(id, started(id), attempted(id));
      const [created, ...rest] = creation.events;
      const payload = { ...created?.payload, parent_id: parent, call_id: call, profile: id };
      await store.append({ ...creation, events: [{ ...created, payload } as never, ...rest] });
      await run.append(
        about(id, "agent.subagent_failed", {
          code: "cancelled",
          cause: { code: "cancelled", text: "" },
          error: "",
        }),
        about(id, "agent.subagent_closed", {
          sub_agent_id: id,
          step_idx: 0,
          final_status: "failed",
          close_reason: "cancelled",
          seal,
        }),
      );
    }
    const parentOf = (id: string): string | undefined =>
      find(`invoke_agent ${id}`).parentSpanContext?.spanId;
    assert.notEqual(parentOf(step), undefined);
    assert.equal(parentOf(watcher), parentOf(orphan));
    assert.notEqual(parentOf(step), parentOf(orphan));
  });

  it("go on when the process was taken for dead and has another name", async () => {
    const { ownership } = store;
    const renamed = { worker: `${ownership.worker}-again`, fence: 1 };
    Object.defineProperty(store, "ownership", { get: () => renamed });
    const run = await StoredRun.start(store);
    const id = await run.child();
    await run.append(
      about(id, "agent.subagent_failed", {
        code: "cancelled",
        cause: { code: "cancelled", text: "" },
        error: "",
      }),
      about(id, "agent.subagent_closed", {
        sub_agent_id: id,
        step_idx: 0,
        final_status: "failed",
        close_reason: "cancelled",
        seal,
      }),
    );
    assert.equal(find("invoke_agent tester").attributes["error.type"], "cancelled");
  });
});
