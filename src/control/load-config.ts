import { statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { readRegularFile, whyUnread } from "../agents/documents/read-text-file.ts";
import type { PromptFiles } from "../agents/profiles/profile.ts";
import { contentHash, hashPromptFiles } from "../agents/profiles/profile-hash.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { messageOf } from "../ports/message-of.ts";
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
  /** Settings of a program, in place of all files and the environment. */
  readonly settings?: ConfigFile | undefined;
  /** The file to read in place of the nearest mandate.yaml; it must exist. Also MANDATE_CONFIG. */
  readonly configFile?: string | undefined;
}

/** The person's configuration, and the files of a project that may narrow it. */
export interface LoadedConfig {
  /** The person's configuration: defaults, their file, a named file, environment and flags. */
  readonly own: Config;
  /** Each `mandate.yaml` in the folder and above it, the nearest first; not read yet. */
  readonly found: readonly string[];
  readonly cwd: string;
  /** The layers of `own`: files, and then environment and flags. */
  readonly files: readonly ConfigLayer[];
  readonly overrides: ConfigLayer;
  readonly userAgents: string;
  /** The folder for `~` in a file. */
  readonly userHome: string;
}

/**
 * Loads the person's configuration: their file over the defaults, a named file over that, then the
 * environment, then flags. A `mandate.yaml` that was found is only named; `settleConfig` decides
 * whether it applies. Without a file neither YAML nor the schema is loaded, which is the usual
 * start.
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

/** A configuration of a program is complete: no file is searched. */
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
    // A folder of that name was put there so that no command can create the file.
    if (isFile(file)) found.push(file);
    if (dirname(folder) === folder) return found;
  }
}

/** An unreadable path has no effect, so it does not stop the start. */
function isFile(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false })?.isDirectory() === false;
  } catch {
    return false;
  }
}

/** A `mandate.yaml` that was found: its content, and the hash by which it is trusted. */
export interface ProjectConfigFile {
  readonly file: string;
  /** The SHA-256 of its content and of the prompt files of its profiles. */
  readonly hash: string;
  readonly text: string;
  /** Absent: the file is invalid, and `problem` says why. */
  readonly layer?: ConfigLayer;
  /** The reason why the file could not be used if it were trusted. */
  readonly problem?: string;
  /** Sentences about settings that would be reduced or ignored. */
  readonly notTaken?: readonly string[];
}

export interface SettledConfig {
  readonly config: Config;
  /** Found files that are not trusted as they are now, and so have no effect. The nearest first. */
  readonly waiting: readonly ProjectConfigFile[];
}

/**
 * Applies the nearest trusted file of those that were found: below environment and flags, narrowed
 * by the person's settings. Other files have no effect, whether they can be read or not.
 */
export async function settleConfig(
  loaded: LoadedConfig,
  isTrusted: (hash: string) => boolean,
): Promise<SettledConfig> {
  const waiting: ProjectConfigFile[] = [];
  for (const path of loaded.found) {
    const file = await readProjectConfig(path, loaded);
    if (isTrusted(file.hash)) return { config: await withProjectConfig(loaded, file), waiting };
    waiting.push(await judge(loaded, file));
  }
  return { config: loaded.own, waiting };
}

/** The effect that trust would have, for a person who is asked to trust the file. */
async function judge(loaded: LoadedConfig, file: ProjectConfigFile): Promise<ProjectConfigFile> {
  try {
    const { notTaken = [] } = await withProjectConfig(loaded, file);
    return { ...file, notTaken };
  } catch (error) {
    return { ...file, problem: messageOf(error) };
  }
}

/**
 * Throws "config-invalid" when the file is unusable, or has settings that only the person may make.
 */
async function withProjectConfig(
  { files, overrides, userAgents }: LoadedConfig,
  { layer, problem = "" }: ProjectConfigFile,
): Promise<Config> {
  if (layer === undefined) throw new MandateError("config-invalid", problem);
  const { narrowFoundFile } = await import("./narrow-found-file.ts");
  return mergeConfig([...files, narrowFoundFile(layer, files[0]), overrides], userAgents);
}

/** Never throws because of the file's content. `cwd`: the workspace for its prompt files. */
async function readProjectConfig(
  file: string,
  { cwd, userHome }: Pick<LoadedConfig, "cwd" | "userHome">,
): Promise<ProjectConfigFile> {
  const { maximumConfigBytes, parseConfig } = await import("./read-config-file.ts");
  let bytes: Buffer;
  try {
    bytes = readRegularFile(file, maximumConfigBytes);
  } catch (error) {
    const problem = `${file}: ${whyUnread(error)}`;
    return { file, text: "", hash: contentHash(["unreadable", file]), problem };
  }
  const text = bytes.toString("utf8");
  try {
    const layer = parseConfig(bytes, file, userHome);
    const promptFiles = await promptFilesOf(layer, cwd);
    return { file, text, hash: hashOf(bytes, promptFiles), layer: { ...layer, promptFiles } };
  } catch (error) {
    return { file, text, hash: hashOf(bytes, {}), problem: messageOf(error) };
  }
}

function hashOf(bytes: Buffer, promptFiles: PromptFiles): string {
  return contentHash(["configuration", bytes.toString("base64"), promptFiles]);
}

async function promptFilesOf(layer: ConfigLayer, cwd: string): Promise<PromptFiles> {
  const { profiles, tools } = layer.settings;
  if (profiles === undefined && tools?.spawn?.profiles === undefined) return {};
  const { inlineFields } = await import("./read-config-file.ts");
  const all = inlineFields(layer).map(({ fields }) => hashPromptFiles(cwd, fields));
  return Object.assign({}, ...all);
}
