import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import { defaultConfig } from "../../control/config.ts";
import type { ScriptedCall } from "../../models/scripted/playbook.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import type { Message } from "../../ports/model.ts";
import { ofType, openEngine, recording, testProfile } from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";

const tools = [
  "spawn",
  "spawn_await",
  "list_sub_agents",
  "get_delegation_result",
  "cancel_delegation",
];
const profiles = [testProfile("lead", { tools }), testProfile("worker", { tools: [] })];

type Step = (ids: string[]) => ScriptedCall;

/** Spawns one job for each task, then makes one call a turn. */
function leadAfter(tasks: readonly string[], ...steps: readonly Step[]): Script {
  return ({ caller, messages }) => {
    if (caller.depth > 0) return { text: `did ${caller.task}`, latency_ms: Number(caller.task) };
    if (caller.turn === 1) {
      return {
        calls: tasks.map((task) => ({ tool: "spawn", input: { task, profile: "worker" } })),
      };
    }
    const step = steps[caller.turn - 2];
    return step === undefined ? "done" : { calls: [step(resultsOf(messages, "spawn"))] };
  };
}

function resultsOf(messages: readonly Message[], tool: string): string[] {
  return messages.flatMap((each) => (each.role === "tool" && each.tool === tool ? each.text : []));
}

async function run(script: Script) {
  const { seen, model } = recording(script);
  await using mandate = await openEngine({ profiles, model });
  const { events } = await mandate.run({ task: "go", profile: "lead" });
  const messages = seen.filter(({ caller }) => caller.depth === 0).at(-1)?.messages ?? [];
  return { events, messages, ids: resultsOf(messages, "spawn") };
}

describe("list_sub_agents", () => {
  it("shows active and finished delegations with state, waiting, tokens and cost", async () => {
    const { ids, messages } = await run(
      leadAfter(
        ["1", "200"],
        ([first]) => ({ tool: "spawn_await", input: { job_ids: first } }),
        () => ({ tool: "list_sub_agents" }),
        ([, second]) => ({ tool: "cancel_delegation", input: { delegationId: second } }),
      ),
    );
    const [list = "[]"] = resultsOf(messages, "list_sub_agents");
    expect(JSON.parse(list)).toMatchObject([
      { delegationId: ids[0], status: "closed", closeReason: "report_accepted", cost: 0 },
      { delegationId: ids[1], status: "running", waitingOn: { on: "model" }, attempt: 1, depth: 1 },
    ]);
    expect(JSON.parse(list)[0].tokens).toBeGreaterThan(0);
  });

  it("is an empty list for one who delegated nothing", async () => {
    const { messages } = await run(({ caller }) =>
      caller.turn === 1 ? { calls: [{ tool: "list_sub_agents" }] } : "done",
    );
    expect(resultsOf(messages, "list_sub_agents")).toEqual(["[]"]);
  });
});

describe("get_delegation_result", () => {
  it("is null while the child works, for strangers and for nonsense; then it is the result", async () => {
    const ask = (delegationId: string | undefined): ScriptedCall => ({
      tool: "get_delegation_result",
      input: { delegationId },
    });
    const { ids, messages } = await run(
      leadAfter(
        ["500"],
        ([first]) => ask(first),
        () => ask("ffffff"),
        () => ask("no id at all"),
        () => ({ tool: "spawn_await", input: { job_ids: "*" } }),
        ([first]) => ask(first),
      ),
    );
    const results = resultsOf(messages, "get_delegation_result").map((text) => JSON.parse(text));
    expect(results.slice(0, 3)).toEqual([null, null, null]);
    expect(results[3]).toMatchObject({
      delegationId: ids[0],
      status: "completed",
      result: "did 500",
      closeReason: "report_accepted",
    });
  });
});

