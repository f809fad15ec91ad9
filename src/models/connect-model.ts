import type { Clock } from "../ports/clock.ts";
import type { Model } from "../ports/model.ts";
import { aiSdkModel } from "./ai-sdk-model.ts";
import { callSettings } from "./call-settings.ts";
import { loadLanguageModel } from "./load-language-model.ts";
import { createProviderFetch } from "./provider-fetch.ts";
import type { ProviderSettings } from "./resolve-provider.ts";
import { TokenCounter } from "./token-counter.ts";

/** A provider's model; its client is loaded by the first request. */
export function connectModel(settings: ProviderSettings, modelId: string, clock: Clock): Model {
  const { apiKey, headers, kind, provider } = settings;
  const fetch = createProviderFetch(clock);
  let client: ReturnType<typeof loadLanguageModel> | undefined;
  const source = () => {
    client ??= loadLanguageModel(settings, modelId, fetch);
    return client;
  };
  const answer = aiSdkModel(source, {
    secrets: [...(apiKey === undefined ? [] : [apiKey]), ...Object.values(headers)],
    settings: (request, isBare) => callSettings({ provider, kind, modelId }, request, isBare),
    // The other providers cache by themselves.
    hasCacheBreakpoints: kind === "anthropic",
    speaksGemini: kind === "google",
    clock,
  });
  const counter = new TokenCounter(settings, modelId, fetch);
  const ask: Model = async (request, onPart) => {
    const reply = await answer(request, onPart);
    counter.learn(request.messages, reply.usage);
    return reply;
  };
  return Object.assign(ask, { countTokens: counter.count });
}
