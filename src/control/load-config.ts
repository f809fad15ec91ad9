import { statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Config } from "./config.ts";
import type { ConfigLayer } from "./config-layer.ts";
import { type ConfigFlags, readOverrides } from "./config-overrides.ts";
import type { ConfigFile } from "./config-schema.ts";
import { mergeConfig } from "./merge-config.ts";
import { type Environment, findPlaces, userHomeOf } from "./places.ts";

export interface ConfigRequest {
  readonly cwd: string;
  readonly environment: Environment;
  readonly flags?: ConfigFlags;
  /** What a program says in place of all files and of the environment. */
  readonly settings?: ConfigFile | undefined;
  /** Read in place of the nearest mandate.yaml; it must exist. Also MANDATE_CONFIG. */
  readonly configFile?: string | undefined;
}

/** What the person decided, and where a project would like to have a say. */
export interface LoadedConfig {
  /** The person's own configuration: defaults, their file, one they named, environment and flags. */
  readonly own: Config;
  /** Each `mandate.yaml` in the folder and above it, the nearest first. Not read yet. */
  readonly found: readonly string[];
  readonly cwd: string;
  /** What `own` was made of: files, and then environment and flags. */
  readonly files: readonly ConfigLayer[];
  readonly overrides: ConfigLayer;
  readonly userAgents: string;
  /** What `~` means in a file. */
  readonly userHome: string;
}

/**
 * The person's own configuration: their file over the defaults, a file that they named over that;
 * the environment wins over files, flags win over all. A `mandate.yaml` that was merely found is
 * only named: `settleConfig` says whether it counts. Without a file neither YAML nor the schema is
 * loaded: most starts are such starts.
 */
export async function loadConfig(request: ConfigRequest): Promise<LoadedConfig> {
  const { cwd, environment } = request;
  const places = findPlaces(environment);
  const userHome = userHomeOf(environment);
  const { userAgents } = places;
  if (request.settings !== undefined) {
    const { readConfigValue } = await import("./read-config-file.ts");
    const given = readConfigValue(request.settings, cwd, userHome);
    const flags = { settings: readOverrides({}, request.flags ?? {}) };
    return givenConfig(await mergeConfig([given, flags], userAgents), cwd);
  }
  const overrides = { settings: readOverrides(environment, request.flags ?? {}) };
  const chosen = request.configFile ?? (environment["MANDATE_CONFIG"] || undefined);
  const named = [
    ...(exists(places.userConfig) ? [places.userConfig] : []),
    ...(chosen === undefined ? [] : [resolve(cwd, chosen)]),
  ];
  const files: ConfigLayer[] = [];
  if (named.length > 0) {
    const { readConfigFile } = await import("./read-config-file.ts");
    files.push(...named.map((file) => readConfigFile(file, userHome)));
  }
  return {
    own: await mergeConfig([...files, overrides], userAgents),
    found: chosen === undefined ? findUpward(cwd) : [],
    cwd,
    files,
    overrides,
    userAgents,
    userHome,
  };
}

/** A configuration that a program gives: it is complete, and nothing is looked for beside it. */
export function givenConfig(own: Config, cwd: string): LoadedConfig {
  const nothing = {
    found: [],
    files: [],
    overrides: { settings: {} },
    userAgents: "",
    userHome: "",
  };
  return { own, cwd, ...nothing };
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

function findUpward(cwd: string): readonly string[] {
  const found: string[] = [];
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    const file = join(folder, "mandate.yaml");
    // A folder of that name holds the place so that no command can put a file there.
    if (isFile(file)) found.push(file);
    if (dirname(folder) === folder) return found;
  }
}

/** What cannot be looked at has no effect, so it is no reason to refuse a start. */
function isFile(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false })?.isDirectory() === false;
  } catch {
    return false;
  }
}
