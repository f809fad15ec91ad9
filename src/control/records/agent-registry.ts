import { catalogueBlock, type ListRoom } from "../../agents/documents/catalogue.ts";
import { isRecord } from "../../ports/parse-json.ts";
import { escapeXml, oneLine } from "../../text.ts";
import { countCharacters, findHiddenCharacter, nameCharacter, quote } from "./shown-text.ts";
import { checkKeys, readJson, refuseProblems } from "./strict-json.ts";

/**
 * The value of `policy/agent-registry:default`: the registered agents, which can be delegated to by
 * their handle.
 */
export interface AgentRegistry {
  readonly version: 1;
  readonly agents: readonly AgentEntry[];
}

/**
 * A registered agent. An absent `allowed…` list adds no restriction, `[]` allows none; an absent
 * `default…` list forwards none.
 */
export interface AgentEntry {
  /** `@writer` */
  readonly agentId: string;
  readonly profileId: string;
  readonly description: string;
  readonly defaultForwardSkills?: readonly string[];
  readonly allowedForwardSkills?: readonly string[];
  readonly defaultMcpServers?: readonly string[];
  readonly allowedMcpServers?: readonly string[];
  readonly tags?: readonly string[];
}

export const emptyRegistry: AgentRegistry = { version: 1, agents: [] };

/** Whether a profile with this id exists; only such a profile can be registered. */
export interface IsKnownProfile {
  (profileId: string): boolean;
  /** The reason why a defined profile cannot be used. */
  readonly problemOf?: (profileId: string) => string | undefined;
}

const maximumDescription = 300;
const maximumTag = 64;

const nameLists = [
  "defaultForwardSkills",
  "allowedForwardSkills",
  "defaultMcpServers",
  "allowedMcpServers",
];
const entryKeys = ["agentId", "profileId", "description", ...nameLists, "tags"];

/** Validates the entries of a registry. Errors are added to `problems`, each with its path. */
export function checkAgents(
  list: unknown,
  isKnownProfile: IsKnownProfile,
  problems: string[],
): readonly AgentEntry[] {
  if (!Array.isArray(list)) {
    problems.push("agents: must be a list");
    return [];
  }
  const firstOf = new Map<string, number>();
  return list.map((each: unknown, index) => {
    const entry = checkAgentEntry(each, `agents[${index}]`, isKnownProfile, problems);
    const first = firstOf.get(entry.agentId);
    if (first === undefined) firstOf.set(entry.agentId, index);
    else if (entry.agentId !== "") {
      const twice = `${quote(entry.agentId)} is there twice, first at agents[${first}]`;
      problems.push(`agents[${index}].agentId: ${twice}`);
    }
    return entry;
  });
}

/** Validates one entry. `path`: its place in the document; empty for a single entry. */
function checkAgentEntry(
  value: unknown,
  path: string,
  isKnownProfile: IsKnownProfile,
  problems: string[],
): AgentEntry {
  const at = (key: string) => (path === "" ? key : `${path}.${key}`);
  if (!isRecord(value)) {
    problems.push(`${path === "" ? "the agent" : path}: must be an object`);
    return { agentId: "", profileId: "", description: "" };
  }
  checkKeys(value, entryKeys, path, problems);
  const text = (key: string, judge: (text: string) => string | undefined): string => {
    const given = value[key];
    const problem = typeof given === "string" ? judge(given) : "must be text";
    if (problem !== undefined) problems.push(`${at(key)}: ${problem}`);
    return typeof given === "string" ? given : "";
  };
  const lists: Record<string, readonly string[]> = {};
  for (const key of [...nameLists, "tags"]) {
    if (!Object.hasOwn(value, key)) continue;
    const judge = key === "tags" ? tagProblem : nameProblem;
    lists[key] = checkList(value[key], at(key), judge, problems);
  }
  return {
    agentId: text("agentId", agentIdProblem),
    profileId: text("profileId", (id) =>
      isKnownProfile(id) ? undefined : `there is no profile ${quote(id)}`,
    ),
    description: text("description", descriptionProblem),
    ...lists,
  };
}

