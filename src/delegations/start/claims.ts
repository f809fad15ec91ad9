import type { Authority } from "../../contracts/authority.ts";
import { externalProvider, mayDelegate } from "../../contracts/contract.ts";
import { isSameServer } from "../../contracts/mcp-server.ts";
import type { Ceiling, NarrowingRules, ProfileClaims } from "../../contracts/narrow.ts";
import type { Selection } from "../../contracts/selection.ts";
import type { MayDelegate, Profile } from "../../profiles/profile.ts";
import { skillName } from "../../skills/skill-name.ts";
import type { Toolbox } from "../../tools/toolbox.ts";
import type { LiveDelegation } from "../live-delegation.ts";
import type { LiveRun } from "../live-run.ts";

/** What a profile asks for, in the words of contracts. */
export function claimsOf(run: LiveRun, profile: Profile, models: readonly string[]): ProfileClaims {
  const { limits, model, workspace } = profile;
  const root = run.settings.workspace;
  const roots = workspace?.writeRoots;
  const [first = "", ...fallbacks] = models;
  return {
    name: profile.name,
    tools: withSkillTools(profile, run.parts.toolbox),
    rules: profile.toolRules,
    addedRules: profile.addedRules,
    skills: skillNames(profile.skills),
    mcp_servers: profile.mcpServers,
    ownServers: ownServers(run, profile),
    scopes: profile.scopes,
    network: profile.network,
    ways_out: profile.waysOut,
    write_roots:
      workspace?.allowWrites === false
        ? []
        : roots && root !== null
          ? roots.map((path) => `${root}/${path}`)
          : undefined,
    hasReviewer: profile.exit?.review !== undefined,
    model: first,
    fallbacks,
    modelAllow: model?.allow,
    mayDelegate: profile.mayDelegate && handOver(profile.mayDelegate),
    tokens: limits?.tokens,
    cost: limits?.cost,
    timeMs: limits?.timeoutMs,
    depth: limits?.depth,
  };
}

/** One that says the same as a configured one is that one. */
function ownServers({ parts }: LiveRun, { servers }: Profile): readonly string[] | undefined {
  if (servers === undefined) return undefined;
  return Object.keys(servers).filter(
    (name) => !isSameServer(servers[name], parts.servers.declared(name)),
  );
}

/** A profile that names skills means to load them, so the tool that does it comes with them. */
function withSkillTools({ skills, tools }: Profile, toolbox: Toolbox): Selection | undefined {
  const hasSkills = skills !== undefined && skills.length > 0;
  if (!hasSkills || tools === undefined || tools === "*") return tools;
  const loading = toolbox.names.filter((name) => toolbox.get(name)?.choosesFrom === "skills");
  return [...new Set([...tools, ...loading])];
}

function skillNames(skills: Selection | undefined): Selection | undefined {
  return skills === undefined || skills === "*" ? skills : skills.map(skillName);
}

function handOver(said: MayDelegate): Partial<Authority> {
  const { mcpServers, skills, waysOut, ...same } = said;
  return {
    ...same,
    ...(skills !== undefined && { skills: skillNames(skills) ?? [] }),
    ...(mcpServers !== undefined && { mcp_servers: mcpServers }),
    ...(waysOut !== undefined && { ways_out: waysOut }),
  };
}

/**
 * What the caller holds for handing on. `isPlanned`: a child of a plan has what its caller has by
 * contract, and not what is left at that moment, so that its contract does not depend on how long
 * others took. Every request is held to what is left of its callers' budgets all the same, and no
 * child outlives its caller.
 */
export function ceilingOf(run: LiveRun, caller: LiveDelegation | null, isPlanned = false): Ceiling {
  if (caller === null) {
    const { grant } = run.settings;
    // Whoever starts a run stands one level above its root.
    const depth = grant.depth + 1;
    return {
      authority: grant.authority,
      depth,
      tokens: run.budget.unspent.tokens,
      // What the root may cost is for the whole run: a watcher has no caller, and shares that cap.
      cost: least(grant.cost, run.delegations.root?.contract.budget.cost ?? null),
      timeMs: grant.timeMs,
    };
  }
  const { budget, deadlines, permissions } = caller.contract;
  const left = caller.budget.forChildren;
  const timeMs = caller.process.time.left();
  const tokens = left.cost > 0 ? left.tokens : 0;
  const kept = caller.budget.unspent.tokens - left.tokens;
  return {
    authority: mayDelegate(caller.contract),
    depth: permissions.max_delegation_depth,
    tokens: isPlanned && tokens > 0 ? budget.tokens : tokens,
    ...(kept > 0 && { kept }),
    cost: budget.cost,
    timeMs: isPlanned && timeMs > 0 ? deadlines.total : timeMs,
  };
}

/** Of two caps; null: no cap. */
function least(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(one, other);
}

/** The root agent's limits are those of the whole run: what it may use, all below it share. */
export function rootRules({ budget, parts: { limits }, settings }: LiveRun): NarrowingRules {
  return {
    ...limits,
    defaultTokens: budget.tokens,
    maxTokens: budget.tokens,
    defaultTimeMs: settings.grant.timeMs,
    // The model of another program's agent is not ours to allow.
    allowsModel: (name) => name.startsWith(`${externalProvider}/`) || limits.allowsModel(name),
  };
}
