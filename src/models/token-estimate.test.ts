import fc from "fast-check";
import { countTokens as cl100k } from "gpt-tokenizer/encoding/cl100k_base";
import { countTokens as o200k } from "gpt-tokenizer/encoding/o200k_base";
import { countTokens as p50k } from "gpt-tokenizer/encoding/p50k_base";
import { describe, expect, it } from "vitest";
import type { Message } from "../ports/model.ts";
import { estimateTokens } from "./token-counter.ts";

const bytes = fc.uint8Array({ minLength: 1, maxLength: 900 });
const lines = (line: fc.Arbitrary<string>) =>
  fc.array(line, { minLength: 1, maxLength: 40 }).map((each) => each.join("\n"));
const word = fc.constantFrom("name", "total", "Müller", "order-17", "N/A", "true", "Zürich", "x");
const cell = fc.oneof(word, fc.nat().map(String), fc.double({ noNaN: true }).map(String));
const identifier = fc.constantFrom("e", "t", "n", "r", "fn", "$$", "_0x4f", "Object", "prototype");
const operator = fc.constantFrom(
  "(",
  "){",
  "}",
  ";",
  "=>",
  "===",
  "&&",
  "!",
  "[0]",
  ",",
  ".",
  "?",
  ":",
);
const sign = fc.constantFrom(
  ..."今日我们需要处理数据的正确性。、「」漢字仮名交じり文カタカナ한국어문장입니다鬱龘",
);

const kinds: Readonly<Record<string, fc.Arbitrary<string>>> = {
  base64: bytes.map((each) => Buffer.from(each).toString("base64")),
  UUIDs: lines(fc.uuid()),
  CSV: lines(fc.array(cell, { minLength: 1, maxLength: 9 }).map((cells) => cells.join(","))),
  "minified code": fc
    .array(fc.oneof(identifier, operator, fc.nat(99).map(String)), { maxLength: 300 })
    .map((each) => each.join("")),
  CJK: fc.array(sign, { minLength: 1, maxLength: 300 }).map((each) => each.join("")),
};

const user = (text: string): Message => ({ role: "user", text });

describe.each(Object.entries(kinds))("%s", (_kind, text) => {
  it("is never more tokens than is estimated, by the tokenizer itself or a similar one", async () => {
    await fc.assert(
      fc.asyncProperty(text, async (each) => {
        const parts = { system: each, tools: [], messages: [user(each)] };
        const own = (await estimateTokens("gpt-5.1", parts)) ?? 0;
        expect(own).toBeGreaterThanOrEqual(2 * o200k(each));
        const similar = (await estimateTokens("qwen3", { ...parts, messages: [] })) ?? 0;
        const frame = (await estimateTokens("qwen3", { ...parts, system: "", messages: [] })) ?? 0;
        const others = [o200k, cl100k, p50k].map((count) => count(each));
        expect(similar - frame).toBeGreaterThanOrEqual(Math.max(...others));
        expect(similar - frame).toBeLessThanOrEqual(Buffer.byteLength(each));
      }),
    );
  });
});

it("is far below the bytes for what prompts are made of", async () => {
  const prompt = "You review changes. Say what is wrong, where, and how to correct it. ".repeat(60);
  const parts = { system: prompt, tools: [], messages: [user("go")] };
  const bound = Buffer.byteLength(prompt);
  expect(await estimateTokens("gpt-5.1", parts)).toBeLessThan(bound / 3);
  expect(await estimateTokens("qwen3", parts)).toBeLessThan(bound / 2);
});

it("counts what a model is shown beside texts: tools, calls and what goes back to its provider", async () => {
  const empty = { system: "", tools: [], messages: [] };
  const least = (await estimateTokens("gpt-5.1", empty)) ?? 0;
  const tool = { name: "grep", description: "Searches.", parameters: { type: "object" } };
  const call = { id: "c", name: "grep", input: { pattern: "x".repeat(99) } };
  const asked: Message = { role: "assistant", text: "", calls: [call] };
  const signed: Message = { ...asked, providerData: { model: "a/b", fragments: ["y".repeat(99)] } };
  const sizes = await Promise.all(
    [
      { ...empty, tools: [tool] },
      { ...empty, messages: [asked] },
      { ...empty, messages: [signed] },
      { ...empty, messages: [user("<|endoftext|>")] },
    ].map((parts) => estimateTokens("gpt-5.1", parts)),
  );
  for (const size of sizes) expect(size).toBeGreaterThan(least + 10);
  expect(sizes[2]).toBeGreaterThan((sizes[1] ?? 0) + 10);
});
