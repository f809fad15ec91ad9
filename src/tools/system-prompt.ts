import type { ListRoom } from "../agents/documents/catalogue.ts";
import { assemblePrompt, promptForTools } from "../agents/profiles/assemble-prompt.ts";
import type { Profile } from "../agents/profiles/profile.ts";
import type { ProfileRegistry } from "../agents/profiles/profile-registry.ts";
import { spawnProfilesBlock } from "../agents/profiles/spawn-profiles-block.ts";
import { offeredSkills, type SkillRegistry, skillsBlock } from "../agents/skills/skill.ts";
import type { Granted } from "../contracts/narrow.ts";
import { includes } from "../contracts/selection.ts";
import { agentsBlock } from "../control/records/agent-registry.ts";
import { agentsFor, type ProfileLookup } from "../control/records/resolve-profile.ts";
import type { WorkspaceBinding } from "../workspaces/bind-workspace.ts";
import { bytesPerToken } from "./delegation/delegation-call.ts";
import type { Toolbox } from "./toolbox.ts";

interface PromptSources extends Pick<ProfileLookup, "agents"> {
  readonly toolbox: Toolbox;
  readonly profiles: Pick<ProfileRegistry, "get" | "offered">;
  readonly skills: Pick<SkillRegistry, "all">;
  readonly models: { contextWindow?(name: string): number | undefined };
}

interface PromptOf {
  readonly profile: Profile;
  readonly granted: Granted;
  readonly task: string;
  readonly workspace: WorkspaceBinding | null;
  /** The prompt of the request, in place of the profile's. */
  readonly own: string | undefined;
  /** Called for each file whose text becomes part of the prompt. */
  readonly onFile: () => void;
}

/**
 * The prompt's stages, and what only the runtime knows: the agents that can be delegated to and what
 * can be loaded. Each list is there when the contract grants the tool that chooses from it.
 */
export function systemPrompt(from: PromptSources, prompt: PromptOf): string {
  const { granted, onFile, own, profile, workspace } = prompt;
  const isOffered = (tool: string): boolean =>
    includes(granted.mayUse.tools, tool) && from.toolbox.get(tool) !== undefined;
  const lists = [...listsFor(from, prompt), ...ownership(workspace)];
  const whole = (): string =>
    [assemblePrompt({ profile, workspace, systemPrompt: own, isOffered, onFile }), ...lists]
      .filter((part) => part !== "")
      .join("\n\n");
  // Without files and words of its own, a profile's prompt is the same every time.
  if (workspace !== null || own !== undefined) return whole();
  return cachedWhole(profile, [promptForTools(profile.prompt, isOffered), ...lists], whole);
}

/** Writes outside of these paths are refused, so the paths are in the prompt. */
function ownership(workspace: WorkspaceBinding | null): readonly string[] {
  const [own] = (workspace?.allowWrites && workspace.owned) || [];
  if (own === undefined || own.below !== "") return [];
  return [
    `You own these paths of the workspace and may change no others: ${own.patterns.join(", ")}.`,
  ];
}

/** The most of a model's window that each list may have. Longer lists are cut to what fits the task. */
const shares = { profiles: 0.02, agents: 0.01, skills: 0.02 } as const;
const usualWindow = 200_000;
/** Enough for the shipped profiles in a small window. */
const leastBytes = 5000;

/** The entry of the cache for a list that has no room in the prompt. */
const tooLong = "\0";

function listsFor(from: PromptSources, prompt: PromptOf): readonly string[] {
  const { agents, models, profiles, skills, toolbox } = from;
  const { canSpawn, depth, mayDelegate, mayUse, model } = prompt.granted;
  const tools = mayUse.tools as readonly string[];
  const chosen = new Set(tools.map((name) => toolbox.get(name)?.choosesFrom));
  const window =
    prompt.profile.model?.contextWindow ?? models.contextWindow?.(model) ?? usualWindow;
  const lists: string[] = [];
  /** A list that has room is the same for every task, and made once. */
  const add = (
    of: object,
    key: string,
    make: (room?: ListRoom) => string,
    room: ListRoom,
  ): void => {
    const fitting = cached(of, `${room.bytes} ${key}`, () => {
      const whole = make();
      return Buffer.byteLength(whole) <= room.bytes ? whole : tooLong;
    });
    lists.push(fitting === tooLong ? make(room) : fitting);
  };
  const roomOf = (list: keyof typeof shares, finder: string): ListRoom => {
    const bytes = Math.max(leastBytes, Math.floor(window * shares[list]) * bytesPerToken);
    return { bytes, task: prompt.task, finder };
  };
  if (canSpawn && chosen.has("profiles")) {
    const given = (mayDelegate ?? mayUse).tools;
    const mayNest = depth > 1;
    const isGiven = (tool: string): boolean =>
      includes(given, tool) && (mayNest || !toolbox.spawning.has(tool));
    const offered = profiles.offered();
    const finder = tools.includes("list_profiles") ? "list_profiles finds them." : "";
    add(
      offered,
      `${mayNest} ${JSON.stringify(given)}`,
      (room) => spawnProfilesBlock(offered, isGiven, room),
      roomOf("profiles", finder),
    );
  }
  if (canSpawn && chosen.has("agents")) {
    // Which agents can be delegated to depends on their profiles too.
    const listed = agentsFor(from, "delegate");
    const key = JSON.stringify(listed.map(({ agentId }) => agentId));
    const finder = "A call with another handle names the nearest ones.";
    add(agents.all(), key, (room) => agentsBlock(listed, room), roomOf("agents", finder));
  }
  if (chosen.has("skills")) {
    const all = skills.all();
    const offered = offeredSkills(all, mayUse.skills);
    const room = roomOf("skills", "load_skill with query finds them.");
    add(all, JSON.stringify(mayUse.skills), (given) => skillsBlock(offered, given), room);
  }
  return lists.filter((list) => list !== "");
}

interface CachedPrompt {
  text: string | undefined;
  readonly next: Map<string, CachedPrompt>;
}

const prompts = new WeakMap<object, CachedPrompt>();

/** A lookup for each part: to join the parts for one key would copy the whole prompt each time. */
function cachedWhole(of: object, parts: readonly string[], make: () => string): string {
  const first = prompts.get(of) ?? { text: undefined, next: new Map() };
  prompts.set(of, first);
  let found = first;
  for (const part of parts) {
    let next = found.next.get(part);
    if (next === undefined) {
      if (found.next.size >= mostTexts) found.next.clear();
      next = { text: undefined, next: new Map() };
      found.next.set(part, next);
    }
    found = next;
  }
  found.text ??= make();
  return found.text;
}

const texts = new WeakMap<object, Map<string, string>>();
const mostTexts = 100;

/** Caches a text by object and key: the lists are in the prompt of every agent that delegates. */
function cached(of: object, key: string, make: () => string): string {
  const known = texts.get(of) ?? new Map<string, string>();
  let text = known.get(key);
  if (text === undefined) {
    text = make();
    if (known.size >= mostTexts) known.clear();
    texts.set(of, known.set(key, text));
  }
  return text;
}
