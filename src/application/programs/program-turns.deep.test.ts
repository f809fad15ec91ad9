import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ofType, testProfile } from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";
import { countProcesses } from "../../tools/shell/shell-fixture.test-support.ts";
import {
  machine,
  openPrograms,
  programProfile,
  reportsOf,
  whySkipped,
} from "./program-scene.test-support.ts";

const boss = testProfile("boss", { capabilities: ["primary", "subtask"], tools: "*" });
const delegate = (profile: string, more: object = {}) => ({
  calls: [{ tool: "delegate_task", input: { profile, task: "your part", ...more } }],
});

describe.skipIf(!machine.isUsable)(`a turn of an agent program${whySkipped}`, () => {
  it("gets a message that was sent while it ran exactly once, before the next turn", async () => {
    const program = programProfile(async (agent) => {
      if (agent.turn === 1) {
        agent.say("I wait.");
        agent.update({ sessionUpdate: "tool_call", toolCallId: "1", title: "wait" });
        agent.update({ sessionUpdate: "tool_call_update", toolCallId: "1", status: "completed" });
        while (!agent.shell("ls").includes("go")) await agent.wait(20);
      }
      agent.say(`${agent.turn}: ${agent.prompt.split("look at b").length - 1}`);
    });
    await using scene = await openPrograms([program]);
    const { engine } = scene;
    const started = await engine.start({
      ...{ task: "go", profile: "program", workspace: engine.workspace },
    });
    await until("it reports", async () =>
      (await engine.events(started.runId)).some(({ type }) => type === "agent.program_reported"),
    );
    await engine.engine.send(started.delegationId, "look at b", "person");
    const copy = join(engine.home, "worktrees", started.delegationId);
    writeFileSync(join(copy, "go"), "");
    expect(await started.result).toMatchObject({ status: "completed", result: "2: 1" });
    const events = await engine.events(started.runId);
    expect(ofType(events, "agent.program_answered").map(({ payload }) => payload.text)).toEqual([
      ...["1: 0", "2: 1"],
    ]);
  });

  it("ends by its exit tool over MCP, and is reminded of it", async () => {
    const program = programProfile(
      async (agent) => {
        if (agent.turn === 1) return agent.say("I am done.");
        const { text } = await agent.tool("complete_task", { summary: "the form" });
        agent.say(`Handed in: ${text}`);
      },
      { exit: { tools: ["complete_task"] }, tools: ["read_file", "shell", "complete_task"] },
    );
    await using scene = await openPrograms([program]);
    const { events, result } = await scene.run();
    expect(result).toMatchObject({ status: "completed" });
    expect(ofType(events, "agent.program_answered")).toHaveLength(2);
    expect(ofType(events, "agent.tool_completed")).toHaveLength(1);
  });

  it("is asked once to repair an answer that its schema does not take", async () => {
    const program = programProfile(
      async (agent) => agent.say(agent.turn === 1 ? "seven" : '{"count":7}'),
      { exit: { outputSchema: { type: "object", required: ["count"] } } },
    );
    await using scene = await openPrograms([program]);
    const { events, result } = await scene.run();
    expect(result).toMatchObject({ status: "completed" });
    expect(result.result).toContain('{"count":7}');
    expect(ofType(events, "agent.program_started")).toHaveLength(1);
  });

  it("waits for a call of ours that the program does not wait for", async () => {
    const child = testProfile("child", { tools: [] });
    const program = programProfile(async (agent) => {
      void agent.tool("delegate_task", { profile: "child", task: "think" });
      while (!agent.shell("ls").includes("begun.txt")) await agent.wait(20);
      agent.say("I do not wait.");
    });
    let copy = "";
    await using scene = await openPrograms([program, child], {
      model() {
        writeFileSync(join(copy, "begun.txt"), "");
        return "thought";
      },
    });
    const { engine } = scene;
    const started = await engine.start({
      ...{ task: "go", profile: "program", workspace: engine.workspace },
    });
    copy = join(engine.home, "worktrees", started.delegationId);
    const result = await started.result;
    const events = await engine.events(started.runId);
    expect(result).toMatchObject({ status: "completed", result: "I do not wait." });
    expect(ofType(events, "agent.tool_completed")).toHaveLength(1);
    expect(result.subDelegations).toMatchObject([{ status: "completed" }]);
  });

  it("that is cancelled ends with all its processes", async () => {
    const program = programProfile(async (agent) => {
      agent.shell(
        "(setsid sh -c ': cancelled-daemon; while :; do sleep 0.1; done' >/dev/null 2>&1 &)",
      );
      agent.update({ sessionUpdate: "plan", entries: [] });
      await agent.wait(600_000);
    });
    await using scene = await openPrograms([program]);
    const { engine } = scene;
    const started = await engine.start({
      ...{ task: "go", profile: "program", workspace: engine.workspace },
    });
    await until("it runs", () => countProcesses("cancelled-daemon") > 0);
    await engine.engine.cancel(started.delegationId, "seen");
    expect(await started.result).toMatchObject({ status: "cancelled", closeReason: "cancelled" });
    await expect.poll(() => countProcesses("cancelled-daemon")).toBe(0);
  });
});

