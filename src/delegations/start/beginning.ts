import { addressesIn } from "../../contracts/addresses-in.ts";
import type { Contract } from "../../contracts/contract.ts";
import type { Carried } from "../../contracts/exposure.ts";
import type { Granted } from "../../contracts/narrow.ts";
import { includes } from "../../contracts/selection.ts";
import { trifectaOf } from "../../contracts/trifecta.ts";
import { agentsBlock } from "../../control/records/agents-block.ts";
import { agentsFor } from "../../control/records/resolve-profile.ts";
import { Evidence } from "../../events/evidence.ts";
import { assemblePrompt, promptForTools } from "../../profiles/assemble-prompt.ts";
import type { Profile } from "../../profiles/profile.ts";
import { spawnProfilesBlock } from "../../profiles/spawn-profiles-block.ts";
import { offeredSkills } from "../../skills/grants-skill.ts";
import { skillsBlock } from "../../skills/skills-block.ts";
import { exposuresIn } from "../../tools/exposure-of.ts";
import { isKnownAddress } from "../../tools/known-address.ts";
import type { WorkspaceBinding } from "../../workspaces/bind-workspace.ts";
import { untrustedIn } from "../conversation.ts";
import { findTool } from "../delegation-process.ts";
import type { EngineParts } from "../engine-parts.ts";
import { type LiveDelegation, untrustedOf } from "../live-delegation.ts";
import type { Start } from "./start-delegation.ts";

/** What a new delegation begins with: its prompt, and what its own tools did not bring. */
export interface Beginning {
  readonly system: string;
  readonly carries: readonly Carried[];
  /** Addresses of its task that it may fetch as they are. */
  readonly addresses: readonly string[];
}

export function beginningOf(
  start: Start,
  profile: Profile,
  granted: Granted,
  workspace: WorkspaceBinding | null,
): Beginning {
  let hasFiles = false;
  const system =
    start.system ??
    systemPrompt(start, profile, granted, workspace, () => {
      hasFiles = true;
    });
  return { system, carries: carriedBy(start, hasFiles), addresses: addressesFor(start) };
}

/**
 * The prompt's stages, and what only the runtime knows: the agents that can be delegated to and what
 * can be loaded. Each list is there when the contract grants the tool that it is for.
 */
function systemPrompt(
  { request: { systemPrompt: own }, run: { parts } }: Start,
  profile: Profile,
  granted: Granted,
  workspace: WorkspaceBinding | null,
  onFile: () => void,
): string {
  const isOffered = (tool: string): boolean =>
    includes(granted.mayUse.tools, tool) && parts.toolbox.get(tool) !== undefined;
  const lists = [...listsFor(parts, granted), ...ownership(workspace)];
  const whole = (): string =>
    [assemblePrompt({ profile, workspace, systemPrompt: own, isOffered, onFile }), ...lists]
      .filter((part) => part !== "")
      .join("\n\n");
  // Without files and words of its own, a profile's prompt is the same every time.
  if (workspace !== null || own !== undefined) return whole();
  return cached(profile, [promptForTools(profile.prompt, isOffered), ...lists].join("\0"), whole);
}

/** Writes outside of these paths are refused, so the paths are in the prompt. */
function ownership(workspace: WorkspaceBinding | null): readonly string[] {
  const [own] = (workspace?.allowWrites && workspace.owned) || [];
  if (own === undefined || own.below !== "") return [];
  return [
    `You own these paths of the workspace and may change no others: ${own.patterns.join(", ")}.`,
  ];
}

