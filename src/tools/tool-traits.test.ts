import { describe, expect, it } from "vitest";
import { z } from "zod";
import { noExposure } from "../contracts/exposure.ts";
import { defaultConfig } from "../control/config.ts";
import type { Script } from "../models/scripted/scripted-model.ts";
import { ofType, openEngine, recording, testProfile } from "../testing/engine-fixture.ts";
import { until } from "../testing/until.ts";
import { defineTool, type Tool } from "./tool.ts";

/** A tool that nothing in the product knows by its name. */
function ownTool(name: string, more: Partial<Tool> = {}): Tool {
  return defineTool({
    name,
    description: `The ${name} of a test`,
    effect: "read",
    exposure: noExposure,
    idempotent: true,
    scopes: [],
    input: z.strictObject({}),
    execute: () => "nothing yet",
    ...more,
  });
}

const once =
  (tool: string): Script =>
  ({ caller }) =>
    caller.turn === 1 ? { calls: [{ tool, input: {} }] } : "done";

describe("a tool of one's own", () => {
  it("that waits for children is shown as waiting for a child", async () => {
    const release = Promise.withResolvers<void>();
    const tool = ownTool("ask_team", {
      effect: "spawn",
      waits: true,
      async execute(_input, { delegator }) {
        const outcome = await delegator.start({ task: "look", profile: "helper" }, "delegate");
        if (!outcome.started) return { text: outcome.reason, isError: true };
        return delegator.results.joinAndComplete(outcome.delegationId, ({ result }) => ({
          text: result,
        }));
      },
    });
    await using engine = await openEngine({
      tools: [tool],
      profiles: [testProfile("lead", { tools: ["ask_team"] }), testProfile("helper")],
      async model(request) {
        if (request.caller.profile === "lead") return once("ask_team")(request);
        await release.promise;
        return "found";
      },
    });
    const { runId, result } = await engine.start({ task: "go", profile: "lead" });
    const waiting = await until("the lead waits in its call", async () => {
      const [lead] = (await engine.store.readRun(runId))?.delegations.values() ?? [];
      return lead?.status === "running" && lead.waitingOn.on === "child" && lead.waitingOn;
    });
    expect(waiting).toEqual({ on: "child", detail: "ask_team" });
    release.resolve();
    expect((await result).status).toBe("completed");
  });

  it("that polls may be called again and again, and another one may not", async () => {
    const tools = [ownTool("look_again", { polls: "state" }), ownTool("look_once")];
    const patient = testProfile("patient", { tools: ["look_again", "look_once"] });
    await using engine = await openEngine({
      tools,
      profiles: [patient],
      model: ({ caller: { task, turn } }) =>
        turn < 9 ? { calls: [{ tool: task, input: {} }] } : "it came",
    });
    const [again, looping] = await Promise.all(
      ["look_again", "look_once"].map((task) => engine.run({ task, profile: "patient" })),
    );
    expect(again?.result).toMatchObject({ status: "completed", result: "it came" });
    expect(looping?.result).toMatchObject({ status: "failed", closeReason: "no_progress" });
  });

  it("keeps to what it says although it bears the name of one that is switched off", async () => {
    const { agents, tools } = defaultConfig;
    await using engine = await openEngine({
      config: {
        agents: { delegation: { ...agents.delegation, enabled: false } },
        tools: { ...tools, spawn: { ...tools.spawn, enabled: false } },
      },
      tools: [ownTool("delegate_task", { changes: "none" }), ownTool("request_review")],
      profiles: [testProfile("lead", { tools: "*" })],
      model: ({ caller: { turn } }) => {
        const [tool] = [[], ["delegate_task"], ["request_review"]][turn] ?? [];
        return tool === undefined ? "done" : { calls: [{ tool, input: {} }] };
      },
    });
    const { events } = await engine.run({ task: "go", profile: "lead" });
    expect(ofType(events, "agent.tool_started").map(({ payload }) => payload)).toEqual([
      { call_id: "call_1_1", tool: "delegate_task", changes: "none" },
      { call_id: "call_2_1", tool: "request_review", changes: "any" },
    ]);
  });

  it("that is for orchestrators or watchers alone is given to no other agent", async () => {
    const tools = [
      ownTool("lead_on", { onlyFor: "orchestrator" }),
      ownTool("whisper", { onlyFor: "watcher" }),
      ownTool("look_up"),
      ownTool("note_down", { savesMemory: true }),
    ];
    const all = tools.map(({ name }) => name);
    const { seen, model } = recording(async ({ caller }) => {
      if (caller.profile !== "boss") return "done";
      if (caller.turn === 1) return { calls: [{ tool: "look_up", input: {} }] };
      await until("the watcher is asked", () => seen.some((one) => isOf(one, "pair")));
      return "done";
    });
    const isOf = (one: (typeof seen)[number], name: string) => one.caller.profile === name;
    await using engine = await openEngine({
      tools,
      model,
      limits: { watchIntervalMs: 1 },
      profiles: [
        testProfile("boss", { capabilities: ["orchestrator"], tools: all }),
        testProfile("clerk", { capabilities: ["primary"], tools: all }),
        testProfile("pair", { capabilities: ["watcher"], tools: all }),
      ],
    });
    await engine.run({ task: "go", profile: "clerk" });
    await engine.run({ task: "go", profile: "boss", watchers: ["pair"] });
    const shownTo = (name: string) =>
      seen.find((one) => isOf(one, name))?.tools.map((tool) => tool.name);
    expect(shownTo("clerk")).toEqual(["look_up", "note_down"]);
    expect(shownTo("boss")).toEqual(["lead_on", "look_up", "note_down"]);
    // It leaves nothing behind.
    expect(shownTo("pair")).toEqual(["whisper", "look_up"]);
  });

  it("that chooses from profiles or agents finds them in the prompt", async () => {
    const { seen, model } = recording(() => "done");
    await using engine = await openEngine({
      tools: [
        ownTool("pick", { effect: "spawn", choosesFrom: "profiles" }),
        ownTool("plain", { effect: "spawn" }),
      ],
      model,
      profiles: [
        testProfile("lead", { tools: ["pick"] }),
        testProfile("other", { tools: ["plain"] }),
        testProfile("helper", { description: "Knows where things are" }),
      ],
    });
    await engine.run({ task: "go", profile: "lead" });
    await engine.run({ task: "go", profile: "other" });
    const [lead, other] = seen.map(({ system }) => system);
    expect(lead).toContain("Knows where things are");
    expect(other).not.toContain("Knows where things are");
  });

  it("that hands work in for review is what such work ends with", async () => {
    const handIn = ownTool("hand_in", {
      mayComeBack: true,
      ends: () => "unseen",
      execute: () => ({ text: "Approved.", exit: "the text" }),
    });
    await using engine = await openEngine({
      tools: [handIn],
      profiles: [
        testProfile("reviewer"),
        testProfile("writer", { tools: ["hand_in"], exit: { review: { profile: "reviewer" } } }),
      ],
      model: once("hand_in"),
    });
    const { delegationId, result } = await engine.run({ task: "go", profile: "writer" });
    expect((await engine.store.readContract(delegationId)).exit.tools).toEqual(["hand_in"]);
    expect(result).toMatchObject({ status: "completed", result: "the text" });
  });
});
