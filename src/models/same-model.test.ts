import { expect, test } from "vitest";
import { isSameModel } from "./candidate-models.ts";

test.each([
  ["openai/gpt-5", "gpt-5"],
  ["openai/gpt-5", "gpt-5-2025-08-07"],
  ["openai/gpt-4", "gpt-4-0613"],
  ["anthropic/claude-sonnet-4-5", "claude-sonnet-4-5-20250929"],
  ["anthropic/claude-haiku-latest", "claude-haiku-4-5-20251001"],
  ["ollama/llama3", "llama3:latest"],
  ["google/gemini-2.5-flash", "gemini-2.5-flash-001"],
  ["openrouter/openrouter/auto", "meta/llama"],
  ["openrouter/openai/gpt-5", "openai/gpt-5"],
  ["openrouter/openai/gpt-5", "openai/gpt-5-2025-08-07"],
  ["scripted/test", "scripted/test"],
])("%s is met by %s", (requested, served) => {
  expect(isSameModel(requested, served)).toBe(true);
});

test.each([
  ["openai/gpt-5", "gpt-5-mini"],
  ["openai/gpt-5", "gpt-5-mini-2025-08-07"],
  ["openai/gpt-5-mini", "gpt-5"],
  ["anthropic/claude-opus-4", "claude-opus-4-1"],
  ["openai/gpt-5", "gpt-5.1"],
  ["google/gemini-3-pro-preview", "gemini-3.1-pro-preview"],
  ["scripted/test", "other/model"],
])("%s is not met by %s", (requested, served) => {
  expect(isSameModel(requested, served)).toBe(false);
});