function checkList(
  list: unknown,
  path: string,
  judge: (item: unknown) => string | undefined,
  problems: string[],
): readonly string[] {
  if (!Array.isArray(list)) {
    problems.push(`${path}: must be a list; [] for none`);
    return [];
  }
  for (const [index, item] of list.entries()) {
    const problem = judge(item);
    if (problem !== undefined) problems.push(`${path}[${index}]: ${problem}`);
  }
  return list as readonly string[];
}

export function descriptionProblem(description: string): string | undefined {
  if (description.trim() === "") return "must say what the agent is good for";
  const characters = countCharacters(description);
  if (characters > maximumDescription) {
    return `${characters} characters; at most ${maximumDescription}`;
  }
  const hidden = findHiddenCharacter(description, { lines: true });
  return hidden === undefined ? undefined : `contains ${hidden}, which is invisible`;
}

/** Names are compared whole: a pattern or a name with a space would match nothing. */
function nameProblem(name: unknown): string | undefined {
  const isName = typeof name === "string" && /^[^\s*]{1,256}$/.test(name);
  if (isName && findHiddenCharacter(name) === undefined) return undefined;
  return "must be one name of at most 256 characters, without spaces or *";
}

function tagProblem(tag: unknown): string | undefined {
  const isTag = typeof tag === "string" && tag.trim() !== "" && tag.length <= maximumTag;
  if (isTag && findHiddenCharacter(tag) === undefined) return undefined;
  return `must be a word or two, at most ${maximumTag} characters`;
}

/**
 * Parses the registry from JSON text or data. A single invalid entry refuses the whole update,
 * since part of an update is not what a person decided. Every error names its path.
 */
export function parseAgentRegistry(source: unknown, isKnownProfile: IsKnownProfile): AgentRegistry {
  const value = readJson(source, "the agent registry");
  const problems: string[] = [];
  if (!isRecord(value)) {
    refuseProblems(["the agent registry: must be an object with version and agents"]);
    return { version: 1, agents: [] };
  }
  if (value["version"] !== 1) problems.push("version: must be the number 1");
  checkKeys(value, ["version", "agents"], "", problems);
  const agents = checkAgents(value["agents"], isKnownProfile, problems);
  refuseProblems(problems);
  return { version: 1, agents };
}

/** Parses one entry by the rules of the registry. */
export function parseAgentEntry(source: unknown, isKnownProfile: IsKnownProfile): AgentEntry {
  const problems: string[] = [];
  const entry = checkAgentEntry(readJson(source, "the agent"), "", isKnownProfile, problems);
  refuseProblems(problems);
  return entry;
}

const agentId = /^@[a-z0-9_-]{2,32}$/;

/**
 * The error in a handle; undefined: none. A letter that looks like an allowed one is named by its
 * code point, since people cannot tell them apart.
 * @example agentIdProblem("@writer") // undefined
 */
export function agentIdProblem(text: string): string | undefined {
  if (agentId.test(text)) return undefined;
  const rule = 'must be "@" and 2 to 32 of a-z, 0-9, _ and -';
  if (!text.startsWith("@")) return `${quote(text)} ${rule}`;
  const [stranger] = /[^a-z0-9_-]/u.exec(text.slice(1)) ?? [];
  if (stranger === undefined) return `${quote(text)} ${rule}`;
  return `${quote(text)} ${rule}; ${nameCharacter(stranger)} is none of them`;
}

/**
 * The registered agents in a prompt: handle, description and tags, without profiles, records and
 * models. Sorted, so that the same registry gives the same text, which providers can cache. Empty
 * without agents.
 */
export function agentsBlock(entries: readonly AgentEntry[], room?: ListRoom): string {
  return catalogueBlock({
    tag: "available_agents",
    items: sortAgents(entries),
    room,
    lineOf({ agentId, description, tags = [] }) {
      const listed = tags.map(oneLine).join(", ");
      const attribute = listed === "" ? "" : ` tags="${escapeXml(listed)}"`;
      const text = escapeXml(oneLine(description));
      return `<agent id="${escapeXml(agentId)}"${attribute}>${text}</agent>`;
    },
    textOf: ({ agentId, description, tags = [] }) => [agentId, description, ...tags].join(" "),
  });
}

/** Sorts by handle. */
export function sortAgents(entries: readonly AgentEntry[]): readonly AgentEntry[] {
  return entries.toSorted((left, right) => (left.agentId < right.agentId ? -1 : 1));
}
