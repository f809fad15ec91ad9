import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { noExposure } from "../contracts/exposure.ts";
import type { Script } from "../models/scripted/scripted-model.ts";
import type { Model } from "../ports/model.ts";
import { alterDatabase } from "../testing/alter-database.test-support.ts";
import { ofType, openEngine, testProfile } from "../testing/engine-fixture.ts";
import { until } from "../testing/until.ts";
import { defineTool } from "../tools/tool.ts";

const reader = testProfile("reader", { tools: ["list_files"] });
const writer = testProfile("writer", { tools: ["write_file"] });

/** A model of the user's own, which may say anything at all. */
function replying(reply: Partial<Awaited<ReturnType<Model>>>): Model {
  return async ({ model }) => ({
    text: "",
    calls: [],
    finish: "stop",
    usage: { prompt: 1, completion: 1 },
    served: model,
    ...reply,
  });
}

describe("a model that lies about what it used", () => {
  it.each([
    { prompt: -100_000, completion: 0 },
    { prompt: Number.NaN, completion: 1 },
    { prompt: 10, completion: 1, cached: 1e7 },
  ])("%j is given nothing back: the worst case is counted", async (usage) => {
    await using mandate = await openEngine({
      profiles: [{ ...reader, model: { model: "own/liar" } }],
      models: { "own/liar": replying({ text: "done", usage }) },
      model: () => "unused",
    });
    const { result, events } = await mandate.run({ task: "go", profile: "reader" });
    expect(result.status).toBe("completed");
    expect(result.tokenUsage.prompt).toBeGreaterThan(100);
    expect(ofType(events, "agent.budget_settled")[0]?.payload.estimated).toBe(true);
  });
});

describe("a call that cannot be written down", () => {
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  let deep: unknown = 1;
  for (let level = 0; level < 5000; level++) deep = [deep];

  it.each([
    ["a circle", circle],
    ["a big integer", { n: 1n }],
    ["nested beyond all measure", { deep }],
  ])("%s is malformed, and the log stays sound", async (_what, input) => {
    let turns = 0;
    const model: Model = async ({ model: name }) => ({
      text: turns++ === 0 ? "" : "done",
      calls: turns === 1 ? [{ id: "1", name: "list_files", input }] : [],
      finish: "stop",
      usage: { prompt: 1, completion: 1 },
      served: name,
    });
    await using mandate = await openEngine({
      profiles: [{ ...reader, model: { model: "own/deep" } }],
      models: { "own/deep": model },
      model: () => "unused",
    });
    const { result, events } = await mandate.run({ task: "go", profile: "reader" });
    expect(result).toMatchObject({ status: "completed", result: "done" });
    expect(ofType(events, "agent.tool_denied")[0]?.payload.rule).toBe("malformed_call");
  });
});

it("ten thousand calls with one id are told apart without holding everybody up", async () => {
  const calls = Array.from({ length: 10_000 }, () => ({ tool: "nothing", id: "same" }));
  const script: Script = ({ caller }) => (caller.turn === 1 ? { calls } : "done");
  await using mandate = await openEngine({ profiles: [reader], model: script });
  const { events } = await mandate.run({ task: "go", profile: "reader" });
  const ids = ofType(events, "agent.tool_denied").map(({ payload }) => payload.call_id);
  expect(ids.length).toBeGreaterThanOrEqual(10_000);
  expect(new Set(ids).size).toBe(ids.length);
});

it("a turn of many calls that is cut by a deadline takes nobody else down", async () => {
  const calls = Array.from({ length: 2000 }, () => ({ tool: "list_files" }));
  await using mandate = await openEngine({ profiles: [reader], model: () => ({ calls }) });
  const { result } = await mandate.run({
    task: "go",
    profile: "reader",
    workspace: mandate.workspace,
    timeoutMs: 60,
  });
  expect(result.status).toBe("timeout");
});

it("a tool may throw what has no words, and only its call fails", async () => {
  const mute = defineTool({
    name: "mute",
    description: "Throws.",
    effect: "read",
    exposure: noExposure,
    idempotent: true,
    scopes: [],
    input: z.strictObject({}),
    execute() {
      throw Object.create(null);
    },
  });
  const script: Script = ({ caller }) =>
    caller.turn === 1 ? { calls: [{ tool: "mute" }] } : "went on";
  await using mandate = await openEngine({
    profiles: [testProfile("quiet", { tools: ["mute"] })],
    tools: [mute],
    model: script,
  });
  const { result } = await mandate.run({ task: "go", profile: "quiet" });
  expect(result).toMatchObject({ status: "completed", result: "went on" });
});

it("what the next start obeys cannot be written, also where a link leads to it", async () => {
  const paths = ["planted/evil.md", ".mandate/agents/evil.md", "profiles/evil.md", "mandate.yaml"];
  const script: Script = ({ caller }) =>
    caller.turn === 1
      ? { calls: paths.map((path) => ({ tool: "write_file", input: { path, content: "x" } })) }
      : "done";
  await using mandate = await openEngine({ profiles: [writer], model: script });
  mkdirSync(join(mandate.workspace, "planted"));
  symlinkSync("planted", join(mandate.workspace, "profiles"));
  const { events } = await mandate.run({
    task: "go",
    profile: "writer",
    workspace: mandate.workspace,
  });
  const denied = ofType(events, "agent.tool_denied").map(({ payload }) => payload.rule);
  expect(denied.filter((rule) => rule === "path_protected").length).toBeGreaterThanOrEqual(2);
  expect(() => readFileSync(join(mandate.workspace, "mandate.yaml"))).toThrow();
  expect(() => readFileSync(join(mandate.workspace, ".mandate/agents/evil.md"))).toThrow();
});

it("a prompt that was changed in the database is refused", async () => {
  let recovering = false;
  const seen: string[] = [];
  const script: Script = ({ system }) => {
    seen.push(system);
    return recovering ? "done" : { fault: "hang" };
  };
  const options = { profiles: [reader], model: script, breaks: ["I7"] } as const;
  await using mandate = await openEngine(options);
  const { runId } = await mandate.start({ task: "go", profile: "reader" });
  mandate.abandon();
  await alterDatabase(mandate, "UPDATE texts SET body = 'EVIL'");
  recovering = true;
  const second = await mandate.another({ profiles: [reader], model: script });
  await second.engine.recover();
  // A distributed run is recovered without waiting for its end.
  const root = async () =>
    [...((await second.store.readRun(runId))?.delegations.values() ?? [])][0];
  const closed = await until("the run is closed", async () => {
    const state = await root();
    return state?.status === "closed" && state;
  });
  expect(closed.closeReason).toBe("policy_denied");
  expect(seen).not.toContain("EVIL");
});

it("a schema with a pattern is refused, since a pattern can take for ever", async () => {
  const outputSchema = { type: "string", pattern: "^(a+)+$" };
  const profiles = [{ ...reader, exit: { outputSchema } }];
  await using mandate = await openEngine({ profiles, model: () => "aaaa!" });
  await expect(mandate.run({ task: "go", profile: "reader" })).rejects.toMatchObject({
    code: "refused-by-policy",
  });
});
