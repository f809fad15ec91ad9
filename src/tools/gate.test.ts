import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Profile } from "../agents/profiles/profile.ts";
import { noExposure } from "../contracts/exposure.ts";
import type { ScriptedCall } from "../models/scripted/playbook.ts";
import { ofType, openEngine, recording, testProfile } from "../testing/engine-fixture.ts";
import { defineTool, type Effect, type Tool } from "./tool.ts";

/** A tool that must not run, and says so when it does. */
function canary(name: string, more: Partial<Tool> = {}): { tool: Tool; executed: () => number } {
  let count = 0;
  const tool = defineTool({
    name,
    description: "Does something that cannot be undone.",
    effect: "read" as Effect,
    exposure: noExposure,
    idempotent: false,
    scopes: [],
    input: z.strictObject({}),
    ...(more as object),
    execute() {
      count += 1;
      return "it ran";
    },
  });
  return { tool, executed: () => count };
}

/** One turn with these calls by a hostile model, then the end. */
async function attempt(
  calls: readonly ScriptedCall[],
  { tools = [], profile = {} }: { tools?: readonly Tool[]; profile?: Partial<Profile> } = {},
) {
  const { seen, model } = recording(({ caller }) => (caller.turn === 1 ? { calls } : "done"));
  await using mandate = await openEngine({
    profiles: [testProfile("hostile", profile)],
    tools,
    model,
    limits: { maxRetries: 0, defaultTokens: 2_000_000, maxTokens: 2_000_000, runTokens: 4_000_000 },
  });
  const { result, events } = await mandate.run({
    task: "go",
    profile: "hostile",
    workspace: mandate.workspace,
  });
  const results = ofType(events, "agent.tool_denied").map(({ payload }) => payload);
  return { result, events, denied: results, seen, names: mandate.parts.toolbox.names };
}

const disguises: readonly ((name: string) => string)[] = [
  (name) => name.toUpperCase(),
  (name) => name[0]?.toUpperCase() + name.slice(1),
  (name) => name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
  (name) => name.replaceAll("_", "-"),
  (name) => name.replaceAll("_", ""),
  (name) => ` ${name}`,
  (name) => `${name} `,
  (name) => `${name}\n`,
  (name) => `${name}\0`,
  (name) => `\u200b${name}`,
  (name) => `${name}\u200d`,
  (name) => `\u202e${name}`,
  (name) => name.replaceAll("a", "а").replaceAll("e", "е").replaceAll("o", "ο"),
  (name) => name.replace(/./, (letter) => String.fromCodePoint(letter.charCodeAt(0) + 0xfee0)),
  (name) => `${name}́`,
  (name) => name.replaceAll("_", "\uff3f"),
  (name) => `functions.${name}`,
  (name) => `mcp__mandate__${name}`,
  (name) => `default_api:${name}`,
  (name) => `${name}()`,
  (name) => `"${name}"`,
  (name) => name.slice(0, -1),
  (name) => `${name}s`,
];

const aliases = [
  "Task",
  "Agent",
  "Bash",
  "Read",
  "Write",
  "Edit",
  "task",
  "bash",
  "cat",
  "constructor",
];
const prototypes = [
  "__proto__",
  "toString",
  "hasOwnProperty",
  "get",
  "*",
  "",
  ".",
  "canary,read_file",
];