describe("get_delegation_result with wait_ms", () => {
  /** A lead that starts a sub-agent in the background and asks for its result with these. */
  function collecting(waits: readonly (number | undefined)[], gate: Promise<void>): Script {
    return async ({ caller, messages }) => {
      if (caller.depth > 0) {
        await gate;
        return "found it";
      }
      if (caller.turn === 1) {
        const input = { agentId: "worker", prompt: "look", returnMode: "background" };
        return { calls: [{ tool: "spawn_subagent", input }] };
      }
      const [started = "{}"] = resultsOf(messages, "spawn_subagent");
      const { sessionId } = JSON.parse(started) as { sessionId: string };
      const wait = waits[caller.turn - 2];
      if (caller.turn - 2 >= waits.length) return "done";
      const input = { delegationId: sessionId, ...(wait !== undefined && { wait_ms: wait }) };
      return { calls: [{ tool: "get_delegation_result", input }] };
    };
  }

  const leading = [
    testProfile("lead", { tools: ["spawn_subagent", "get_delegation_result"] }),
    testProfile("worker", { tools: [] }),
  ];
  const off = {
    ...defaultConfig.tools,
    spawn: { enabled: null, explicit_tools: "select" },
  } as const;

  it("waits for the end, and collects what runs in the background without spawn_await", async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const { seen, model } = recording(collecting([3_600_000], gate));
    await using mandate = await openEngine({
      profiles: leading,
      model,
      config: { tools: off },
    });
    const { result, runId } = await mandate.start({ task: "go", profile: "lead" });
    const waiting = { on: "child", detail: "get_delegation_result" };
    await until("its caller waits for it", async () => {
      const [lead] = (await mandate.store.readRun(runId))?.delegations.values() ?? [];
      return lead?.status === "running" && isDeepStrictEqual(lead.waitingOn, waiting);
    });
    open();
    expect(await result).toMatchObject({ status: "completed", outcome: "succeeded" });
    const messages = seen.filter(({ caller }) => caller.depth === 0).at(-1)?.messages ?? [];
    const [text = "null"] = resultsOf(messages, "get_delegation_result");
    expect(JSON.parse(text)).toMatchObject({ status: "completed", result: "found it" });
  });

  it("gives null when the time is over, and the result when it is asked again", async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const script = collecting([1, 3_600_000], gate);
    const { seen, model } = recording((request) => {
      if (request.caller.depth === 0 && request.caller.turn === 3) open();
      return script(request);
    });
    await using mandate = await openEngine({ profiles: leading, model });
    const { result } = await mandate.run({ task: "go", profile: "lead" });
    expect(result.status).toBe("completed");
    const messages = seen.filter(({ caller }) => caller.depth === 0).at(-1)?.messages ?? [];
    const texts = resultsOf(messages, "get_delegation_result");
    expect(texts.map((text) => JSON.parse(text))).toMatchObject([null, { result: "found it" }]);
  });

  it.each([0, -1, 2 ** 31, "soon"])("takes %j for no time", async (wait) => {
    const gate = Promise.resolve();
    const { seen, model } = recording(collecting([wait as number], gate));
    await using mandate = await openEngine({ profiles: leading, model });
    await mandate.run({ task: "go", profile: "lead" });
    const last = seen.findLast(({ caller }) => caller.depth === 0)?.messages ?? [];
    expect(last.find(({ role, text }) => role === "tool" && /wait_ms/.test(text))).toMatchObject({
      isError: true,
    });
  });
});

describe("cancel_delegation", () => {
  const cancel = (delegationId: string | undefined): ScriptedCall => ({
    tool: "cancel_delegation",
    input: { delegationId, reason: "not needed" },
  });

  it("is acknowledged, is safe to repeat, and tells what is over already", async () => {
    const { ids, messages, events } = await run(
      leadAfter(
        ["500", "1"],
        ([first]) => cancel(first),
        ([first]) => cancel(first),
        ([, second]) => ({ tool: "spawn_await", input: { job_ids: second } }),
        ([, second]) => cancel(second),
      ),
    );
    const answers = resultsOf(messages, "cancel_delegation").map((text) => JSON.parse(text));
    expect(answers).toEqual([
      { delegationId: ids[0], outcome: "cancelled" },
      { delegationId: ids[0], outcome: "already_terminal" },
      { delegationId: ids[1], outcome: "already_terminal" },
    ]);
    expect(ofType(events, "agent.subagent_failed", ids[0])[0]?.payload).toEqual({
      code: "cancelled",
      cause: { code: "cancelled", text: "not needed" },
      error: "not needed",
    });
    expect(ofType(events, "agent.subagent_closed", ids[1])[0]?.payload.final_status).toBe(
      "completed",
    );
  });

  it("reaches only what is one's own", async () => {
    const { messages } = await run(leadAfter(["1"], () => cancel("ffffff")));
    expect(messages.filter(({ role }) => role === "tool").at(-1)).toMatchObject({
      isError: true,
      text: "Error: you have no sub-agent ffffff",
    });
  });

  it("does not fail the run: who cancels a child knows how it ended", async () => {
    const { events } = await run(leadAfter(["500"], ([first]) => cancel(first)));
    expect(ofType(events, "run.finished")[0]?.payload.outcome).toBe("succeeded");
  });
});
