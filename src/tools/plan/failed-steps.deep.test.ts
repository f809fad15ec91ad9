import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { ofType, openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { initRepository } from "../../testing/git-workspace.test-support.ts";

/** What becomes of a step that fails, with real files; the checker looks at each log afterwards. */

const profiles = [
  testProfile("lead", {
    capabilities: ["orchestrator", "primary"],
    tools: ["submit_plan"],
    mayDelegate: { tools: ["write_file"] },
  }),
  testProfile("writer", { tools: ["write_file"] }),
  testProfile("other", { tools: ["write_file"] }),
];

const step = (id: string, fields: object = {}) => ({
  id,
  title: id,
  description: id,
  profile: "writer",
  owns: [`${id}.txt`],
  ...fields,
});

/** The lead submits these plans; writers write `<task>.txt`, and those that fail write a bad one. */
function playing(plans: readonly object[], fails: (task: string, who: string) => boolean): Script {
  return ({ caller, messages }) => {
    const { delegationId, profile, task, turn } = caller;
    if (profile === "lead") {
      const input = plans[turn - 1];
      if (input === undefined) return `The end. ${messages.at(-1)?.text}`;
      return { calls: [{ tool: "submit_plan", input: input as Record<string, unknown> }] };
    }
    const isBad = fails(task, profile === "other" ? profile : delegationId);
    if (turn === 1) {
      const content = isBad ? "bad" : `by ${profile}`;
      return { calls: [{ tool: "write_file", input: { path: `${task}.txt`, content } }] };
    }
    return isBad ? { text: "x", served: "other/model" } : `${task} is written`;
  };
}

async function run(model: Script) {
  const mandate = await openEngine({ profiles, model });
  initRepository(mandate.workspace, { "a.txt": "old", "b.txt": "old", "c.txt": "old" });
  const { workspace } = mandate;
  const ended = await mandate.run({ task: "go", profile: "lead", workspace });
  const read = (id: string) => readFileSync(join(workspace, `${id}.txt`), "utf8");
  return { mandate, ended, read };
}

test("a step that fails is tried again by another child, from the same files, and merged once", async () => {
  const failed = new Set<string>();
  const isFirst = (task: string, who: string) => {
    if (task !== "b" || (failed.size > 0 && !failed.has(who))) return false;
    failed.add(who);
    return true;
  };
  const plan = { steps: [step("a"), step("b", { depends_on: ["a"], retries: 1 })] };
  const { ended, mandate, read } = await run(playing([plan], isFirst));
  await using _checked = mandate;
  expect(ended.result).toMatchObject({ status: "completed" });
  expect([read("a"), read("b")]).toEqual(["by writer", "by writer"]);
  const [, ...children] = ofType(ended.events, "agent.subagent_created");
  expect(children.map(({ payload }) => payload.call_id?.split("/")[1])).toEqual(["a", "b", "b-2"]);
  expect(ofType(ended.events, "agent.worktree_merged")).toHaveLength(2);
  expect(ofType(ended.events, "run.finished")[0]?.payload.outcome).toBe("succeeded");
});

test("a plan that failed is superseded by another one, which is recorded, and what was completed stays", async () => {
  const first = {
    steps: [step("a"), step("b", { depends_on: ["a"] }), step("c", { depends_on: ["b"] })],
  };
  const second = { steps: [step("b", { profile: "other" }), step("c", { depends_on: ["b"] })] };
  const { ended, mandate, read } = await run(
    playing([first, second], (task, who) => task === "b" && who !== "other"),
  );
  await using _checked = mandate;
  expect(ended.result.status).toBe("completed");
  expect(ended.result.result).toMatch(/^The end\. Plan completed: all 2 steps/);
  expect([read("a"), read("b"), read("c")]).toEqual(["by writer", "by other", "by writer"]);
  const plans = ofType(ended.events, "run.planned").map(({ payload }) => payload);
  expect(plans.map(({ steps }) => steps.map(({ key }) => key))).toEqual([
    ["a", "b", "c"],
    ["b", "c"],
  ]);
  expect(plans[0]?.by).toBe(plans[1]?.by);
  expect(ofType(ended.events, "run.finished")[0]?.payload.outcome).toBe("succeeded");
});

test("a step that stays failed fails whoever planned it and the run, whatever the planner says of it", async () => {
  const plan = { steps: [step("a"), step("b", { retries: 1 }), step("c", { depends_on: ["b"] })] };
  const { ended, mandate, read } = await run(playing([plan], (task) => task === "b"));
  await using _checked = mandate;
  expect(ended.result).toMatchObject({ status: "failed", closeReason: "exit_rule_unmet" });
  expect(ended.result.result).toMatch(
    /^Steps of the plan that were not completed: b, c\.\n\nThe end\. Plan failed/,
  );
  expect([read("a"), read("b"), read("c")]).toEqual(["by writer", "old", "old"]);
  expect(ofType(ended.events, "run.finished")[0]?.payload).toEqual({
    outcome: "failed",
    cause: { code: "plan_incomplete", steps: ["b", "c"] },
    reason: "exit rule not met: Steps of the plan that were not completed: b, c.",
  });
});

test("an orchestrator below another agent whose plan failed tells its caller so, and the run can succeed", async () => {
  const boss = testProfile("boss", {
    capabilities: ["primary", "orchestrator"],
    tools: ["delegate_task"],
    mayDelegate: { tools: ["submit_plan", "write_file"] },
  });
  const plan = { steps: [step("b")] };
  const below = playing([plan], (task) => task === "b");
  const model: Script = (request) => {
    const { caller, messages } = request;
    if (caller.profile !== "boss") return below(request);
    if (caller.turn > 1) return messages.at(-1)?.text ?? "";
    return { calls: [{ tool: "delegate_task", input: { profile: "lead", task: "go" } }] };
  };
  await using mandate = await openEngine({ profiles: [boss, ...profiles], model });
  initRepository(mandate.workspace, { "b.txt": "old" });
  const { workspace } = mandate;
  const { events, result } = await mandate.run({ task: "go", profile: "boss", workspace });
  expect(result.status).toBe("completed");
  expect(result.subDelegations).toMatchObject([
    { status: "failed", closeReason: "exit_rule_unmet" },
  ]);
  expect(result.result).toContain("Steps of the plan that were not completed: b.");
  expect(ofType(events, "run.finished")[0]?.payload.outcome).toBe("succeeded");
});