describe("a name", () => {
  it("that is not the canonical one, to the letter, runs nothing", async () => {
    const { tool, executed } = canary("canary_tool");
    const known = await attempt([], { tools: [tool] });
    const disguised = known.names.flatMap((name) => disguises.map((disguise) => disguise(name)));
    const wanted = [...disguised, ...aliases, ...prototypes].filter(
      (name) => !known.names.includes(name),
    );
    const calls = wanted.map((name) => ({ tool: name, input: {} }));
    const { denied, events, result } = await attempt(calls, { tools: [tool] });
    expect(known.names.length).toBeGreaterThan(14);
    expect(wanted.length).toBeGreaterThan(300);
    expect(executed()).toBe(0);
    expect(ofType(events, "agent.tool_started")).toEqual([]);
    expect(denied.map((each) => each.tool)).toEqual(wanted);
    expect(new Set(denied.map(({ rule }) => rule))).toEqual(new Set(["unknown_tool"]));
    expect(result).toMatchObject({ status: "failed", closeReason: "invalid_model_output" });
  });

  it("of a tool that the contract does not grant runs nothing, for every tool there is", async () => {
    const { tool, executed } = canary("canary_tool");
    const { names } = await attempt([], { tools: [tool] });
    const calls = names.map((name) => ({ tool: name, input: {} }));
    const { denied, events, result } = await attempt(calls, {
      tools: [tool],
      profile: { tools: [] },
    });
    expect(executed()).toBe(0);
    expect(ofType(events, "agent.tool_started")).toEqual([]);
    expect(denied.map((each) => each.tool).sort()).toEqual([...names].sort());
    expect(new Set(denied.map(({ rule }) => rule))).toEqual(new Set(["tool_not_granted"]));
    expect(denied[0]?.error).toBe(
      `"hostile" may not call ${names[0]}. The contract grants no tools.`,
    );
    expect(result).toMatchObject({ status: "failed", closeReason: "policy_denied" });
  });

  it("that is granted still says what the contract grants when another is asked for", async () => {
    const { seen } = await attempt([{ tool: "teleport", input: { command: "id" } }], {
      profile: { tools: ["read_file", "list_files"] },
    });
    expect(seen[1]?.messages.at(-1)).toMatchObject({
      role: "tool",
      isError: true,
      text: 'There is no tool "teleport". The contract grants: read_file, list_files.',
    });
  });
});

describe("a granted tool", () => {
  it("does not run without all of its scopes", async () => {
    const { tool, executed } = canary("canary_tool", { scopes: ["moon:read", "moon:write"] });
    const profile = { tools: ["canary_tool"], scopes: ["moon:read", "moon"] };
    const { denied, events } = await attempt([{ tool: "canary_tool" }], { tools: [tool], profile });
    expect(executed()).toBe(0);
    expect(denied).toMatchObject([{ rule: "scope_missing", tool: "canary_tool" }]);
    expect(denied[0]?.error).toContain('"moon:write"');
    expect(ofType(events, "agent.tool_started")).toEqual([]);
    const allowed = { tools: ["canary_tool"], scopes: ["moon:write", "moon:read"] };
    await attempt([{ tool: "canary_tool" }], { tools: [tool], profile: allowed });
    expect(executed()).toBe(1);
  });

  it("does not write in a workspace that is read-only", async () => {
    const { tool, executed } = canary("canary_tool", { effect: "write" });
    const profile = { workspace: { allowWrites: false } };
    const calls = [
      { tool: "canary_tool" },
      { tool: "write_file", input: { path: "a", content: "" } },
    ];
    const { denied, events } = await attempt(calls, { tools: [tool], profile });
    expect(executed()).toBe(0);
    expect(denied.map(({ rule }) => rule)).toEqual(["writes_not_allowed", "writes_not_allowed"]);
    expect(ofType(events, "agent.tool_started")).toEqual([]);
  });

  it("has its start in the log before it runs, and its end after", async () => {
    const { tool } = canary("canary_tool");
    const { events } = await attempt([{ tool: "canary_tool" }], { tools: [tool] });
    const about = { call_id: "call_1_1", tool: "canary_tool" };
    const [started] = ofType(events, "agent.tool_started");
    expect(started?.payload).toEqual({ ...about, changes: "any" });
    expect(ofType(events, "agent.tool_completed")[0]?.payload).toEqual({
      ...about,
      output: "it ran",
    });
  });
});

