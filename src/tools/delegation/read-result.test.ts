import { describe, expect, it } from "vitest";
import type { ScriptedCall } from "../../models/scripted/playbook.ts";
import { openEngine, recording, testProfile } from "../../testing/engine-fixture.ts";

const tools = [
  "delegate_task",
  "spawn",
  "spawn_await",
  "peek_result",
  "search_result",
  "slice_result",
];
const profiles = [
  testProfile("lead", { tools, limits: { joinTokens: 200 } }),
  testProfile("worker", { tools: [] }),
];

const lines = Array.from({ length: 400 }, (_, index) => `line ${index + 1} of the report`);
const report = lines.join("\n");

/** A lead that delegates, then makes each call about the child it was told of. */
async function lookAt(...calls: readonly ((id: string) => ScriptedCall)[]): Promise<string[]> {
  const { seen, model } = recording(({ caller, messages }) => {
    if (caller.depth > 0) return { text: report, usage: { prompt: 10, completion: 10 } };
    if (caller.turn === 1) {
      return { calls: [{ tool: "delegate_task", input: { profile: "worker", task: "report" } }] };
    }
    const first = messages.find(({ role }) => role === "tool")?.text ?? "{}";
    const call = calls[caller.turn - 2];
    return call === undefined ? "done" : { calls: [call(JSON.parse(first).delegationId)] };
  });
  await using mandate = await openEngine({ profiles, model });
  await mandate.run({ task: "go", profile: "lead" });
  const messages = seen.filter(({ caller }) => caller.depth === 0).at(-1)?.messages ?? [];
  return messages.flatMap((message) => (message.role === "tool" ? message.text : []));
}

describe("a result over the caller's limit", () => {
  it("is not poured into the conversation: its beginning, its size, and how to read on", async () => {
    const [shown = "{}"] = await lookAt();
    const { result, delegationId } = JSON.parse(shown);
    expect(Buffer.byteLength(result)).toBeLessThan(200 * 3 + 200);
    expect(result.startsWith("line 1 of the report\n")).toBe(true);
    expect(result).toContain(`${Buffer.byteLength(report)} bytes in all`);
    expect(result).toContain(
      `peek_result, search_result or slice_result, delegationId ${delegationId}`,
    );
  });

  it("shares the limit between the jobs of one spawn_await", async () => {
    const { seen, model } = recording(({ caller }) => {
      if (caller.depth > 0) return { text: report, usage: { prompt: 10, completion: 10 } };
      const spawn = { tool: "spawn", input: { profile: "worker", task: "report" } };
      if (caller.turn > 1) return "done";
      return { calls: [spawn, spawn, spawn, { tool: "spawn_await", input: { job_ids: "*" } }] };
    });
    await using mandate = await openEngine({ profiles, model });
    await mandate.run({ task: "go", profile: "lead" });
    const text = seen.at(-1)?.messages.at(-1)?.text ?? "";
    expect(text.match(/: OK\]/g)).toHaveLength(3);
    expect(Buffer.byteLength(text)).toBeLessThan(200 * 3 + 3 * 300);
  });

  it("can be peeked at, searched and sliced, each in bounded pieces", async () => {
    const [, peek, search, none, slice, past] = await lookAt(
      (delegationId) => ({ tool: "peek_result", input: { delegationId } }),
      (delegationId) => ({ tool: "search_result", input: { delegationId, query: "LINE 39" } }),
      (delegationId) => ({ tool: "search_result", input: { delegationId, query: "nowhere" } }),
      (delegationId) => ({ tool: "slice_result", input: { delegationId, from: 399, lines: 5 } }),
      (delegationId) => ({ tool: "slice_result", input: { delegationId, from: 1000 } }),
    );
    expect(peek).toMatch(new RegExp(`^${report.length} characters, 400 lines.\nline 1 of`));
    expect(peek?.endsWith("line 400 of the report")).toBe(true);
    expect(peek?.length).toBeLessThan(8100);
    expect(search?.split("\n")).toEqual(
      [39, 390, 391, 392, 393, 394, 395, 396, 397, 398, 399].map(
        (n) => `${n}: line ${n} of the report`,
      ),
    );
    expect(none).toBe('No line contains "nowhere".');
    expect(slice).toBe("line 399 of the report\nline 400 of the report");
    expect(past).toBe("");
  });

  it("is not shown to those whose child it is not", async () => {
    const [, ...answers] = await lookAt(
      () => ({ tool: "peek_result", input: { delegationId: "ffffff" } }),
      () => ({ tool: "search_result", input: { delegationId: "../x", query: "a" } }),
      () => ({ tool: "slice_result", input: { delegationId: "", from: 1 } }),
    );
    for (const answer of answers) expect(answer).toMatch(/^Error: there is no result of/);
  });
});
