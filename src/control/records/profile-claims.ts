import type { MayDelegate, Profile } from "../../agents/profiles/profile.ts";
import { skillName } from "../../agents/skills/skill.ts";
import type { Authority } from "../../contracts/authority.ts";
import { isSameServer, type McpServer } from "../../contracts/mcp-server.ts";
import type { EntryClaims, ProfileClaims } from "../../contracts/narrow.ts";
import type { Selection } from "../../contracts/selection.ts";
import type { AgentEntry } from "./agent-registry.ts";

/** The values outside of a profile that its claims depend on. */
interface ClaimSources {
  readonly workspace: string | null;
  /** The models of its policy, in the order in which they are tried. */
  readonly models: readonly string[];
  /** The tools that load skills. */
  readonly loadingTools: readonly string[];
  /** The MCP servers that are configured. */
  declared(name: string): McpServer | undefined;
}

/** The claims of a profile, in the terms of contracts. */
export function claimsOf(profile: Profile, from: ClaimSources): ProfileClaims {
  const { limits, model, servers } = profile;
  const [first = "", ...fallbacks] = from.models;
  return {
    name: profile.name,
    tools: withSkillTools(profile, from.loadingTools),
    rules: profile.toolRules,
    addedRules: profile.addedRules,
    skills: skillNames(profile.skills),
    mcp_servers: profile.mcpServers,
    // A declared server that equals the configured one of its name is no server of its own.
    ownServers:
      servers &&
      Object.keys(servers).filter((name) => !isSameServer(servers[name], from.declared(name))),
    scopes: profile.scopes,
    network: profile.network,
    ways_out: profile.waysOut,
    write_roots: writeRoots(profile, from.workspace),
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

function writeRoots(
  { workspace: policy }: Profile,
  workspace: string | null,
): readonly string[] | undefined {
  if (policy?.allowWrites === false) return [];
  return workspace === null ? undefined : policy?.writeRoots?.map((path) => `${workspace}/${path}`);
}

/** Adds the tool that loads skills to a profile with skills. */
function withSkillTools(
  { skills, tools }: Profile,
  loading: readonly string[],
): Selection | undefined {
  const hasSkills = skills !== undefined && skills.length > 0;
  if (!hasSkills || tools === undefined || tools === "*") return tools;
  return [...new Set([...tools, ...loading])];
}

function skillNames(skills: Selection | undefined): Selection | undefined {
  return skills === undefined || skills === "*" ? skills : skills.map(skillName);
}

function handOver({ mcpServers, skills, waysOut, ...same }: MayDelegate): Partial<Authority> {
  return {
    ...same,
    ...(skills !== undefined && { skills: skillNames(skills) ?? [] }),
    ...(mcpServers !== undefined && { mcp_servers: mcpServers }),
    ...(waysOut !== undefined && { ways_out: waysOut }),
  };
}

/**
 * The claims of a registered agent. Ids may have a prefix for their kind: `skill:writing`,
 * `mcp:docs`.
 */
export function claimsOfEntry(entry: AgentEntry): EntryClaims {
  const server = (id: string): string => id.replace(/^mcp:/, "");
  const { allowedForwardSkills, allowedMcpServers, defaultForwardSkills, defaultMcpServers } =
    entry;
  return {
    ...(defaultForwardSkills && { defaultForwardSkills: defaultForwardSkills.map(skillName) }),
    ...(allowedForwardSkills && { allowedForwardSkills: allowedForwardSkills.map(skillName) }),
    ...(defaultMcpServers && { defaultMcpServers: defaultMcpServers.map(server) }),
    ...(allowedMcpServers && { allowedMcpServers: allowedMcpServers.map(server) }),
  };
}
