import { existsSync, realpathSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import { messageOf } from "../../ports/message-of.ts";
import { isRecord } from "../../ports/parse-json.ts";
import { nearestKey } from "../documents/nearest-key.ts";
import { readRegularFile } from "../documents/read-text-file.ts";
import { type Findings, shorten } from "./agent-file.ts";
import { authorityKey } from "./agent-keys.ts";
import { Layers } from "./permission.ts";
import { recordOf } from "./plain-data.ts";
import { maximumDataBytes, readJsonc } from "./read-data.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** The programs whose project settings restrict the agents beside them. */
export type PolicyProgram = "opencode" | "claude";

/** The settings that apply to an agent file, from the outermost to the nearest. */
export interface ProjectPolicy {
  readonly configurations: readonly Fields[];
  /** All places where settings were looked for; a change of one changes the agent. */
  readonly places: readonly string[];
  readonly bytes: readonly Uint8Array[];
}

const files: Readonly<Record<PolicyProgram, readonly string[]>> = {
  opencode: ["", ".opencode/", "dot-opencode/"].flatMap((folder) =>
    ["opencode.json", "opencode.jsonc"].map((name) => folder + name),
  ),
  claude: [".claude/", "dot-claude/"].flatMap((folder) =>
    ["settings.json", "settings.local.json"].map((name) => folder + name),
  ),
};

/**
 * Reads the settings of the folder of an agent file and of the folders above it, up to the
 * repository. Settings that cannot be read refuse the agent: they can restrict it.
 */
export function readProjectPolicy(
  program: PolicyProgram,
  agent: { readonly file: string; readonly root: string | undefined },
  findings: Findings,
): ProjectPolicy {
  const file = resolve(agent.file);
  const folders = foldersOf(file, program, agent.root);
  if (folders.length >= maximumFolders) {
    findings.refuse(`it is ${maximumFolders} folders deep; what restricts it is not looked for`);
  }
  const places = folders
    .flatMap((folder) => files[program].map((name) => join(folder, name)))
    .filter((place) => place !== file);
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
      if (!isRecord(data.value)) throw new Error("it is not a map of keys and values");
      refuseMisspeltKeys(data.value, restrictingKeys[program], shown, findings);
      return [data.value];
    } catch (error) {
      findings.refuse(`${shown} can restrict this agent and cannot be read: ${messageOf(error)}`);
      return [];
    }
  });
  return { configurations, places, bytes };
}

/** The keys of each program's settings that restrict agents. */
export const restrictingKeys: Readonly<Record<PolicyProgram, readonly string[]>> = {
  opencode: ["permission", "tools", "agent", "mode"],
  claude: ["permissions", "hooks"],
};

const mapKeys: ReadonlySet<string> = new Set(["permissions", "tools", "agent", "mode"]);
const restrictions: ReadonlySet<unknown> = new Set([
  ...["allow", "deny", "permission", "permissionMode", "readonly"],
]);

/** Refuses settings that restrict with a key or in a form that their program does not have. */
export function refuseMisspeltKeys(
  data: Fields,
  known: readonly string[],
  shown: string,
  findings: Findings,
): void {
  for (const [key, value] of Object.entries(data)) {
    if (known.includes(key)) {
      const isLost = mapKeys.has(key) && !isRecord(value);
      if (isLost)
        findings.refuse(`${shown}: "${key}" is not a map; what it restricts would be lost`);
      continue;
    }
    // A key of its own, one letter from `mode`.
    const nearest = key === "model" ? undefined : nearestKey(key, known, 2);
    if (nearest === undefined && !restrictions.has(authorityKey(key, "opencode"))) continue;
    const meant = nearest ?? known.join(", ");
    findings.refuse(`${shown}: "${shorten(key)}" is not a key; is it ${meant}?`);
  }
}

const maximumFolders = 64;

/** The folder of the project that holds the file, and those above it, the outermost first. */
function foldersOf(
  file: string,
  program: PolicyProgram,
  root: string | undefined,
): readonly string[] {
  const inside = new RegExp(`^(.*)[\\\\/](?:\\.|dot-)${program}[\\\\/]`).exec(file)?.[1];
  const folders = [inside ?? dirname(file)];
  // Claude Code has agents in its own folder alone; other Markdown is read as one of them by default.
  if (inside === undefined && program === "claude") return [];
  while (folders.length < maximumFolders) {
    const folder = folders[0] ?? "";
    if (existsSync(join(folder, ".git"))) return folders;
    if (dirname(folder) === folder) break;
    folders.unshift(dirname(folder));
  }
  // Without a repository around it, nothing above the root belongs to the project.
  if (folders.length >= maximumFolders) return folders;
  const top = root === undefined ? -1 : folders.indexOf(resolve(root));
  return folders.slice(top < 0 ? -1 : top);
}

/**
 * Merges an agent with the configurations that apply to it. The agent's own settings come last, and
 * the last match decides. `names`: all under which a configuration may have an entry for it.
 */
export function withConfigurations(
  own: unknown,
  configurations: readonly Fields[],
  names: readonly string[],
  findings: Findings,
): unknown {
  if (!isRecord(own)) return own;
  const entries = configurations
    .flatMap(({ agent, mode }) => [recordOf(agent), recordOf(mode)])
    .flatMap((map) => names.flatMap((name) => entriesOf(map, name, findings)));
  const all = [...configurations, ...entries, own];
  const layers = all.flatMap(({ permission }) => (permission === undefined ? [] : [permission]));
  const permission = layers.length > 1 ? new Layers(layers) : layers[0];
  const denied = Object.assign({}, ...configurations.map(({ tools }) => deniedTools(tools)));
  const ofEntries = entries.map(({ tools }) => recordOf(tools));
  const isList = own["tools"] !== undefined && !isRecord(own["tools"]);
  const tools = Object.assign(denied, ...(isList ? ofEntries.map(deniedTools) : ofEntries));
  if (!isList) Object.assign(tools, own["tools"]);
  const rest = entries.map(
    ({ prompt: _prompt, permission: _rules, tools: _tools, ...keys }) => keys,
  );
  const hasTools = Object.keys(tools).length > 0;
  return {
    ...Object.assign({}, ...rest),
    ...own,
    ...(permission !== undefined && { permission }),
    ...(hasTools && { tools: isList ? new Layers([tools, own["tools"]]) : tools }),
  };
}

/** The entry of a configuration for an agent. One that is not understood may restrict it. */
function entriesOf(map: Fields, name: string, findings: Findings): readonly Fields[] {
  if (!Object.hasOwn(map, name)) return [];
  const entry = map[name];
  const shown = `the entry "${shorten(name)}" of a configuration`;
  if (!isRecord(entry)) {
    findings.refuse(`${shown} is not a map; what it restricts would be lost`);
    return [];
  }
  refuseMisspeltKeys(entry, ["permission", "tools"], shown, findings);
  return [entry];
}

function deniedTools(tools: unknown): Fields {
  return Object.fromEntries(Object.entries(recordOf(tools)).filter(([, isOn]) => isOn !== true));
}

/** The names that opencode has for the agent of a file: the path below its folder, or its own name. */
export function namesOfFile(path: string, fields: Fields, stem: string): readonly string[] {
  const folder = /[\\/](?:\.|dot-)?opencode[\\/](?:agents?|modes?)[\\/](.+)\.md$/i;
  const below = folder.exec(path)?.[1]?.replaceAll("\\", "/");
  const { name } = fields;
  return [...new Set([stem, below ?? stem, typeof name === "string" ? name : stem])];
}
