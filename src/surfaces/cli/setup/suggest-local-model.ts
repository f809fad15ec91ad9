import type { Diagnosis } from "../../../diagnose.ts";

type LocalEndpoint = Diagnosis["models"]["local"][number];

/** The models of a local server that can talk, as `provider/model`. */
export function talkingModels({ models, provider }: LocalEndpoint): readonly string[] {
  return models
    .filter((model) => !/embed|rerank|whisper/i.test(model))
    .map((model) => `${provider}/${model}`);
}

/** One of them; undefined: there is none. */
export function suggestLocalModel(endpoint: LocalEndpoint): string | undefined {
  return talkingModels(endpoint)[0];
}
