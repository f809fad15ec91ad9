import { dirname, resolve } from "node:path";
import { describeProblem, type ProblemSource } from "../agents/documents/describe-problem.ts";
import { decodeText, readTextFile } from "../agents/documents/read-text-file.ts";
import { parseYaml } from "../agents/documents/read-yaml.ts";
import type { ProfileFields } from "../agents/profiles/profile.ts";
import { type ProfileLayer, standingOf } from "../agents/profiles/profile-layer.ts";
import { fieldsOfDocument } from "../agents/profiles/profile-schema.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { firstSentence } from "../text.ts";
import { type ConfigLayer, layerProblem, placeOf } from "./config-layer.ts";
import { type ConfigFile, configSchema, type SpawnProfileSettings } from "./config-schema.ts";
import { unknownPool } from "./settle-models.ts";

export const maximumConfigBytes = 1024 * 1024;
const code = "config-invalid";

/** Reads and validates a configuration file. Throws a MandateError that names file and line. */
export function readConfigFile(file: string, userHome: string): ConfigLayer {
  const text = readTextFile(file, { code, maximumBytes: maximumConfigBytes });
  return parseText(text, file, userHome);
}

/** Validates a configuration file from its bytes. */
export function parseConfig(bytes: Uint8Array, file: string, userHome: string): ConfigLayer {
  const decoded = decodeText(bytes);
  if ("problem" in decoded) throw new MandateError(code, `${file}:1: ${decoded.problem}`);
  return parseText(decoded.text, file, userHome);
}

function parseText(text: string, file: string, userHome: string): ConfigLayer {
  const { value, lineOf } = parseYaml(text, file, { code });
  // An empty file, or one with only comments.
  if (value === null) return { settings: {}, file, lineOf };
  const settings = parseSettings(value, { file, lineOf });
  return { settings: withAbsoluteDirectory(settings, dirname(file), userHome), file, lineOf };
}

/** Validates the settings of a program; a relative folder is relative to `cwd`. */
export function readConfigValue(value: unknown, cwd: string, userHome: string): ConfigLayer {
  const settings = parseSettings(value, { file: "config" });
  return { settings: withAbsoluteDirectory(settings, cwd, userHome) };
}

function parseSettings(value: unknown, source: Omit<ProblemSource, "schema">): ConfigFile {
  const parsed = configSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new MandateError(code, describeProblem(parsed.error, { ...source, schema: configSchema }));
}

/** A relative folder is relative to the file that names it. */
function withAbsoluteDirectory(settings: ConfigFile, base: string, userHome: string): ConfigFile {
  const { agents } = settings;
  const directory = agents?.delegation?.profiles?.directory;
  if (directory === undefined) return settings;
  const expanded = directory.replace(/^~(?=$|[\\/])/, () => userHome);
  const profiles = { directory: resolve(base, expanded) };
  return { ...settings, agents: { delegation: { ...agents?.delegation, profiles } } };
}

type Pools = Readonly<Record<string, readonly string[]>>;

/**
 * The profiles in a configuration file: under `profiles`, with all keys of a profile, and under
 * `tools.spawn.profiles`, with that format's few keys.
 */
export function inlineProfiles(layer: ConfigLayer, pools: Pools): readonly ProfileLayer[] {
  return inlineFields(layer).map(({ fields, path, pool, standing = {} }) => {
    requirePool(pool, [...path, "pool"], layer, pools);
    const origin = placeOf(layer, path);
    const said = { name: path.at(-1) ?? "", fields, origin, ...standing };
    if (layer.isFound !== true) return said;
    // The file is trusted as a whole; its profiles need no trust of their own.
    return { ...said, isProjects: true, promptFiles: layer.promptFiles ?? {} };
  });
}

interface InlineFields {
  readonly path: readonly string[];
  readonly fields: ProfileFields;
  readonly pool: string | undefined;
  readonly standing?: ReturnType<typeof standingOf>;
}

/** The fields of each profile, with its path in the file. */
export function inlineFields({ settings }: ConfigLayer): readonly InlineFields[] {
  const { profiles = {}, tools } = settings;
  return [
    ...Object.entries(profiles).map(([name, document]) => {
      const fields = fieldsOfDocument(document);
      const path = ["profiles", name];
      return { path, fields, pool: document.pool, standing: standingOf(document) };
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

/** In this format alone an empty list of tools means «all»; it becomes absent, which inherits. */
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
