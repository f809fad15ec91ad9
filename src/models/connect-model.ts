import type { Clock } from "../ports/clock.ts";
import type { Model } from "../ports/model.ts";
import { aiSdkModel } from "./ai-sdk-model.ts";
import { callSettings } from "./call-settings.ts";
import { loadLanguageModel } from "./load-language-model.ts";
import type { ProviderSettings } from "./resolve-provider.ts";

/** A provider's model; its client is loaded by the first request. */
export function connectModel(settings: ProviderSettings, modelId: string, clock: Clock): Model {
  const { apiKey, headers, kind, provider } = settings;
  let client: ReturnType<typeof loadLanguageModel> | undefined;
  const source = () => {
    client ??= loadLanguageModel(settings, modelId, clock);
    return client;
  };
  return aiSdkModel(source, {
    secrets: [...(apiKey === undefined ? [] : [apiKey]), ...Object.values(headers)],
    settings: (request, isBare) => callSettings({ provider, kind, modelId }, request, isBare),
    // The other providers cache by themselves.
    hasCacheBreakpoints: kind === "anthropic",
    speaksGemini: kind === "google",
    clock,
  });
}
