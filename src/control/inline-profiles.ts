import { fieldsOfDocument } from "../profiles/fields-of-document.ts";
import { firstSentence } from "../profiles/first-sentence.ts";
import type { ProfileFields } from "../profiles/profile.ts";
import { contentHash } from "../profiles/profile-hash.ts";
import type { ProfileLayer } from "../profiles/profile-layer.ts";
import { type ConfigLayer, layerProblem, placeOf } from "./config-layer.ts";
import type { SpawnProfileSettings } from "./config-schema.ts";
import { unknownPool } from "./settle-models.ts";

type Pools = Readonly<Record<string, readonly string[]>>;

/**
 * The profiles that a configuration file holds itself: under `profiles`, with every key of a
 * profile, and under `tools.spawn.profiles`, in that format's own few words.
 */
export function inlineProfiles(layer: ConfigLayer, pools: Pools): readonly ProfileLayer[] {
  const { profiles = {}, tools } = layer.settings;
  return [
    ...Object.entries(profiles).map(([name, document]) => {
      requirePool(document.pool, ["profiles", name, "pool"], layer, pools);
      return toLayer(layer, ["profiles", name], fieldsOfDocument(document));
    }),
    ...Object.entries(tools?.spawn?.profiles ?? {}).map(([name, settings]) => {
      const path = ["tools", "spawn", "profiles", name];
      requirePool(settings.pool || undefined, [...path, "pool"], layer, pools);
      return toLayer(layer, path, spawnFields(name, settings));
    }),
  ];
}

function toLayer(layer: ConfigLayer, path: readonly string[], fields: ProfileFields): ProfileLayer {
  const name = path.at(-1) ?? "";
  const said = { name, fields, origin: placeOf(layer, path) };
  // What came with a project counts once somebody acknowledged it, as its files do.
  return layer.isFound === true ? { ...said, unacknowledged: contentHash({ name, fields }) } : said;
}

function requirePool(
  pool: string | undefined,
  path: readonly string[],
  layer: ConfigLayer,
  pools: Pools,
): void {
  if (pool === undefined || Object.hasOwn(pools, pool)) return;
  throw layerProblem(layer, path, unknownPool(pool, pools));
}

/** In this format alone an empty list of tools means «all»; it becomes «not said», which inherits. */
function spawnFields(name: string, settings: SpawnProfileSettings): ProfileFields {
  const prompt = settings.system_prompt?.trim() ?? "";
  return {
    description: settings.description?.trim() || firstSentence(prompt) || `The ${name} profile.`,
    prompt,
    ...(settings.system_prompt_file ? { systemPromptFile: settings.system_prompt_file } : {}),
    ...(isFilled(settings.bootstrap_files) ? { bootstrapFiles: settings.bootstrap_files } : {}),
    ...(isFilled(settings.tools) ? { tools: settings.tools } : {}),
    ...(settings.pool ? { model: { pool: settings.pool } } : {}),
  };
}

function isFilled(list: readonly string[] | undefined): list is readonly string[] {
  return list !== undefined && list.length > 0;
}
