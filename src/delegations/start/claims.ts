import type { Authority } from "../../contracts/authority.ts";
import { externalProvider, mayDelegate } from "../../contracts/contract.ts";
import { isSameServer } from "../../contracts/mcp-server.ts";
import type { Ceiling, NarrowingRules, ProfileClaims } from "../../contracts/narrow.ts";
import type { Selection } from "../../contracts/selection.ts";
import type { MayDelegate, Profile } from "../../profiles/profile.ts";
import { skillName } from "../../skills/skill-name.ts";
import type { Agent } from "../agent.ts";
import type { LiveRun } from "../live-run.ts";

/** What a profile asks for, in the words of contracts. */
export function claimsOf(run: LiveRun, profile: Profile, models: readonly string[]): ProfileClaims {
  const { limits, model, workspace } = profile;
  const root = run.workspace;
  const roots = workspace?.writeRoots;
  const [first = "", ...fallbacks] = models;
  return {
    name: profile.name,
    tools: withSkillTool(profile),
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

/** Who names skills means to load them, so the tool that does it comes with them. */
function withSkillTool({ skills, tools }: Profile): Selection | undefined {
  const hasSkills = skills !== undefined && skills.length > 0;
  if (!hasSkills || tools === undefined || tools === "*") return tools;
  return tools.includes("load_skill") ? tools : [...tools, "load_skill"];
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

/** What the caller holds for handing on. */
export function ceilingOf(run: LiveRun, caller: Agent | null): Ceiling {
  if (caller === null) {
    const { grant } = run;
    // Whoever starts a run stands one level above its root.
    const depth = grant.depth + 1;
    return {
      authority: grant.authority,
      depth,
      tokens: run.account.unspent.tokens,
      // What the root may cost is for the whole run: a watcher has no caller, and shares that cap.
      cost: least(grant.cost, run.root?.contract.budget.cost ?? null),
      timeMs: grant.timeMs,
    };
  }
  return {
    authority: mayDelegate(caller.contract),
    depth: caller.contract.permissions.max_delegation_depth,
    tokens: caller.account.unspent.tokens,
    cost: caller.contract.budget.cost,
    timeMs: caller.time.left(),
  };
}

/** Of two caps; null: no cap. */
function least(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(one, other);
}

/** The root agent's limits are those of the whole run: what it may use, all below it share. */
export function rootRules({ parts: { limits }, account, grant }: LiveRun): NarrowingRules {
  return {
    ...limits,
    defaultTokens: account.cap,
    maxTokens: account.cap,
    defaultTimeMs: grant.timeMs,
    // The model of another program's agent is not ours to allow.
    allowsModel: (name) => name.startsWith(`${externalProvider}/`) || limits.allowsModel(name),
  };
}
