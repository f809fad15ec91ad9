import { expect, test } from "vitest";
import { Findings } from "./agent-file.ts";
import { readModel } from "./read-model-policy.ts";

test.each<[unknown, unknown]>([
  [undefined, undefined],
  [null, undefined],
  ["inherit", undefined],
  ["sonnet", { pool: "sonnet" }],
  ["Opus", { pool: "opus" }],
  ["fast", { pool: "fast" }],
  ["anthropic/claude-sonnet-4-5", { model: "anthropic/claude-sonnet-4-5" }],
  ["ollama/llama3.2:1b", { model: "ollama/llama3.2:1b" }],
  ["openrouter/meta/llama-4", { model: "openrouter/meta/llama-4" }],
  ["claude-sonnet-4-20250514", { model: "anthropic/claude-sonnet-4-20250514" }],
  ["gpt-5.4", { model: "openai/gpt-5.4" }],
  ["o3", { model: "openai/o3" }],
  ["gemini-3-pro", { model: "google/gemini-3-pro" }],
  ["Claude Sonnet 4.5 (copilot)", { model: "anthropic/claude-sonnet-4-5" }],
  ["GPT-5-Codex (Preview) (copilot)", { model: "openai/gpt-5-codex" }],
  ["GPT-4.1", { model: "openai/gpt-4.1" }],
  [
    ["GPT-5 (copilot)", "Claude Opus 4 (copilot)"],
    {
      model: "openai/gpt-5",
      fallbacks: ["anthropic/claude-opus-4"],
    },
  ],
  ["gpt-5 or claude-opus-4", { model: "openai/gpt-5", fallbacks: ["anthropic/claude-opus-4"] }],
  [{ provider: "openai", model: "gpt-5" }, { model: "openai/gpt-5" }],
])("%j is read as %j", (value, policy) => {
  expect(readModel(value, new Findings())).toEqual(policy);
});

test.each([["fable"], ["My Own Model"], [7], [{}]])("%j is not set, and that is told", (value) => {
  const findings = new Findings();
  expect(readModel(value, findings)).toBeUndefined();
  expect(findings.loss).toEqual([expect.objectContaining({ field: "model", kind: "unknown" })]);
});