describe("calls that are refused in a row", () => {
  const unknown = { tool: "no_such_tool", input: {} };
  const notGranted = { tool: "canary_tool", input: {} };
  const fine = { tool: "list_files", input: {} };

  async function turns(...calls: readonly (ScriptedCall | "malformed")[]) {
    const { tool } = canary("canary_tool");
    const { seen, model } = recording(({ caller }) => {
      const call = calls[caller.turn - 1];
      if (call === "malformed") return { fault: "malformed-call", calls: [fine] };
      return call === undefined ? "done" : { calls: [call] };
    });
    await using mandate = await openEngine({
      profiles: [testProfile("hostile", { tools: ["list_files"] })],
      tools: [tool],
      model,
      limits: { maxRetries: 0 },
    });
    const { workspace } = mandate;
    const { result } = await mandate.run({ task: "go", profile: "hostile", workspace });
    return { turns: seen.length, result };
  }

  it("five that are malformed or unknown end the delegation as invalid model output", async () => {
    for (const call of [unknown, "malformed"] as const) {
      const { result, turns: taken } = await turns(...Array(9).fill(call));
      expect(result).toMatchObject({ status: "failed", closeReason: "invalid_model_output" });
      expect(taken).toBe(5);
    }
    expect((await turns(...Array(4).fill(unknown))).result.status).toBe("completed");
  });

  it("five that the contract refuses end the delegation as denied by policy", async () => {
    const { result, turns: taken } = await turns(...Array(9).fill(notGranted));
    expect(result).toMatchObject({ status: "failed", closeReason: "policy_denied" });
    expect(taken).toBe(5);
    expect((await turns(...Array(4).fill(notGranted))).result.status).toBe("completed");
  });

  it("count anew after one that is made", async () => {
    const four = Array(4).fill(unknown);
    const { result } = await turns(...four, fine, ...four, fine, ...Array(4).fill(notGranted));
    expect(result.status).toBe("completed");
  });

  it("are told to the model one by one, as errors", async () => {
    const { model, seen } = recording(({ caller }) =>
      caller.turn === 1 ? { calls: [unknown, notGranted] } : "done",
    );
    const { tool } = canary("canary_tool");
    await using mandate = await openEngine({
      profiles: [testProfile("hostile", { tools: ["list_files"] })],
      tools: [tool],
      model,
    });
    const { result } = await mandate.run({ task: "go", profile: "hostile" });
    expect(seen[1]?.messages.slice(2)).toMatchObject([
      { role: "tool", callId: "call_1_1", isError: true },
      { role: "tool", callId: "call_1_2", isError: true },
    ]);
    expect(result.status).toBe("completed");
  });
});

describe("an exit code", () => {
  /** Answers with what it is called with, whatever the types say. */
  const echo = defineTool({
    name: "echo_result",
    description: "Gives back a result.",
    effect: "read" as Effect,
    exposure: noExposure,
    idempotent: true,
    scopes: [],
    input: z.strictObject({ result: z.record(z.string(), z.unknown()) }),
    execute: ({ result }) => ({ text: "said", ...result }),
  });
  const calling = (result: object): ScriptedCall => ({ tool: "echo_result", input: { result } });

  it("is evidence in the log, of calls that went well and of those that failed", async () => {
    const calls = [
      calling({ exitCode: 0 }),
      calling({ exitCode: 3 }),
      calling({ exitCode: 4, isError: true }),
      calling({}),
      calling({ isError: true }),
    ];
    const { events } = await attempt(calls, { tools: [echo] });
    const completed = ofType(events, "agent.tool_completed").map(({ payload }) => payload);
    expect(completed.map(({ exit_code }) => exit_code)).toEqual([0, 3, undefined]);
    const failed = ofType(events, "agent.tool_failed").map(({ payload }) => payload);
    expect(failed.map(({ exit_code }) => exit_code)).toEqual([4, undefined]);
    expect(failed[1]).not.toHaveProperty("exit_code");
  });

  it("that is not one is left out", async () => {
    const odd = ["0", null, 1.5, 1e300, {}, true];
    const calls = odd.map((exitCode) => calling({ exitCode }));
    const { events } = await attempt(calls, { tools: [echo] });
    const completed = ofType(events, "agent.tool_completed");
    expect(completed).toHaveLength(odd.length);
    for (const { payload } of completed) expect(payload).not.toHaveProperty("exit_code");
  });
});
