import type { LanguageModelV4Usage } from "@ai-sdk/provider";
import type { ModelUsage } from "../ports/model.ts";

/**
 * What the provider counted, or null when it did not. A prompt of zero tokens does not exist: that
 * is how some clients report silence, and taking it at its word would make the turn free.
 */
export function toModelUsage(usage: LanguageModelV4Usage | undefined): ModelUsage | null {
  const prompt = usage?.inputTokens?.total;
  const completion = usage?.outputTokens?.total;
  if (!isCount(prompt) || !isCount(completion) || prompt === 0) return null;
  const { cacheRead: cached, cacheWrite } = usage?.inputTokens ?? {};
  return {
    prompt,
    completion,
    ...(isCount(cached) && cached > 0 ? { cached } : {}),
    ...(isCount(cacheWrite) && cacheWrite > 0 ? { cacheWrite } : {}),
  };
}

function isCount(value: number | undefined): value is number {
  return value !== undefined && Number.isFinite(value) && value >= 0;
}
