import type { Granted } from "../../contracts/narrow.ts";
import { includes, type Selection } from "../../contracts/selection.ts";
import { agentsBlock } from "../../control/records/agents-block.ts";
import { assemblePrompt } from "../../profiles/assemble-prompt.ts";
import type { Profile } from "../../profiles/profile.ts";
import { spawnProfilesBlock } from "../../profiles/spawn-profiles-block.ts";
import { offeredSkills } from "../../skills/grants-skill.ts";
import { skillsBlock } from "../../skills/skills-block.ts";
import type { WorkspaceBinding } from "../../workspaces/workspace-binding.ts";
import type { EngineParts } from "../engine-parts.ts";
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
  const stages = (): string =>
    assemblePrompt({ profile, workspace, systemPrompt: request.systemPrompt, onFile });
  const lists = listsFor(run.parts, granted);
  // Without files and words of its own, a profile's prompt is the same every time.
  if (workspace !== null || request.systemPrompt !== undefined) return join([stages(), ...lists]);
  const known = prompts.get(profile);
  if (known !== undefined && isSame(known.lists, lists)) return known.prompt;
  const prompt = join([stages(), ...lists]);
  prompts.set(profile, { lists, prompt });
  return prompt;
}

const prompts = new WeakMap<Profile, { lists: readonly string[]; prompt: string }>();

function listsFor(parts: EngineParts, granted: Granted): readonly string[] {
  const { tools, skills } = granted.mayUse;
  const lists: string[] = [];
  const mayCall = (tool: string): boolean => includes(tools, tool);
  if (granted.canSpawn) {
    if (mayCall("spawn") || mayCall("delegate_task")) lists.push(profilesOf(parts));
    if (mayCall("delegate_to_agent")) lists.push(agentsOf(parts));
  }
  if (mayCall("load_skill")) {
    lists.push(skillsOf(parts, skills));
  }
  return lists.filter((list) => list !== "");
}

/** The same text as long as the same profiles are offered: it is part of every delegator's prompt. */
function profilesOf({ profiles }: EngineParts): string {
  const offered = profiles.offered();
  let block = blocks.get(offered);
  if (block === undefined) {
    block = spawnProfilesBlock(offered);
    blocks.set(offered, block);
  }
  return block;
}

function agentsOf({ agents }: EngineParts): string {
  const entries = agents.all();
  let block = blocks.get(entries);
  if (block === undefined) {
    block = agentsBlock(entries);
    blocks.set(entries, block);
  }
  return block;
}

function skillsOf({ skills }: EngineParts, granted: Selection): string {
  const all = skills.all();
  if (all.length === 0) return "";
  const key = JSON.stringify(granted);
  const known = skillBlocks.get(all) ?? new Map<string, string>();
  let block = known.get(key);
  if (block === undefined) {
    block = skillsBlock(offeredSkills(all, granted));
    skillBlocks.set(all, known.set(key, block));
  }
  return block;
}

const blocks = new WeakMap<object, string>();
const skillBlocks = new WeakMap<object, Map<string, string>>();

function join(parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join("\n\n");
}

function isSame(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((each, index) => each === right[index]);
}
