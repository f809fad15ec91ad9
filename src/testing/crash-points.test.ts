import { describe, expect, it } from "vitest";
import { defaultConfig } from "../control/config.ts";
import type { ScriptedReply } from "../models/scripted/playbook.ts";
import { type Script, scriptedModel } from "../models/scripted/scripted-model.ts";
import { crashPoints } from "./crash-points.ts";
import { testProfile } from "./engine-fixture.ts";

const config = {
  ...defaultConfig,
  tools: { ...defaultConfig.tools, spawn: { ...defaultConfig.tools.spawn, enabled: true } },
  profiles: [],
  files: [],
};

const profiles = [
  testProfile("lead", {
    tools: ["delegate_task", "spawn", "spawn_await"],
    mayDelegate: { tools: ["delegate_task", "complete_task"] },
  }),
  testProfile("middle", { tools: ["delegate_task", "complete_task"] }),
  testProfile("leaf", { tools: ["complete_task"] }),
  testProfile("flaky", { tools: [] }),
];

const delegateTo = (profile: string) => ({
  tool: "delegate_task",
  input: { profile, task: `work of ${profile}` },
});

/** Answers by the conversation alone, so that a crash changes nothing about what it says. */
const script: Script = ({ caller, messages }) => {
  const { attempt, profile, turn } = caller;
  if (profile === "lead") {
    if (turn === 1) return { calls: [delegateTo("middle"), delegateTo("flaky")] };
    if (turn === 2)
      return { calls: [{ tool: "spawn", input: { profile: "leaf", task: "spawned" } }] };
    if (turn === 3) return { calls: [{ tool: "spawn_await", input: { job_ids: "*" } }] };
    const joined = messages.at(-1)?.text ?? "";
    return `all done, spawn_await said ${joined.replace(/^\[[0-9a-f]+/, "[id")}`;
  }
  if (profile === "flaky") return attempt === 1 ? { fault: "empty" } : "at last";
  if (profile === "middle") return turn === 1 ? { calls: [delegateTo("leaf")] } : "middle done";
  if (turn === 1) return { calls: [{ tool: "shell" }] };
  return { calls: [{ tool: "complete_task", input: { summary: "leaf done" } }] };
};

/** With a little time to every answer, so that few of them share a commit. */
const slowly: Script = (request) => {
  const reply = script(request) as ScriptedReply | string;
  const { depth, turn } = request.caller;
  return { ...(typeof reply === "string" ? { text: reply } : reply), latency_ms: 1 + depth + turn };
};

describe("a run that is cut after any of its commits", () => {
  it("ends as if nothing had happened, with a sound log, and is recovered once", async () => {
    const { undisturbed, points } = await crashPoints(
      {
        config,
        profiles,
        scripted: scriptedModel(slowly),
        synchronous: "normal",
        limits: { backoffMs: 1 },
      },
      { task: "go", profile: "lead" },
    );
    expect(undisturbed).toMatchObject({
      status: "completed",
      result: expect.stringContaining("OK"),
    });
    expect(points.length).toBeGreaterThan(9);
    for (const { after, result, violations, writtenAgain } of points) {
      const where = `after ${after.map(({ type }) => type).join(", ")}`;
      expect(violations, where).toEqual([]);
      expect(writtenAgain, where).toBe(0);
      expect([result?.status, result?.result], where).toEqual(["completed", undisturbed.result]);
    }
  });
});
