import { rmSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { isDistributed, notOffered } from "../../testing/alter-database.test-support.ts";
import {
  type EngineOptions,
  ofType,
  openEngine,
  type TestEngine,
  testProfile,
} from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";
import { defineTool } from "../../tools/tool.ts";
import { PathDenied } from "../../workspaces/resolve-inside.ts";

/** A tool that kills its process while it runs, as often as it is told to. */
function deadly(idempotent: boolean) {
  const state = { executed: 0, deaths: 1, kill: () => {}, forbidden: false, forbidAtDeath: false };
  const tool = defineTool({
    name: "deadly",
    description: "Is hard on its worker.",
    effect: "exec",
    exposure: noExposure,
    idempotent,
    scopes: [],
    input: z.strictObject({}),
    preflight() {
      if (state.forbidden) throw new PathDenied("path_changed", "It is no longer there.");
    },
    execute() {
      state.executed += 1;
      if (state.deaths-- > 0) {
        state.forbidden = state.forbidAtDeath;
        // What it had begun is on disk before it dies, as with a slow tool.
        setImmediate(() => setImmediate(() => state.kill()));
        return new Promise(() => {});
      }
      return "survived";
    },
  });
  return { tool, state };
}

const profiles = [
  testProfile("worker", { tools: ["deadly"] }),
  testProfile("lead", {
    tools: ["delegate_task", "spawn", "spawn_await"],
    mayDelegate: { tools: ["deadly"] },
  }),
];

/** So many requests are about to leave, and the log says so. */
async function reserved({ events }: TestEngine, runId: string, count: number): Promise<void> {
  await until(
    "the requests leave",
    async () => ofType(await events(runId), "agent.budget_reserved").length >= count,
  );
}

const once: Script = ({ caller, messages }) =>
  caller.turn === 1 ? { calls: [{ tool: "deadly" }] } : (messages.at(-1)?.text ?? "");

/** Starts a run and lets one process after the other die until the tool has had enough. */
async function survive(
  mandate: TestEngine,
  state: ReturnType<typeof deadly>["state"],
  options: EngineOptions,
) {
  let current = mandate;
  const dead = () =>
    new Promise<void>((resolve) => {
      state.kill = () => {
        current.abandon();
        resolve();
      };
    });
  let died = dead();
  const { runId } = await mandate.start({ task: "go", profile: "worker" });
  for (;;) {
    await died;
    died = dead();
    current = await mandate.another(options);
    const [recovered] = await current.engine.recover();
    const result = await Promise.race([died, recovered?.result]);
    if (result) return { result, events: await current.events(runId) };
    if (recovered === undefined) {
      return { result: await current.engine.resultOf(runId), events: await current.events(runId) };
    }
  }
}

describe("a call that was cut by a crash", () => {
  it("is made again when its tool is idempotent", async () => {
    const { tool, state } = deadly(true);
    const options = { profiles, tools: [tool], model: once };
    await using mandate = await openEngine(options);
    const { result, events } = await survive(mandate, state, options);
    expect(state.executed).toBe(2);
    expect(result).toMatchObject({ status: "completed", result: "survived" });
    expect(ofType(events, "agent.tool_started")).toHaveLength(1);
    expect(ofType(events, "agent.tool_completed")).toHaveLength(1);
  });

  it("is not made again when it is not: the model is told to look before it repeats it", async () => {
    const { tool, state } = deadly(false);
    const options = { profiles, tools: [tool], model: once };
    await using mandate = await openEngine(options);
    const { result, events } = await survive(mandate, state, options);
    expect(state.executed).toBe(1);
    expect(result?.status).toBe("completed");
    expect(result?.result).toBe(
      "The call of deadly was interrupted and its outcome is unknown. Look at what it did before you repeat it.",
    );
    expect(ofType(events, "agent.tool_outcome_unknown")).toHaveLength(1);
    expect(ofType(events, "agent.tool_completed")).toEqual([]);
  });

  it("and may not be made any more is not denied after the fact: its outcome is unknown", async () => {
    const { tool, state } = deadly(true);
    state.forbidAtDeath = true;
    const options = { profiles, tools: [tool], model: once };
    await using mandate = await openEngine(options);
    const { result, events } = await survive(mandate, state, options);
    expect(state.executed).toBe(1);
    expect(ofType(events, "agent.tool_denied")).toEqual([]);
    expect(ofType(events, "agent.tool_outcome_unknown")).toHaveLength(1);
    expect(result?.result).toMatch(/outcome is unknown. It is no longer there.$/);
  });

  it("and that middleware refuses now is not denied after the fact either", async () => {
    const { tool, state } = deadly(true);
    const options = { profiles, tools: [tool], model: once };
    const refusing = { call: () => Promise.reject(new Error("no more of that")) };
    await using mandate = await openEngine(options);
    const { events } = await survive(mandate, state, { ...options, middleware: [refusing] });
    expect(ofType(events, "agent.tool_denied")).toEqual([]);
    expect(ofType(events, "agent.tool_outcome_unknown")).toHaveLength(1);
  });

  it("by a tool that kills its worker each time is given up after three resumptions", async () => {
    const { tool, state } = deadly(true);
    state.deaths = 100;
    const options = { profiles, tools: [tool], model: once };
    await using mandate = await openEngine(options);
    const { result, events } = await survive(mandate, state, options);
    expect(result).toMatchObject({ status: "failed", closeReason: "worker_lost" });
    expect(state.executed).toBe(4);
    expect(ofType(events, "agent.resumed").map(({ payload }) => payload.resumption)).toEqual([
      1, 2, 3,
    ]);
    expect(ofType(events, "run.finished")[0]?.payload.outcome).toBe("failed");
  });
});

describe("a run that cannot be taken up again", () => {
  it("because its workspace is gone is closed, and the others are recovered", async ({ skip }) => {
    skip(isDistributed, notOffered.ownership);
    let recovering = false;
    const model: Script = () => (recovering ? "done" : { fault: "hang" });
    await using mandate = await openEngine({ profiles, tools: [deadly(true).tool], model });
    const gone = await mandate.start({
      task: "gone",
      profile: "worker",
      workspace: mandate.workspace,
    });
    const fine = await mandate.start({ task: "fine", profile: "worker" });
    mandate.abandon();
    rmSync(mandate.workspace, { recursive: true });
    recovering = true;
    const second = await mandate.another({ profiles, tools: [deadly(true).tool], model });
    const recovered = await second.engine.recover();
    expect(recovered.map(({ runId }) => runId)).toEqual([fine.runId]);
    expect((await recovered[0]?.result)?.status).toBe("completed");
    const result = await second.engine.resultOf(gone.runId);
    expect(result).toMatchObject({ status: "failed", closeReason: "worker_lost" });
    expect(result?.result).toMatch(/workspace .* does not exist/);
  });
});

describe("what a crash may have cost", () => {
  it("is the worst case of the request that was under way, and never forgotten", async () => {
    let recovering = false;
    const model: Script = () =>
      recovering ? { text: "done", usage: { prompt: 10, completion: 5 } } : { fault: "hang" };
    await using mandate = await openEngine({ profiles, model, tools: [deadly(true).tool] });
    const { runId } = await mandate.start({ task: "go", profile: "worker" });
    // The reservation is on disk before the request leaves.
    await reserved(mandate, runId, 1);
    mandate.abandon();
    recovering = true;
    const second = await mandate.another({ profiles, model, tools: [deadly(true).tool] });
    const [run] = await second.engine.recover();
    const result = await run?.result;
    const [lost, last] = ofType(await second.events(runId), "agent.budget_settled");
    const [held] = ofType(await second.events(runId), "agent.budget_reserved");
    const { prompt = 0, tokens = 0 } = held?.payload ?? {};
    expect(lost?.payload).toMatchObject({ estimated: true, prompt, completion: tokens - prompt });
    expect(last?.payload).toMatchObject({ prompt: 10, completion: 5 });
    const usage = { prompt: prompt + 10, completion: tokens - prompt + 5, estimated: true };
    expect(result?.tokenUsage).toMatchObject(usage);
  });
});

describe("calls whose provider gives the same id in every turn", () => {
  it("find their own child again after a crash, not an earlier one", async () => {
    let hang = true;
    const model: Script = ({ caller, messages }) => {
      if (caller.depth > 0)
        return caller.task === "b" && hang ? { fault: "hang" } : `did ${caller.task}`;
      const results = messages.flatMap((each) =>
        each.role === "tool" ? JSON.parse(each.text).result : [],
      );
      const task = ["a", "b"][results.length];
      if (task === undefined) return results.join(", ");
      return {
        calls: [{ id: "call_a", tool: "delegate_task", input: { profile: "worker", task } }],
      };
    };
    const options = { profiles, tools: [deadly(true).tool], model };
    await using mandate = await openEngine(options);
    const { runId } = await mandate.start({ task: "go", profile: "lead" });
    await reserved(mandate, runId, 4);
    mandate.abandon();
    hang = false;
    const second = await mandate.another(options);
    const [recovered] = await second.engine.recover();
    expect((await recovered?.result)?.result).toBe("did a, did b");
  });
});

describe("a process that is closed while a run is going on", () => {
  it("does not leave its caller waiting; the next process takes the run up", async () => {
    const isClosed = Promise.withResolvers<void>();
    const model: Script = async ({ caller }) => {
      if (caller.depth > 0) {
        await isClosed.promise;
        return "did it";
      }
      if (caller.turn > 1) return "all done";
      return { calls: [{ tool: "delegate_task", input: { profile: "worker", task: "x" } }] };
    };
    const options = { profiles, tools: [deadly(true).tool], model };
    await using mandate = await openEngine(options);
    const { runId, result } = await mandate.start({ task: "go", profile: "lead" });
    await reserved(mandate, runId, 2);
    await mandate.close();
    isClosed.resolve();
    expect(await result).toMatchObject({ status: "failed", closeReason: "worker_lost" });
    const second = await mandate.another(options);
    const [recovered] = await second.engine.recover();
    expect(await recovered?.result).toMatchObject({ status: "completed", result: "all done" });
  });
});
