import type { Profile } from "../profiles/profile.ts";
import { type ConfigLayer, layerProblem, placeOf } from "./config-layer.ts";
import type { SpawnProfileSettings } from "./config-schema.ts";

/**
 * An inline profile of `tools.spawn.profiles`. In that format alone an empty list of tools means
 * «all»; it becomes «not said» here, which inherits below the parent's ceiling.
 */
export function profileFromSpawnSettings(
  name: string,
  settings: SpawnProfileSettings,
  pools: Readonly<Record<string, string>>,
  layer: ConfigLayer,
): Profile {
  const path = ["tools", "spawn", "profiles", name];
  const prompt = settings.system_prompt?.trim() ?? "";
  return {
    name,
    description: settings.description?.trim() || firstSentence(prompt) || `The ${name} profile.`,
    capabilities: ["subtask"],
    prompt,
    origin: placeOf(layer, path),
    ...(settings.system_prompt_file ? { systemPromptFile: settings.system_prompt_file } : {}),
    ...(isFilled(settings.bootstrap_files) ? { bootstrapFiles: settings.bootstrap_files } : {}),
    ...(isFilled(settings.tools) ? { tools: settings.tools } : {}),
    ...(settings.pool ? { model: { model: modelOf(settings.pool) } } : {}),
  };

  function modelOf(pool: string): string {
    const model = pools[pool];
    if (model !== undefined) return model;
    const known = Object.keys(pools);
    const next =
      known.length === 0 ? "define it under models.pools" : `known are ${known.join(", ")}`;
    throw layerProblem(layer, [...path, "pool"], `unknown pool "${pool}"; ${next}`);
  }
}

function isFilled(list: readonly string[] | undefined): list is readonly string[] {
  return list !== undefined && list.length > 0;
}

/** The format has no description, and a parent has to choose by something. */
function firstSentence(prompt: string): string {
  const line = prompt.split("\n", 1)[0] ?? "";
  return /^.{1,200}?[.!?](?=\s|$)/.exec(line)?.[0] ?? line.slice(0, 200);
}
