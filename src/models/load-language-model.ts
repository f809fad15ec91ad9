import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { ProviderSettings } from "./resolve-provider.ts";

/**
 * The provider's client, loaded only now: the clients take longer to load than everything else, and
 * most commands never ask a model.
 */
export async function loadLanguageModel(
  settings: ProviderSettings,
  modelId: string,
  fetch: typeof globalThis.fetch,
): Promise<LanguageModelV4> {
  const { provider: name, baseUrl: baseURL } = settings;
  const headers = { ...settings.headers };
  // Never left out: without one the clients would take a key from the environment, and send it
  // wherever this provider lives.
  const apiKey = settings.apiKey ?? "none";
  switch (settings.kind) {
    case "anthropic": {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      return createAnthropic({ apiKey, baseURL, headers, fetch })(modelId);
    }
    case "google": {
      const { createGoogle } = await import("@ai-sdk/google");
      return createGoogle({ apiKey, baseURL, headers, fetch })(modelId);
    }
    case "openai": {
      const { createOpenAI } = await import("@ai-sdk/openai");
      return createOpenAI({ apiKey, baseURL, headers, fetch }).responses(modelId);
    }
    case "openai-chat": {
      const { createOpenAI } = await import("@ai-sdk/openai");
      return createOpenAI({ apiKey, baseURL, headers, fetch }).chat(modelId);
    }
    case "openai-compatible": {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      return createOpenAICompatible({
        ...{ name, apiKey, baseURL, headers, fetch },
        includeUsage: true,
      })(modelId);
    }
    default:
      return settings.kind satisfies never;
  }
}
