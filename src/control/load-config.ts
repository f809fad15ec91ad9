import { statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { readRegularFile } from "../agents/documents/read-text-file.ts";
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

/** A `mandate.yaml` that was found: what it holds, and the hash by which it is trusted. */
export interface ProjectConfigFile {
  readonly file: string;
  /** SHA-256 of its content and of the files that its profiles name for their prompts. */
  readonly hash: string;
  readonly text: string;
  /** Absent: it cannot be read, and `problem` says why. */
  readonly layer?: ConfigLayer;
  /** Why it could not be used if it were trusted. */
  readonly problem?: string;
  /** What it says and may not, in sentences: that would not count either. */
  readonly notTaken?: readonly string[];
}

export interface SettledConfig {
  readonly config: Config;
  /** Found, and without effect: not trusted as they are now. The nearest first. */
  readonly waiting: readonly ProjectConfigFile[];
}

/**
 * The configuration that counts. Of the files that were found the nearest trusted one is merged
 * below environment and flags, narrowed by what the person set; those that are not trusted have no
 * effect, whether they can be read or not.
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

/** What would become of it: a person who is asked to trust it can see that before they do. */
async function judge(loaded: LoadedConfig, file: ProjectConfigFile): Promise<ProjectConfigFile> {
  try {
    const { notTaken = [] } = await withProjectConfig(loaded, file);
    return { ...file, notTaken };
  } catch (error) {
    return { ...file, problem: messageOf(error) };
  }
}

/** Throws "config-invalid" when the file cannot be used, or says what only the person may say. */
async function withProjectConfig(
  { files, overrides, userAgents }: LoadedConfig,
  { layer, problem = "" }: ProjectConfigFile,
): Promise<Config> {
  if (layer === undefined) throw new MandateError("config-invalid", problem);
  const { narrowFoundFile } = await import("./narrow-found-file.ts");
  return mergeConfig([...files, narrowFoundFile(layer, files[0]), overrides], userAgents);
}

/** Never throws for what the file holds or is. `cwd` is the workspace that its profiles speak of. */
async function readProjectConfig(
  file: string,
  { cwd, userHome }: Pick<LoadedConfig, "cwd" | "userHome">,
): Promise<ProjectConfigFile> {
  const { maximumConfigBytes, parseConfig } = await import("./read-config-file.ts");
  let bytes: Buffer;
  try {
    bytes = readRegularFile(file, maximumConfigBytes);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const problem = `${file}: ${code === undefined ? message : `cannot be read (${code})`}`;
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
