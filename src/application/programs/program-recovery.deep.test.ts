import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ofType, testProfile } from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";
import { countProcesses } from "../../tools/shell/shell-fixture.test-support.ts";
import type { FakeScript } from "./fake-agent.test-support.ts";
import {
  machine,
  openPrograms,
  type ProgramScene,
  programProfile,
  reportsOf,
  whySkipped,
} from "./program-scene.test-support.ts";

/** Writes a line, and stays in its first turn until it is ended. */
const interrupted: FakeScript = async (agent) => {
  const isFirst = !agent.shell("test -f made.txt && echo yes").includes("yes");
  if (isFirst) {
    agent.write("made.txt", "made once\n");
    agent.say("I have written it.");
    agent.update({ sessionUpdate: "tool_call", toolCallId: "1", title: "x", status: "completed" });
    await agent.wait(600_000);
  }
  const knows = agent.prompt.includes("I have written it.");
  agent.say(`loaded ${agent.isLoaded}, told ${knows}, ${agent.prompt.includes("interrupted")}`);
};

async function startUntilReported({ engine }: ProgramScene, profile = "program") {
  const started = await engine.start({
    ...{ task: "go", profile, workspace: engine.workspace },
  });
  await until("it reports its call", async () =>
    reportsOf(await engine.events(started.runId)).includes("called x"),
  );
  return started;
}

const ways = [
  ["loads its session", { loadsSessions: true }, "loaded true, told false, true"],
  ["tells a new session what was said", {}, "loaded false, told true, true"],
] as const;

describe.skipIf(!machine.isUsable)(`recovery of an agent program${whySkipped}`, () => {
  it.each(ways)(
    "after Mandate ended in a turn %s, and merges once",
    async (_what, fake, answer) => {
      await using scene = await openPrograms([programProfile(interrupted, { fake })]);
      const { engine } = scene;
      const { delegationId, runId } = await startUntilReported(scene);
      await engine.close();
      await expect.poll(() => countProcesses(delegationId)).toBe(0);
      const second = await engine.another(scene.options);
      const [recovered] = await second.engine.recover(runId);
      expect(await recovered?.result).toMatchObject({ status: "completed", result: answer });
      const events = await second.events(runId);
      expect(ofType(events, "agent.worktree_merged")).toHaveLength(1);
      expect(ofType(events, "agent.program_started")).toHaveLength(2);
      expect(readFileSync(join(engine.workspace, "made.txt"), "utf8")).toBe("made once\n");
    },
  );

  it.each(ways)("after an interrupt a resume %s", async (_what, fake, answer) => {
    const program = programProfile(interrupted, { fake, onParentInterrupt: "pause" });
    const boss = testProfile("boss", { capabilities: ["primary"], tools: "*" });
    const input = { profile: "program", task: "go" };
    await using scene = await openPrograms([program, boss], {
      model: ({ caller }) =>
        caller.turn === 1 ? { calls: [{ tool: "delegate_task", input }] } : "done",
    });
    const { engine } = scene;
    const { runId } = await startUntilReported(scene, "boss");
    expect(await engine.engine.interrupt(runId, "later")).toMatchObject({ outcome: "paused" });
    const resumed = await engine.engine.resume(runId);
    const { subDelegations } = await resumed.result;
    expect(subDelegations).toMatchObject([{ status: "completed", result: answer }]);
    expect(ofType(await engine.events(runId), "agent.worktree_merged")).toHaveLength(1);
  });
});
