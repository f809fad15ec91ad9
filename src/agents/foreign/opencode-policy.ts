import { existsSync, realpathSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import { isRecord } from "../../ports/parse-json.ts";
import { readRegularFile } from "../documents/read-text-file.ts";
import type { Findings } from "./agent-file.ts";
import { PermissionLayers } from "./permission.ts";
import { recordOf } from "./plain-data.ts";
import { maximumDataBytes, readJsonc } from "./read-data.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The configurations of opencode that apply to an agent file, from the outermost to the nearest. */
export interface OpencodePolicy {
  readonly configurations: readonly Fields[];
  /** All places where a configuration was looked for; a change of one changes the agent. */
  readonly places: readonly string[];
  readonly bytes: readonly Uint8Array[];
}

const maximumFolders = 16;

/**
 * Reads the configurations of the folder of an agent file and of the folders above it, up to `root`
 * or to the repository. A configuration that cannot be read refuses the agent: it can restrict it.
 */
export function readOpencodePolicy(
  file: string,
  root: string | undefined,
  findings: Findings,
): OpencodePolicy {
  const folders = foldersOf(file, root);
  const places = folders.flatMap(configurationsIn).filter((place) => place !== file);
  const bytes: Uint8Array[] = [];
  const configurations = places.filter(existsSync).flatMap((place) => {
    const shown = relative(dirname(file), place);
    try {
      const top = realpathSync.native(folders[0] ?? dirname(file));
      if (!isBelow(realpathSync.native(place), top)) throw new Error("a link out of the project");
      const content = readRegularFile(place, maximumDataBytes);
      const data = readJsonc(content.toString("utf8").replace(/^\uFEFF/, ""));
      if ("problem" in data) throw new Error(data.problem);
      bytes.push(content);
      if (isRecord(data.value)) return [data.value];
      throw new Error("it is not a map of keys and values");
    } catch (error) {
      findings.refuse(`${shown} can restrict this agent and cannot be read: ${String(error)}`);
      return [];
    }
  });
  return { configurations, places, bytes };
}

function configurationsIn(folder: string): readonly string[] {
  const names = ["opencode.json", "opencode.jsonc"];
  return [folder, join(folder, ".opencode")].flatMap((place) =>
    names.map((name) => join(place, name)),
  );
}

/** The folder of the project that holds the file, and those above it, the outermost first. */
function foldersOf(file: string, root: string | undefined): readonly string[] {
  const inside = /^(.*?)[\\/](?:\.|dot-)opencode[\\/]/.exec(file)?.[1];
  const folders = [inside ?? dirname(file)];
  const isTop = (folder: string) =>
    root === undefined ? existsSync(join(folder, ".git")) : folder === root;
  while (folders.length < maximumFolders) {
    const folder = folders[0] ?? "";
    if (isTop(folder)) return folders;
    if (dirname(folder) === folder) break;
    folders.unshift(dirname(folder));
  }
  // Without a repository around it, nothing above belongs to the project.
  return folders.slice(-1);
}

/**
 * Merges an agent with the configurations that apply to it. The agent's own settings come last, and
 * the last match decides.
 */
export function withConfigurations(
  own: unknown,
  configurations: readonly Fields[],
  name: string,
): unknown {
  if (!isRecord(own)) return own;
  const entries = configurations.map(({ agent, mode }) => recordOf(recordOf(agent ?? mode)[name]));
  const all = [...configurations, ...entries, own];
  const layers = all.flatMap(({ permission }) => (permission === undefined ? [] : [permission]));
  const permission = layers.length > 1 ? new PermissionLayers(layers) : layers[0];
  const denied = Object.assign({}, ...configurations.map(({ tools }) => deniedTools(tools)));
  const ofEntries = entries.map(({ tools }) => recordOf(tools));
  const hasTools = own["tools"] !== undefined && !isRecord(own["tools"]);
  const tools = Object.assign(denied, ...ofEntries, hasTools ? {} : own["tools"]);
  const rest = entries.map(
    ({ prompt: _prompt, permission: _rules, tools: _tools, ...keys }) => keys,
  );
  return {
    ...Object.assign({}, ...rest),
    ...own,
    ...(permission !== undefined && { permission }),
    ...(!hasTools && Object.keys(tools).length > 0 && { tools }),
  };
}

function deniedTools(tools: unknown): Fields {
  return Object.fromEntries(Object.entries(recordOf(tools)).filter(([, isOn]) => isOn !== true));
}
