import { statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { MandateError } from "../ports/mandate-error.ts";
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

/**
 * The nearest `mandate.yaml` over the user's own file over the defaults; the environment wins over
 * files, flags win over all. Without a file neither YAML nor the schema is loaded: most starts are
 * such starts.
 */
export async function loadConfig(request: ConfigRequest): Promise<Config> {
  const places = findPlaces(request.environment);
  const userHome = userHomeOf(request.environment);
  if (request.settings !== undefined) {
    const { readConfigValue } = await import("./read-config-file.ts");
    const own = readConfigValue(request.settings, request.cwd, userHome);
    const flags = { settings: readOverrides({}, request.flags ?? {}) };
    return mergeConfig([own, flags], places.userAgents);
  }
  const overrides = readOverrides(request.environment, request.flags ?? {});
  const files = [userFile(places.userConfig), projectFile(request)].filter(isPresent);
  const layers: ConfigLayer[] = [];
  if (files.length > 0) {
    const { readConfigFile } = await import("./read-config-file.ts");
    const [user, project] = [userFile(places.userConfig), projectFile(request)];
    if (user !== undefined) layers.push(readConfigFile(user, userHome));
    if (project !== undefined) {
      const layer = readConfigFile(project, userHome);
      const { narrowFoundFile } = await import("./narrow-found-file.ts");
      layers.push(isChosen(request) ? layer : narrowFoundFile(layer, layers[0]));
    }
  }
  layers.push({ settings: overrides });
  return mergeConfig(layers, places.userAgents);
}

function isChosen(request: ConfigRequest): boolean {
  return (request.configFile ?? (request.environment["MANDATE_CONFIG"] || undefined)) !== undefined;
}

function userFile(path: string): string | undefined {
  return statSync(path, { throwIfNoEntry: false }) === undefined ? undefined : path;
}

function projectFile(request: ConfigRequest): string | undefined {
  const chosen = request.configFile ?? (request.environment["MANDATE_CONFIG"] || undefined);
  if (chosen !== undefined) return resolve(request.cwd, chosen);
  const start = resolve(request.cwd);
  for (let folder = start; ; folder = dirname(folder)) {
    const file = join(folder, "mandate.yaml");
    const stats = statSync(file, { throwIfNoEntry: false });
    // A folder of that name holds the place so that no command can put a file there.
    if (stats !== undefined && !stats.isDirectory()) {
      if (folder !== start) requireOwnFile(file, stats.uid, start);
      return file;
    }
    if (dirname(folder) === folder) return undefined;
  }
}

/** In a folder that others can write to, such as /tmp, a stranger must not configure us. */
function requireOwnFile(file: string, owner: number, start: string): void {
  const own = process.getuid?.();
  if (own === undefined || owner === own || owner === 0) return;
  if (owner === statSync(start, { throwIfNoEntry: false })?.uid) return;
  throw new MandateError(
    "config-invalid",
    `${file} belongs to another user and is not read. Name it with MANDATE_CONFIG if you trust it.`,
  );
}

function isPresent(file: string | undefined): file is string {
  return file !== undefined;
}
