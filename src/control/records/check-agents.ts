import { agentIdProblem } from "./agent-id.ts";
import type { AgentEntry } from "./agent-registry.ts";
import { checkKeys, isRecord } from "./read-json.ts";
import { countCharacters, findHiddenCharacter, quote } from "./shown-text.ts";

/** Whether a profile of this id exists; what does not exist cannot be registered. */
export interface IsKnownProfile {
  (profileId: string): boolean;
  /** The reason why a defined agent cannot be used. */
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

/** The entries of a registry. What is wrong with them goes to `problems`, each with its path. */
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

/** `path` is where the entry stands; empty when it stands by itself. */
export function checkAgentEntry(
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

/** Names are compared whole, so a pattern or a space would silently match nothing. */
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