function listsFor(
  parts: EngineParts,
  { canSpawn, depth, mayDelegate, mayUse }: Granted,
): readonly string[] {
  const { agents, profiles, skills, toolbox } = parts;
  const tools = mayUse.tools as readonly string[];
  const chosen = new Set(tools.map((name) => toolbox.get(name)?.choosesFrom));
  const lists: string[] = [];
  if (canSpawn && chosen.has("profiles")) {
    const given = (mayDelegate ?? mayUse).tools;
    const mayNest = depth > 1;
    const isGiven = (tool: string): boolean =>
      includes(given, tool) && (mayNest || !toolbox.spawning.has(tool));
    const offered = profiles.offered();
    const key = `${mayNest} ${JSON.stringify(given)}`;
    lists.push(cached(offered, key, () => spawnProfilesBlock(offered, isGiven)));
  }
  if (canSpawn && chosen.has("agents")) {
    // Which agents can be delegated to depends on their profiles too.
    const listed = agentsFor(parts, "delegate");
    const key = JSON.stringify(listed.map(({ agentId }) => agentId));
    lists.push(cached(agents.all(), key, () => agentsBlock(listed)));
  }
  if (chosen.has("skills")) {
    const all = skills.all();
    const key = JSON.stringify(mayUse.skills);
    lists.push(cached(all, key, () => skillsBlock(offeredSkills(all, mayUse.skills))));
  }
  return lists.filter((list) => list !== "");
}

const texts = new WeakMap<object, Map<string, string>>();
const mostTexts = 100;

/** The text that was made of the same object for the same key: it is in every delegator's prompt. */
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

function carriedBy(start: Start, hasPromptFiles: boolean): readonly Carried[] {
  const { caller, carries = [], isTold, run, way } = start;
  // A watcher is shown what others read and say.
  if (way === "watch") return both;
  if (caller !== null && (isTold === true || untrustedOf(caller) !== null)) {
    return carriedFrom(run.parts, caller.contract, caller.said.evidence);
  }
  return carries.length === 0 && hasPromptFiles ? untrusted : carries;
}

/** What a message of a delegation carries: the same as a task that it delegates. */
export function carriedByMessage(live: LiveDelegation): readonly Carried[] {
  if (untrustedOf(live) === null) return [];
  return carriedFrom(live.run.parts, live.contract, live.said.evidence);
}

/** The same of a stored delegation, for the one that continues its conversation. */
export async function carriedByStored(
  parts: Pick<EngineParts, "store" | "toolbox">,
  id: string,
): Promise<readonly Carried[]> {
  const contract = await parts.store.readContract(id);
  const evidence = new Evidence();
  for await (const event of parts.store.readEvents({ delegationId: id })) evidence.see(event);
  return untrustedIn(contract, evidence) === null ? [] : carriedFrom(parts, contract, evidence);
}

/** Untrusted input may have told an agent to pass on everything that it could read. */
function carriedFrom(
  { toolbox }: Pick<EngineParts, "toolbox">,
  contract: Contract,
  { holdsPrivate }: Pick<Evidence, "holdsPrivate">,
): readonly Carried[] {
  const exposures = exposuresIn((name) => toolbox.get(name));
  return holdsPrivate || trifectaOf(contract, exposures).private ? both : untrusted;
}

const untrusted: readonly Carried[] = Object.freeze(["untrusted"]);
const both: readonly Carried[] = Object.freeze(["untrusted", "private"]);

function addressesFor({ addresses, caller, isTold, request }: Start): readonly string[] {
  if (addresses !== undefined) return addresses;
  const text = `${request.task}\n${request.context ?? ""}`;
  const found = [...addressesIn(text)].slice(0, mostAddresses);
  if (caller === null || (untrustedOf(caller) === null && isTold !== true)) return found;
  const { contract, said } = caller;
  const find = (name: string) => findTool(caller, name);
  const conversation = { contract, find, messages: said.transcript.messages };
  return found.filter((href) => isKnownAddress(new URL(href), conversation));
}

const mostAddresses = 200;

/** What a child is told besides its task: what its profile always says, and what this caller says. */
export function contextFor(
  opening: string | undefined,
  context: string | undefined,
): string | null {
  const said = context?.trim() === "" ? undefined : context;
  if (opening === undefined) return said ?? null;
  return said === undefined ? opening : `${opening}\n\n${said}`;
}

/** The child's first message: its context and its task, and nothing of its caller's conversation. */
export function openingOf({ step }: Contract): string {
  const criteria = step.success_criteria.map((criterion) => `- ${criterion}`).join("\n");
  return [
    step.context === null ? "" : `Context:\n${step.context}`,
    `Task:\n${step.description}`,
    criteria === "" ? "" : `Success criteria:\n${criteria}`,
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}
