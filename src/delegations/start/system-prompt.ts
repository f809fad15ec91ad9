import type { Granted } from "../../contracts/narrow.ts";
import { includes, type Selection } from "../../contracts/selection.ts";
import { agentsBlock } from "../../control/records/agents-block.ts";
import { assemblePrompt, promptForTools } from "../../profiles/assemble-prompt.ts";
import type { Profile } from "../../profiles/profile.ts";
import { spawnProfilesBlock } from "../../profiles/spawn-profiles-block.ts";
import { offeredSkills } from "../../skills/grants-skill.ts";
import { skillsBlock } from "../../skills/skills-block.ts";
import type { WorkspaceBinding } from "../../workspaces/bind-workspace.ts";
import type { EngineParts } from "../engine-parts.ts";
import { agentsFor } from "./resolve-profile.ts";
import type { Start } from "./start-delegation.ts";

/**
 * The prompt's stages, and what only the runtime knows: whom the agent can delegate to and what it
 * can load. Each list is there when the contract grants the tool that it is for.
 */
export function systemPrompt(
  { run, request }: Start,
  profile: Profile,
  granted: Granted,
  workspace: WorkspaceBinding | null,
  onFile?: () => void,
): string {
  const { toolbox } = run.parts;
  const isOffered = (tool: string): boolean =>
    includes(granted.mayUse.tools, tool) && toolbox.get(tool) !== undefined;
  const { systemPrompt } = request;
  const stages = (): string =>
    assemblePrompt({ profile, workspace, systemPrompt, isOffered, onFile });
  const lists = [...listsFor(run.parts, granted), ...ownership(workspace)];
  // Without files and words of its own, a profile's prompt is the same every time.
  if (workspace !== null || systemPrompt !== undefined) return join([stages(), ...lists]);
  const parts = [promptForTools(profile.prompt, isOffered), ...lists];
  const known = prompts.get(profile);
  if (known !== undefined && isSame(known.parts, parts)) return known.prompt;
  const prompt = join([stages(), ...lists]);
  prompts.set(profile, { parts, prompt });
  return prompt;
}

/** Told before the first write, which is refused outside of it. */
function ownership(workspace: WorkspaceBinding | null): readonly string[] {
  if (workspace?.allowWrites !== true) return [];
  const [own] = workspace.owned ?? [];
  return own === undefined || own.below !== ""
    ? []
    : [
        `You own these paths of the workspace and may change no others: ${own.patterns.join(", ")}.`,
      ];
}

const prompts = new WeakMap<Profile, { parts: readonly string[]; prompt: string }>();

function listsFor(parts: EngineParts, granted: Granted): readonly string[] {
  const { tools, skills } = granted.mayUse;
  const lists: string[] = [];
  const chosen = new Set(
    (tools as readonly string[]).map((name) => parts.toolbox.get(name)?.choosesFrom),
  );
  if (granted.canSpawn) {
    if (chosen.has("profiles")) lists.push(profilesOf(parts, granted));
    if (chosen.has("agents")) lists.push(agentsOf(parts));
  }
  if (chosen.has("skills")) lists.push(skillsOf(parts, skills));
  return lists.filter((list) => list !== "");
}

/** The same text as long as the same profiles are offered: it is part of every delegator's prompt. */
function profilesOf({ profiles, toolbox }: EngineParts, granted: Granted): string {
  const { tools } = granted.mayDelegate ?? granted.mayUse;
  const mayNest = granted.depth > 1;
  const offered = profiles.offered();
  return cached(offered, `${mayNest} ${JSON.stringify(tools)}`, () =>
    spawnProfilesBlock(
      offered,
      (tool) => includes(tools, tool) && (mayNest || !toolbox.spawning.has(tool)),
    ),
  );
}

/** Which agents can be delegated to depends on their profiles too. */
function agentsOf(parts: EngineParts): string {
  const listed = agentsFor(parts, "delegate");
  const key = JSON.stringify(listed.map(({ agentId }) => agentId));
  return cached(parts.agents.all(), key, () => agentsBlock(listed));
}

function skillsOf({ skills }: EngineParts, granted: Selection): string {
  const all = skills.all();
  if (all.length === 0) return "";
  return cached(all, JSON.stringify(granted), () => skillsBlock(offeredSkills(all, granted)));
}

const blocks = new WeakMap<object, Map<string, string>>();

/** The text that was made of the same list for the same key, or a new one. */
function cached(of: object, key: string, make: () => string): string {
  const known = blocks.get(of) ?? new Map<string, string>();
  let block = known.get(key);
  if (block === undefined) {
    block = make();
    blocks.set(of, known.set(key, block));
  }
  return block;
}

function join(parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join("\n\n");
}

function isSame(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((each, index) => each === right[index]);
}
