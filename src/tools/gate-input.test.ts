import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { noExposure } from "../contracts/exposure.ts";
import type { ScriptedCall } from "../models/scripted/playbook.ts";
import type { Script } from "../models/scripted/scripted-model.ts";
import { ofType, openEngine, recording, testProfile } from "../testing/engine-fixture.ts";
import { defineTool } from "./tool.ts";

const roomy = {
  defaultTokens: 9_000_000,
  maxTokens: 9_000_000,
  runTokens: 9_000_000,
  maxRetries: 0,
  askDeadlineMs: 1,
  toolOutputBytes: 4096,
  reportPathPattern: null,
};

/** One turn with these calls, in a workspace with one file, whose tools are all granted. */
async function attempt(calls: readonly ScriptedCall[] | Script) {
  const { seen, model } = recording((request) =>
    typeof calls === "function" ? calls(request) : request.caller.turn === 1 ? { calls } : "done",
  );
  await using mandate = await openEngine({
    profiles: [testProfile("hostile")],
    model,
    limits: roomy,
  });
  const { workspace } = mandate;
  writeFileSync(join(workspace, "kept.txt"), "kept");
  const { events, result } = await mandate.run({ task: "go", profile: "hostile", workspace });
  expect(readdirSync(workspace)).toEqual(["kept.txt"]);
  expect(readFileSync(join(workspace, "kept.txt"), "utf8")).toBe("kept");
  return { events, result, seen, denied: ofType(events, "agent.tool_denied") };
}

const valid: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  read_file: { path: "kept.txt" },
  write_file: { path: "new.txt", content: "x" },
  list_files: { path: "." },
  complete_task: { summary: "done" },
  submit_for_review: { message: "look" },
  ask_user: { message: "why?" },
  delegate_task: { profile: "general", task: "x" },
  spawn: { task: "x" },
  spawn_await: { job_ids: "*" },
  list_sub_agents: {},
  get_delegation_result: { delegationId: "ffffff" },
  cancel_delegation: { delegationId: "ffffff" },
  peek_result: { delegationId: "ffffff" },
  search_result: { delegationId: "ffffff", query: "x" },
  slice_result: { delegationId: "ffffff", from: 1 },
};

const mayBeLeftOut = new Set(["list_files", "spawn", "spawn_await"]);

const megabyte = "x".repeat(1 << 20);
const manyNames = Object.fromEntries(Array.from({ length: 2000 }, (_, n) => [`name-${n}`, n]));

describe.each(Object.entries(valid))("%s", (tool, input) => {
  const fields = Object.keys(input);
  const each = (value: unknown) =>
    fields.map((field) => ({ tool, input: { ...input, [field]: value } }));

  it("refuses what does not fit its schema: nothing begins, and the field is named", async () => {
    const bad: ScriptedCall[] = [
      { tool, input: { ...input, surprise: 1 } },
      { tool, input: { ...input, ...manyNames } },
      { tool, input: { ...input, ["__proto__x"]: 1 } },
      { tool, input: JSON.parse(`{"__proto__": {"path": "kept.txt"}}`) },
      { tool, input: JSON.parse(`{"constructor": {"prototype": {"polluted": 1}}}`) },
      { tool, input: [] },
      { tool, input: [input] },
      { tool, input: "a string" },
      { tool, input: 12 },
      { tool, input: true },
      // For an optional field, null means that the field is absent.
      ...(mayBeLeftOut.has(tool) ? [] : each(null)),
      ...each({ toString: "x" }),
      ...each([["kept.txt"]]),
      ...each(true),
    ];
    const { denied, events } = await attempt(bad);
    expect(ofType(events, "agent.tool_started")).toEqual([]);
    expect(denied.map(({ payload }) => payload.rule)).toEqual(bad.map(() => "invalid_input"));
    expect(denied[0]?.payload.error).toContain(`The arguments of ${tool} do not fit:`);
    expect(denied[0]?.payload.error).toContain('"surprise"');
    expect(denied[1]?.payload.error?.length).toBeLessThan(5000);
    expect(Object.prototype).not.toHaveProperty("polluted");
  });

  it("refuses arguments that are not JSON", async () => {
    const raw = `{"${fields[0] ?? "x"}": "kept`;
    const { denied, events } = await attempt(({ caller }) =>
      caller.turn === 1 ? { fault: "malformed-call", partial: raw, calls: [{ tool }] } : "done",
    );
    expect(ofType(events, "agent.tool_started")).toEqual([]);
    expect(denied).toHaveLength(1);
    expect(denied[0]?.payload).toMatchObject({ rule: "malformed_call", tool });
    expect(denied[0]?.payload.error).toBe(`The arguments of ${tool} are not JSON: ${raw}`);
  });

  it("survives a megabyte in every field, and tells the model briefly", async () => {
    const calls = [...each(megabyte), { tool, input: { ...input, [megabyte]: 1 } }];
    const { events, seen, result } = await attempt(({ caller }) =>
      caller.depth === 0 && caller.turn === 1 ? { calls } : "done",
    );
    expect(result.status).toBe("completed");
    expect(ofType(events, "agent.tool_denied").length).toBeGreaterThan(0);
    const last = seen.filter(({ caller }) => caller.depth === 0).at(-1);
    for (const message of last?.messages ?? []) {
      if (message.role === "tool" && message.isError)
        expect(message.text.length).toBeLessThan(8192);
    }
  });
});

describe("what a tool says", () => {
  const loud = (execute: () => string) =>
    defineTool({
      name: "loud",
      description: "Says a lot.",
      effect: "read",
      exposure: noExposure,
      idempotent: true,
      scopes: [],
      input: z.strictObject({}),
      execute,
    });

  async function hear(execute: () => string) {
    const { seen, model } = recording(({ caller }) =>
      caller.turn === 1 ? { calls: [{ tool: "loud" }] } : "done",
    );
    await using mandate = await openEngine({
      profiles: [testProfile("listener")],
      tools: [loud(execute)],
      model,
      limits: { ...roomy, toolOutputBytes: 1000 },
    });
    const { events, result } = await mandate.run({ task: "go", profile: "listener" });
    return { events, result, text: seen[1]?.messages.at(-1)?.text ?? "" };
  }

  it("is capped, never in the middle of a character", async () => {
    const { text, events } = await hear(() => "é€😀".repeat(1000));
    expect(Buffer.byteLength(text)).toBeLessThan(1200);
    expect(text).not.toContain("\ufffd");
    expect(text).toMatch(/\[… cut: 9000 bytes in all, kept as [0-9a-f]{12}\]$/);
    expect(ofType(events, "agent.tool_completed")[0]?.payload).toMatchObject({
      truncated: true,
      bytes: 9000,
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it("is left as it is when it just fits", async () => {
    const { text } = await hear(() => "é".repeat(500));
    expect(text).toBe("é".repeat(500));
  });

  it.each([undefined, null, 5, {}, { text: 5 }])("is an error when it is %j", async (output) => {
    const { text, result } = await hear(() => output as never);
    expect(text).toBe("Error: the tool returned neither text nor a result");
    expect(result.status).toBe("completed");
  });

  it("is capped as well when it is an error", async () => {
    const { text, events } = await hear(() => {
      throw new Error("no ".repeat(100_000));
    });
    expect(Buffer.byteLength(text)).toBeLessThan(1200);
    expect(ofType(events, "agent.tool_failed")[0]?.payload.error).toBe(text);
  });
});