describe.skipIf(!machine.isUsable)(`an agent program as a child${whySkipped}`, () => {
  it("writes in a copy of its caller's copy, which is merged into that", async () => {
    const program = programProfile(async (agent) => {
      agent.write("from-child.txt", agent.shell("cat from-boss.txt"));
      agent.say("Written.");
    });
    const middle = testProfile("middle", { tools: "*" });
    await using scene = await openPrograms([program, boss, middle], {
      model: ({ caller }) => {
        if (caller.profile === "boss") return caller.turn === 1 ? delegate("middle") : "done";
        if (caller.turn === 1) {
          return {
            calls: [{ tool: "write_file", input: { path: "from-boss.txt", content: "b\n" } }],
          };
        }
        return caller.turn === 2 ? delegate("program") : "done";
      },
    });
    const { events, result } = await scene.run({ profile: "boss" });
    expect(result.status).toBe("completed");
    expect(ofType(events, "agent.subagent_failed")).toEqual([]);
    expect(readFileSync(join(scene.engine.workspace, "from-child.txt"), "utf8")).toBe("b\n");
  });

  it("may not write in a run that only reads", async () => {
    const program = programProfile(async (agent) => {
      agent.say(agent.shell("cat a.txt; echo no > a.txt; echo no > new.txt; ls"));
    });
    await using scene = await openPrograms([program]);
    const { result } = await scene.run({ readOnly: true });
    expect(result.result).toBe("a\na.txt");
    expect(readFileSync(join(scene.engine.workspace, "a.txt"), "utf8")).toBe("a\n");
  });

  it("gives its slot back while it waits for a child of its own", async () => {
    const child = testProfile("child", { tools: [] });
    const program = programProfile(async (agent) => {
      const { text } = await agent.tool("delegate_task", { profile: "child", task: "think" });
      agent.say(text.includes("thought") ? "It thought." : text);
    });
    await using scene = await openPrograms([program, child], {
      ...{ model: () => "thought", maxConcurrent: 1 },
    });
    const { result } = await scene.run();
    expect(result).toMatchObject({ status: "completed", result: "It thought." });
  });

  it("in the background is merged, and its result is delivered", async () => {
    const program = programProfile(async (agent) => {
      agent.write("made.txt", "made\n");
      agent.say("Made.");
    });
    await using scene = await openPrograms([program, boss], {
      model: ({ caller }) =>
        caller.turn === 1
          ? { calls: [{ tool: "spawn", input: { profile: "program", task: "make it" } }] }
          : "I do not wait.",
    });
    const { result } = await scene.run({ profile: "boss" });
    expect(result.subDelegations).toMatchObject([{ status: "completed", result: "Made." }]);
    expect(readFileSync(join(scene.engine.workspace, "made.txt"), "utf8")).toBe("made\n");
  });
});

describe.skipIf(!machine.isUsable)(`the budget of an agent program${whySkipped}`, () => {
  it("ends it with its best text, when it asks on and on", async () => {
    const program = programProfile(async (agent) => {
      agent.write("half.txt", "half\n");
      agent.say("Half of it is there.");
      agent.update({
        sessionUpdate: "tool_call",
        toolCallId: "1",
        title: "x",
        status: "completed",
      });
      for (;;) {
        const { text } = await agent.model();
        if (text.includes("Mandate")) agent.say(`An error: ${text}`);
      }
    });
    await using scene = await openPrograms([program]);
    scene.provider.reported = { prompt: 300, completion: 900 };
    const { events, result } = await scene.run({ maxCost: 0.1 });
    expect(result).toMatchObject({ closeReason: "budget_exhausted" });
    expect(result.result).toContain("Half of it is there.");
    const spent = scene.provider.billedTokens.reduce(
      (all, { completion, prompt }) => all + (prompt * 3 + completion * 15) / 1_000_000,
      0,
    );
    expect(spent).toBeLessThanOrEqual(0.1);
    expect(result.tokenUsage.cost).toBeCloseTo(spent, 6);
    expect(ofType(events, "agent.request_refused")).toHaveLength(1);
  });

  it("is shared by two programs of one tree", async () => {
    const program = programProfile(async (agent) => {
      for (let status = 200; status === 200; ) ({ status } = await agent.model());
      agent.say("It refused me.");
    });
    await using scene = await openPrograms([program, boss], {
      model: ({ caller }) =>
        caller.turn === 1
          ? { calls: [...delegate("program").calls, ...delegate("program").calls] }
          : "done",
    });
    scene.provider.reported = { prompt: 300, completion: 900 };
    await scene.run({ profile: "boss", maxCost: 0.1 });
    const spent = scene.provider.billedTokens.reduce(
      (all, { completion, prompt }) => all + (prompt * 3 + completion * 15) / 1_000_000,
      0,
    );
    expect(scene.provider.billed.length).toBeGreaterThan(2);
    expect(spent).toBeLessThanOrEqual(0.1);
  });
});

it.skipIf(!machine.isUsable)("what it says after a budget refused it is no result", async () => {
  const program = programProfile(async (agent) => {
    agent.say("My best text.");
    agent.update({ sessionUpdate: "tool_call", toolCallId: "1", title: "x", status: "completed" });
    for (let status = 200; status === 200; ) ({ status } = await agent.model());
    agent.say("API Error: budget");
  });
  await using scene = await openPrograms([program]);
  scene.provider.reported = { prompt: 300, completion: 900 };
  const { events, result } = await scene.run({ maxCost: 0.05 });
  expect(result.result).toContain("My best text.");
  expect(reportsOf(events).join()).not.toContain("API Error");
});
