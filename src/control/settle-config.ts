import { readRegularFile } from "../agents/documents/read-text-file.ts";
import type { PromptFiles } from "../agents/profiles/profile.ts";
import { contentHash, hashPromptFiles } from "../agents/profiles/profile-hash.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { messageOf } from "../ports/message-of.ts";
import type { Config } from "./config.ts";
import type { ConfigLayer } from "./config-layer.ts";
import type { LoadedConfig } from "./load-config.ts";
import { mergeConfig } from "./merge-config.ts";

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
  const { inlineFields } = await import("./inline-profiles.ts");
  const all = inlineFields(layer).map(({ fields }) => hashPromptFiles(cwd, fields));
  return Object.assign({}, ...all);
}
