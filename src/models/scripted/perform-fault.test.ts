import { expect, test } from "vitest";
import type { ModelPart } from "../../ports/model.ts";
import { exampleRequest } from "../example-request.test-support.ts";
import type { ScriptedReply } from "./playbook.ts";
import { scriptedModel } from "./scripted-model.ts";

function perform(reply: ScriptedReply, signal = new AbortController().signal) {
  const parts: ModelPart[] = [];
  const tools = [{ name: "read_file", description: "", parameters: {} }];
  const request = exampleRequest({ signal, tools });
  return { parts, answer: scriptedModel(() => reply)(request, (part) => parts.push(part)) };
}

test.each(["spend-cap", "context-overflow", "unauthorized", "rejected", "overloaded"] as const)(
  "%s fails as such",
  async (fault) => {
    const { answer } = perform({ fault });
    await expect(answer).rejects.toMatchObject({ name: "ModelFault", kind: fault });
  },
);

test("rate-limited says how long to wait", async () => {
  const { answer } = perform({ fault: "rate-limited", retry_after_ms: 50 });
  await expect(answer).rejects.toMatchObject({ kind: "rate-limited", retryAfterMs: 50 });
  const plain = perform({ fault: "rate-limited" }).answer;
  await expect(plain).rejects.toMatchObject({ retryAfterMs: 1000 });
});

test("a cut connection leaves what had arrived", async () => {
  const { answer, parts } = perform({ fault: "connection", partial: "half a" });
  await expect(answer).rejects.toMatchObject({ kind: "connection", partial: "half a" });
  expect(parts).toEqual([{ type: "text", text: "half a" }]);
});

test("bad answers are answers", async () => {
  expect(await perform({ fault: "empty" }).answer).toMatchObject({ text: "", calls: [] });
  const long = await perform({ fault: "length", text: "and so" }).answer;
  expect(long).toMatchObject({ text: "and so", finish: "length" });
  const uncounted = await perform({ fault: "no-usage", text: "x" }).answer;
  expect(uncounted).toMatchObject({ text: "x", usage: null });
});

test("bad calls look like a model's", async () => {
  const malformed = await perform({ fault: "malformed-call" }).answer;
  expect(malformed.calls).toEqual([
    { id: "call_1_1", name: "read_file", input: undefined, malformed: '{"unfinished": "' },
  ]);
  const calls = [{ tool: "grep", input: { a: 1 } }];
  const told = await perform({ fault: "malformed-call", calls, partial: "{oops" }).answer;
  expect(told.calls[0]).toMatchObject({ name: "grep", malformed: "{oops" });
  const unknown = await perform({ fault: "unknown-tool" }).answer;
  expect(unknown.calls).toEqual([{ id: "call_1_1", name: "no_such_tool", input: {} }]);
});

test("a stall lasts until the request is aborted, a hang even longer", async () => {
  const controller = new AbortController();
  const stall = perform({ fault: "stall" }, controller.signal).answer;
  const middle = perform({ fault: "stall-mid-stream", text: "abcd" }, controller.signal);
  const hang = perform({ fault: "hang" }, controller.signal).answer;
  await Promise.resolve();
  expect(middle.parts).toEqual([{ type: "text", text: "ab" }]);
  controller.abort("enough");
  await expect(stall).rejects.toBe("enough");
  await expect(middle.answer).rejects.toBe("enough");
  const outcome = await Promise.race([hang.catch(() => "heard"), Promise.resolve("still nothing")]);
  expect(outcome).toBe("still nothing");
});
