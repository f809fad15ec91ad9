import { describe, expect, it } from "vitest";
import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { alterDatabase } from "../../testing/alter-database.test-support.ts";
import { ofType, openEngine, type TestEngine, testProfile } from "../../testing/engine-fixture.ts";
import { HeldClock } from "../../testing/held-clock.test-support.ts";
import { defineTool } from "../../tools/tool.ts";

const profiles = [
  testProfile("lead", { tools: ["delegate_task"], mayDelegate: { tools: ["list_files"] } }),
  testProfile("worker", { tools: ["list_files"] }),
];

/** Somebody with access to the file gives a delegation more than it was granted. */
async function tamper(engine: TestEngine, depth: number): Promise<void> {
  const change = `UPDATE sub_agents SET context_json =
    replace(context_json, '"allowed_tools":[', '"allowed_tools":["write_file",')`;
  await alterDatabase(
    engine,
    `${change} WHERE context_json ->> '$.parent.depth' = ${depth}`,
    `${change} WHERE context_json::json #>> '{parent,depth}' = '${depth}'`,
  );
}

describe("a contract that was changed in the database", () => {
  // close.ts, closeWith: the refused append leaves `isEnding` set, and nobody ends it after that.
  it("is refused at the next transition: the delegation is closed as denied by policy", async () => {
    const engines: TestEngine[] = [];
    await using mandate = await openEngine({
      profiles,
      breaks: ["I2"],
      model: async () => {
        for (const engine of engines) await tamper(engine, 0);
        return "all done";
      },
    });
    engines.push(mandate);
    const { result, events } = await mandate.run({ task: "go", profile: "worker" });
    expect(result).toMatchObject({ status: "failed", closeReason: "policy_denied" });
    expect(result.result).toMatch(/is not the one it was created with/);
    expect(ofType(events, "agent.subagent_completed")).toEqual([]);
    expect(ofType(events, "agent.subagent_failed")[0]?.payload.code).toBe("policy_denied");
    expect(ofType(events, "run.finished")[0]?.payload.outcome).toBe("failed");
  });

  // A damaged contract breaks the same invariant here: the child stays open in a finished run.
  it("ends the child alone: its caller is told, and goes on", async () => {
    const engines: TestEngine[] = [];
    const script: Script = async ({ caller }) => {
      if (caller.depth === 1) {
        for (const engine of engines) await tamper(engine, 1);
        return "all done";
      }
      if (caller.turn > 1) return "carried on";
      return { calls: [{ tool: "delegate_task", input: { profile: "worker", task: "x" } }] };
    };
    await using mandate = await openEngine({ profiles, model: script, breaks: ["I2"] });
    engines.push(mandate);
    const { result, events } = await mandate.run({ task: "go", profile: "lead" });
    expect(result).toMatchObject({ status: "completed", result: "carried on" });
    expect(result.subDelegations).toMatchObject([
      { status: "failed", closeReason: "policy_denied" },
    ]);
    expect(ofType(events, "agent.subagent_closed")).toHaveLength(2);
  });

  it("is found out also while a call is open, which then has an end in the log", async () => {
    const engines: TestEngine[] = [];
    const clock = new HeldClock();
    const wait = defineTool({
      name: "wait",
      description: "Waits for longer than there is.",
      effect: "exec",
      exposure: noExposure,
      idempotent: false,
      scopes: [],
      input: z.strictObject({}),
      async execute() {
        for (const engine of engines) await tamper(engine, 0);
        clock.pass(100);
        return new Promise<string>(() => {});
      },
    });
    await using mandate = await openEngine({
      clock,
      profiles: [testProfile("waiter", { tools: ["wait"] })],
      tools: [wait],
      model: () => ({ calls: [{ tool: "wait" }] }),
      breaks: ["I2"],
    });
    engines.push(mandate);
    const { result, events } = await mandate.run({
      task: "go",
      profile: "waiter",
      timeoutMs: 60,
    });
    expect(result).toMatchObject({ status: "failed", closeReason: "policy_denied" });
    expect(ofType(events, "agent.tool_outcome_unknown")).toHaveLength(1);
  });

  it("is refused by recovery as well, which closes what it cannot trust", async () => {
    let recovering = false;
    const script: Script = () => (recovering ? "done" : { fault: "hang" });
    await using mandate = await openEngine({ profiles, model: script, breaks: ["I2"] });
    const { runId } = await mandate.start({ task: "go", profile: "worker" });
    mandate.abandon();
    await tamper(mandate, 0);
    recovering = true;
    const second = await mandate.another({ profiles, model: script });
    await second.engine.recover();
    const run = await second.store.readRun(runId);
    expect([...(run?.delegations.values() ?? [])]).toMatchObject([
      { status: "closed", closeReason: "policy_denied" },
    ]);
  });
});
