import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { replayAgain } from "../delegations/replay/replay-again.test-support.ts";
import type { ScriptedCall } from "../models/scripted/playbook.ts";
import { git, initRepository } from "../testing/git-workspace.test-support.ts";
import {
  type EngineOptions,
  ofType,
  openEngine,
  recording,
  type Script,
  testProfile,
} from "../testing/index.ts";
import { Forks } from "./replay.ts";

const profiles = [
  testProfile("lead", {
    capabilities: ["primary", "orchestrator"],
    tools: ["delegate_task", "spawn", "spawn_await", "submit_plan"],
    mayDelegate: { tools: ["delegate_task", "list_files", "read_file", "write_file"] },
  }),
  testProfile("reader", { tools: ["read_file"] }),
  testProfile("writer", { tools: ["read_file", "write_file"] }),
  testProfile("middle", { tools: ["delegate_task"], mayDelegate: { tools: ["read_file"] } }),
];

const delegate = (profile: string): ScriptedCall => ({
  tool: "delegate_task",
  input: { profile, task: `work of ${profile}` },
});
const spawn: ScriptedCall = { tool: "spawn", input: { profile: "reader", task: "read it" } };
const wait: ScriptedCall = { tool: "spawn_await", input: { job_ids: "*" } };
const steps = ["one", "two"].map((id) => ({
  ...{ id, title: id, description: `step ${id}`, profile: "writer", owns: [`${id}.txt`] },
}));
const plan: ScriptedCall = { tool: "submit_plan", input: { steps } };

const workers: Script = ({ caller, messages }) => {
  const { profile, task, turn } = caller;
  const last = messages.at(-1)?.text ?? "";
  if (turn === 2 && profile !== "middle" && task.startsWith("step ")) {
    const path = `${task.slice(5)}.txt`;
    return { calls: [{ tool: "write_file", input: { path, content: `made from ${last}` } }] };
  }
  if (turn === 1) {
    if (profile === "middle") return { calls: [delegate("reader")] };
    return { calls: [{ tool: "read_file", input: { path: "a.txt" } }] };
  }
  return profile === "middle" ? "middle: done" : `saw ${last}`;
};

/**
 * A run whose lead makes these calls, one a turn, and a fork of it from where its children had all
 * ended and it had not been told of the last.
 */
async function forkAfter(
  calls: readonly ScriptedCall[],
  between: (workspace: string) => void = () => undefined,
  options: Partial<EngineOptions> = {},
) {
  const forks = new Forks();
  let told = 0;
  const { model, seen } = recording((request) => {
    const { caller, messages } = request;
    if (caller.profile !== "lead") return workers(request);
    told = messages.filter(({ role }) => role === "tool").length;
    const call = calls[told];
    return call === undefined ? "all done" : { calls: [call] };
  });
  const middleware = [forks.middleware];
  const prices = { "scripted/playbook": { input: 1, output: 2 } };
  const config = { models: { providers: {}, pools: {}, prices } };
  const engine = await openEngine({ profiles, model, middleware, config });
  const { workspace } = engine;
  initRepository(workspace, { "a.txt": "alpha\n" });
  const first = await engine.run({ task: "go", profile: "lead", workspace });
  expect(first.result.status).toBe("completed");
  const asked = seen.length;
  between(workspace);
  const other = await engine.another({ profiles, model, middleware, config, ...options });
  const closed = ofType(first.events, "agent.subagent_closed").at(-2);
  const forked = await forks.fork(other, { runId: first.runId, at: closed?.run_seq ?? 0 });
  const result = await forked.result;
  const events = await other.events(forked.runId);
  return {
    engine,
    workspace,
    result,
    /** For which children a model was asked. */
    asked: seen.slice(asked).flatMap(({ caller }) => (caller.depth > 0 ? caller.task : [])),
    /** Turns that were taken over. */
    taken: ofType(events, "agent.model_turn").filter(({ payload }) => payload.taken_from).length,
    usage: ofType(events, "agent.subagent_closed").map(({ payload }) => payload.seal.usage),
    turns: forked.turns,
    replayed: await replayAgain(other.store, forked.runId),
  };
}

const completed = { status: "completed", result: "all done" };
const same = { differences: [] };

test.each([
  ["delegate_task", [delegate("reader")], 2],
  ["spawn", [spawn, wait], 2],
  ["an agent that delegates itself", [delegate("middle")], 4],
])(
  "finished children of %s are not asked again, in the same folder",
  async (_way, calls, turns) => {
    const { asked, engine, usage, result, taken, replayed } = await forkAfter(calls);
    await using _engine = engine;
    expect(result).toMatchObject(completed);
    expect(asked).toEqual([]);
    expect(taken).toBe(turns);
    // Nothing was paid for them, and their tokens count; the lead itself was asked.
    const [child, lead] = [usage[0], usage.at(-1)];
    expect(child).toMatchObject({ prompt: expect.any(Number), cost: 0 });
    expect(child?.prompt).toBeGreaterThan(0);
    expect(lead?.cost).toBeGreaterThan(0);
    expect(replayed).toMatchObject(same);
  },
);

test("steps of a plan are not asked again: what they made in copies is made and merged again", async () => {
  const { asked, engine, taken, replayed, workspace } = await forkAfter([plan], (folder) => {
    git(folder, "clean", "--quiet", "--force", "one.txt", "two.txt");
  });
  await using _engine = engine;
  expect(asked).toEqual([]);
  expect(taken).toBe(6);
  for (const name of ["one.txt", "two.txt"]) {
    expect(readFileSync(join(workspace, name), "utf8")).toContain("alpha");
  }
  expect(replayed).toMatchObject(same);
});

test("where the folder is another, a child goes its own way from the first thing that differs", async () => {
  const { asked, engine, result, taken, replayed } = await forkAfter(
    [delegate("reader")],
    (folder) => writeFileSync(join(folder, "a.txt"), "beta\n"),
  );
  await using _engine = engine;
  expect(result).toMatchObject(completed);
  expect(taken).toBe(1);
  expect(asked).toEqual(["work of reader"]);
  expect(replayed).toMatchObject(same);
});

test.each([
  ["profile", { profiles: profiles.map((one) => ({ ...one, prompt: `${one.prompt} Be brief.` })) }],
  [
    "grant",
    {
      profiles: profiles.map((one) =>
        one.name === "reader" ? { ...one, tools: ["read_file", "list_files"] } : one,
      ),
    },
  ],
  ["setting of the model", { limits: { maxOutputTokens: 4000 } }],
])("with another %s nothing is taken over", async (_what, options) => {
  const { asked, engine, taken } = await forkAfter([delegate("reader")], undefined, options);
  await using _engine = engine;
  expect(taken).toBe(0);
  expect(asked).toEqual(["work of reader", "work of reader"]);
});

test("jobs that nobody had waited for are not part of what is shared", async () => {
  const { engine, turns } = await forkAfter([spawn, wait]);
  await using _engine = engine;
  expect(turns).toBe(0);
});
