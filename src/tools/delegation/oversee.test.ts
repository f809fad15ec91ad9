import { describe, expect, it } from "vitest";
import type { ScriptedCall } from "../../models/scripted/playbook.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import type { Message } from "../../ports/model.ts";
import { ofType, openEngine, recording, testProfile } from "../../testing/engine-fixture.ts";

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
      error: "not needed",
    });
    expect(ofType(events, "agent.subagent_closed", ids[1])[0]?.payload.final_status).toBe(
      "completed",
    );
  });

  it("reaches only what is one's own", async () => {
    const { messages } = await run(leadAfter(["1"], () => cancel("ffffff")));
    expect(messages.at(-1)).toMatchObject({
      isError: true,
      text: "Error: you have no sub-agent ffffff",
    });
  });

  it("does not fail the run: who cancels a child knows how it ended", async () => {
    const { events } = await run(leadAfter(["500"], ([first]) => cancel(first)));
    expect(ofType(events, "run.finished")[0]?.payload.outcome).toBe("succeeded");
  });
});
