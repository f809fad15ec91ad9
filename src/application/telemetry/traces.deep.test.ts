import assert from "node:assert/strict";
import { context, ROOT_CONTEXT, trace } from "@opentelemetry/api";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { describe, it } from "vitest";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { type EngineOptions, openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";
import {
  openReceiver,
  type ReceivedSpan,
  type TraceReceiver,
} from "./trace-receiver.test-support.ts";

const secret = "the launch code is 0000";

/** A lead with two children, one of whom has a child; a refused call; a failing child. */
const script: Script = ({ caller }) => {
  const { profile, turn } = caller;
  if (profile === "lead" && turn === 1) {
    return {
      calls: [
        { tool: "delegate_task", input: { profile: "middle", task: `Remember: ${secret}` } },
        { tool: "delegate_task", input: { profile: "failing", task: "fail" } },
        { tool: "no_such_tool", input: { secret } },
      ],
    };
  }
  if (profile === "middle" && turn === 1) {
    return { calls: [{ tool: "delegate_task", input: { profile: "leaf", task: "be a leaf" } }] };
  }
  if (profile === "failing") return { fault: "rejected", message: secret };
  return { text: `${profile}: ${secret}` };
};

const options = (endpoint: string): EngineOptions => ({
  model: script,
  profiles: ["lead", "middle", "leaf", "failing"].map((name) =>
    testProfile(name, { tools: ["delegate_task"] }),
  ),
  environment: {
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20abc",
    OTEL_SERVICE_NAME: "tests",
  },
});

/** Names, each below its parent's, in order of beginning. */
function treeOf(spans: readonly ReceivedSpan[], parent?: string): unknown[] {
  return spans
    .filter(({ parentSpanId }) => parentSpanId === parent)
    .sort((one, other) => one.startMs - other.startMs || order(one) - order(other))
    .map((span) => [span.name, ...treeOf(spans, span.spanId)]);
}

const order = ({ name }: ReceivedSpan): number =>
  ["chat", "execute_tool delegate_task", "execute_tool no_such_tool"].findIndex((word) =>
    name.startsWith(word),
  );

const received = ({ spans }: TraceReceiver, wanted: string): Promise<boolean> =>
  until(`the span ${wanted}`, () => spans.some(({ name }) => name === wanted));

const isAboutTraces = (text: string): boolean => text.startsWith("Traces could not be sent");

const named = (spans: readonly ReceivedSpan[], name: string): ReceivedSpan => {
  const found = spans.filter((span) => span.name === name);
  assert.equal(found.length, 1, name);
  return found[0] as ReceivedSpan;
};

describe("traces", () => {
  it("are the tree of delegations, as a collector receives it", async () => {
    await using receiver = await openReceiver();
    await using engine = await openEngine(options(receiver.endpoint));
    const { runId, delegationId, events } = await engine.run({ task: "lead", profile: "lead" });
    await received(receiver, "invoke_agent lead");
    const { spans } = receiver;
    const model = String(named(spans, "invoke_agent leaf").attributes["gen_ai.request.model"]);
    const chat = `chat ${model}`;
    const [root] = treeOf(spans) as [string, ...unknown[]][];
    assert.equal(treeOf(spans).length, 1);
    assert.deepEqual(new Set(spans.map(({ traceId }) => traceId)).size, 1);
    assert.deepEqual(sorted(root), [
      "invoke_agent lead",
      [chat],
      [chat],
      [
        "execute_tool delegate_task",
        [
          "invoke_agent middle",
          [chat],
          [chat],
          ["execute_tool delegate_task", ["invoke_agent leaf", [chat]]],
        ],
      ],
      ["execute_tool delegate_task", ["invoke_agent failing", [chat]]],
      ["execute_tool no_such_tool"],
    ]);
    const lead = named(spans, "invoke_agent lead");
    const created = events.find((event) => event.type === "agent.subagent_created");
    assert.equal(lead.attributes["gen_ai.operation.name"], "invoke_agent");
    assert.equal(lead.attributes["gen_ai.agent.id"], delegationId);
    assert.equal(lead.attributes["gen_ai.agent.name"], "lead");
    assert.equal(lead.attributes["gen_ai.conversation.id"], runId);
    assert.equal(lead.attributes["mandate.close_reason"], "report_accepted");
    assert.equal(lead.attributes["mandate.depth"], 0);
    assert.match(String(lead.attributes["mandate.contract.hash"]), /^[0-9a-f]{64}$/);
    assert.ok(Number(lead.attributes["gen_ai.usage.input_tokens"]) > 0);
    assert.equal(lead.startMs, created?.at);
    assert.equal(lead.endMs, events.findLast(({ type }) => type === "agent.subagent_closed")?.at);
    assert.equal(lead.resource["service.name"], "tests");
    const failing = named(spans, "invoke_agent failing");
    assert.ok(failing.isError);
    assert.equal(failing.attributes["error.type"], "provider_unavailable");
    const turns = spans.filter(({ name }) => name === chat);
    assert.deepEqual(turns.filter(({ isError }) => isError).length, 1);
    const answered = turns.find(({ isError }) => !isError);
    assert.equal(answered?.kind, 3);
    assert.equal(answered?.attributes["gen_ai.operation.name"], "chat");
    assert.equal(typeof answered?.attributes["gen_ai.provider.name"], "string");
    assert.deepEqual(
      new Set(
        turns.flatMap(({ attributes }) => attributes["gen_ai.response.finish_reasons"] ?? []),
      ),
      new Set(["stop", "tool_call"]),
    );
    const denied = named(spans, "execute_tool no_such_tool");
    assert.equal(denied.attributes["error.type"], "denied");
    assert.deepEqual(
      denied.events.map(({ name, attributes }) => [name, typeof attributes["mandate.rule"]]),
      [["mandate.denied", "string"]],
    );
    assert.ok(!JSON.stringify(spans).includes(secret), "what was said is nobody's business");
    assert.equal(receiver.headers[0]?.["path"], "/v1/traces");
    assert.equal(receiver.headers[0]?.["authorization"], "Bearer abc");
  });

  it("hold what was said where that is asked for", async () => {
    await using receiver = await openReceiver();
    const { environment, ...rest } = options(receiver.endpoint);
    const wants = { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true" };
    await using engine = await openEngine({ ...rest, environment: { ...environment, ...wants } });
    await engine.run({ task: "lead", profile: "lead" });
    await received(receiver, "invoke_agent lead");
    const leaf = named(receiver.spans, "invoke_agent leaf");
    assert.match(String(leaf.attributes["gen_ai.output.messages"]), /leaf: the launch code/);
    const denied = named(receiver.spans, "execute_tool no_such_tool");
    assert.equal(denied.attributes["gen_ai.tool.call.arguments"], JSON.stringify({ secret }));
  });

  it("go on after a crash in the same trace, and send nothing twice", async () => {
    await using receiver = await openReceiver();
    let isBlocked = true;
    const model: Script = (request) => {
      if (request.caller.profile === "leaf" && isBlocked) return { fault: "stall" };
      return script(request);
    };
    const opened = { ...options(receiver.endpoint), model };
    await using first = await openEngine(opened);
    const { runId } = await first.start({ task: "lead", profile: "lead" });
    await received(receiver, "invoke_agent failing");
    const before = [...receiver.spans];
    assert.ok(before.every(({ name }) => !/lead|middle|leaf/.test(name)));
    first.abandon();
    isBlocked = false;
    await using second = await first.another(opened);
    for (const run of await second.engine.recover()) await run.result;
    await received(receiver, "invoke_agent lead");
    const { spans } = receiver;
    assert.equal(new Set(spans.map(({ spanId }) => spanId)).size, spans.length);
    assert.equal(new Set(spans.map(({ traceId }) => traceId)).size, 1);
    const [root] = treeOf(spans) as [string, ...unknown[]][];
    assert.equal(treeOf(spans).length, 1, "every span finds its parent");
    assert.equal(root?.[0], "invoke_agent lead");
    const created = (await second.events(runId))[1];
    assert.equal(named(spans, "invoke_agent lead").startMs, created?.at);
    for (const name of ["lead", "middle", "leaf", "failing"]) named(spans, `invoke_agent ${name}`);
  });

  it("are those of the process that works on a run, and of no other", async () => {
    await using mine = await openReceiver();
    await using theirs = await openReceiver();
    await using engine = await openEngine(options(mine.endpoint));
    await using beside = await engine.another(options(theirs.endpoint));
    await beside.run({ task: "lead", profile: "lead" });
    await received(theirs, "invoke_agent lead");
    // What is sent of one's own run comes after whatever would have been sent of theirs.
    const { runId } = await engine.run({ task: "lead", profile: "lead" });
    await received(mine, "invoke_agent lead");
    const runs = mine.spans.flatMap(({ attributes }) => attributes["gen_ai.conversation.id"] ?? []);
    assert.deepEqual([...new Set(runs)], [runId]);
    assert.equal(new Set(mine.spans.map(({ traceId }) => traceId)).size, 1);
  });

  it("go to the tracer of a program, and nowhere when it says so", async () => {
    const memory = new InMemorySpanExporter();
    const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(memory)] });
    await using receiver = await openReceiver();
    await using engine = await openEngine({
      ...options(receiver.endpoint),
      telemetry: { tracer: provider.getTracer("program") },
    });
    await engine.run({ task: "lead", profile: "lead" });
    await until("the last span", () =>
      memory.getFinishedSpans().some(({ name }) => name === "invoke_agent lead"),
    );
    const spans = memory.getFinishedSpans();
    assert.equal(new Set(spans.map((span) => span.spanContext().traceId)).size, 1);
    const silent = await engine.another({ ...options(receiver.endpoint), telemetry: false });
    await silent.run({ task: "lead", profile: "lead" });
    await silent.close();
    assert.deepEqual(receiver.spans, []);
  });

  it("go to a provider that a program registered", async () => {
    const memory = new InMemorySpanExporter();
    trace.setGlobalTracerProvider(
      new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(memory)] }),
    );
    try {
      await using engine = await openEngine({ model: () => ({ text: "done" }) });
      await engine.run({ task: "t", profile: "general" });
      await until("two spans", () => memory.getFinishedSpans().length === 2);
    } finally {
      trace.disable();
      context.disable();
    }
    assert.equal(trace.getSpan(ROOT_CONTEXT), undefined);
  });

  it("that nobody takes are told of once, and hold nobody up", async () => {
    await using receiver = await openReceiver(400);
    const warnings: string[] = [];
    const note = (warning: Error): number => warnings.push(warning.message);
    process.on("warning", note);
    try {
      {
        await using engine = await openEngine(options(receiver.endpoint));
        await engine.run({ task: "lead", profile: "lead" });
      }
      await until("a warning", () => warnings.some(isAboutTraces));
    } finally {
      process.off("warning", note);
    }
    assert.equal(warnings.filter(isAboutTraces).length, 1);
  });
});

/** The order of what happened within a millisecond says nothing. */
function sorted(node: unknown): unknown {
  if (!Array.isArray(node)) return node;
  const [name, ...children] = node as [string, ...unknown[]];
  const weigh = (child: unknown): string => {
    const text = JSON.stringify(child);
    const rank = text.startsWith('["chat') ? 0 : text.includes("no_such") ? 3 : 1;
    return `${rank}${text.includes("failing") ? 2 : 1}`;
  };
  const rest = children.map(sorted).sort((one, other) => weigh(one).localeCompare(weigh(other)));
  return [name, ...rest];
}
