import type { ProfileFields } from "../agents/profiles/profile.ts";
import type { ProfileLayer } from "../agents/profiles/profile-layer.ts";
import { fieldsOfDocument } from "../agents/profiles/profile-schema.ts";
import { firstSentence } from "../text.ts";
import { type ConfigLayer, layerProblem, placeOf } from "./config-layer.ts";
import type { SpawnProfileSettings } from "./config-schema.ts";
import { unknownPool } from "./settle-models.ts";

type Pools = Readonly<Record<string, readonly string[]>>;

/**
 * The profiles that a configuration file holds itself: under `profiles`, with every key of a
 * profile, and under `tools.spawn.profiles`, in that format's own few words.
 */
export function inlineProfiles(layer: ConfigLayer, pools: Pools): readonly ProfileLayer[] {
  return inlineFields(layer).map(({ fields, path, pool }) => {
    requirePool(pool, [...path, "pool"], layer, pools);
    const said = { name: path.at(-1) ?? "", fields, origin: placeOf(layer, path) };
    if (layer.isFound !== true) return said;
    // The file is trusted as a whole, so its profiles need no trust of their own.
    return { ...said, isProjects: true, promptFiles: layer.promptFiles ?? {} };
  });
}

interface InlineFields {
  readonly path: readonly string[];
  readonly fields: ProfileFields;
  readonly pool: string | undefined;
}

/** What they say, each with its place in the file. */
export function inlineFields({ settings }: ConfigLayer): readonly InlineFields[] {
  const { profiles = {}, tools } = settings;
  return [
    ...Object.entries(profiles).map(([name, document]) => {
      const fields = fieldsOfDocument(document);
      return { path: ["profiles", name], fields, pool: document.pool };
    }),
    ...Object.entries(tools?.spawn?.profiles ?? {}).map(([name, said]) => {
      const path = ["tools", "spawn", "profiles", name];
      return { path, fields: spawnFields(name, said), pool: said.pool || undefined };
    }),
  ];
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
