import { type Authority, intersectAuthority } from "./authority.ts";
import {
  narrowCost,
  narrowDepth,
  narrowModels,
  narrowTime,
  narrowTokens,
  requirePrices,
} from "./narrow-limits.ts";
import { narrowServers, narrowTools } from "./narrow-tools.ts";
import type { ReceiptLine } from "./receipt.ts";
import { difference, everything, includes, intersect, type Selection } from "./selection.ts";
import type { RuleSet } from "./tool-rule.ts";

/**
 * Computes the grant of a child: never more than its caller may delegate, whatever is requested. Pure:
 * it returns a decision with its reasons. Imports authority, selections and rules only.
 */

/** The most that the caller can delegate. */
export interface Ceiling {
  readonly authority: Authority;
  /** Levels of delegation below the caller. */
  readonly depth: number;
  /** The smallest number of tokens that the caller or an ancestor has left. */
  readonly tokens: number;
  /** Tokens that the caller keeps back to read results and answer; absent: none. */
  readonly kept?: number;
  readonly cost: number | null;
  readonly timeMs: number;
}

/** The claims of a profile; an absent field inherits from the ceiling. */
export interface ProfileClaims {
  readonly name: string;
  readonly tools?: Selection | undefined;
  readonly skills?: Selection | undefined;
  readonly mcp_servers?: Selection | undefined;
  readonly scopes?: Selection | undefined;
  readonly network?: Selection | undefined;
  readonly ways_out?: Selection | undefined;
  readonly write_roots?: readonly string[] | undefined;
  /** A reviewer, which is a child of its own, checks its output. */
  readonly hasReviewer?: boolean | undefined;
  readonly rules?: RuleSet | undefined;
  /** Further lists of rules, each evaluated by itself. */
  readonly addedRules?: readonly RuleSet[] | undefined;
  /** Servers that the profile declares itself; they count as requested. */
  readonly ownServers?: readonly string[] | undefined;
  readonly model: string;
  /** Tried in order when the model is unavailable. */
  readonly fallbacks?: readonly string[] | undefined;
  readonly modelAllow?: readonly string[] | undefined;
  readonly mayDelegate?: Partial<Authority> | undefined;
  readonly tokens?: number | undefined;
  readonly cost?: number | undefined;
  readonly timeMs?: number | undefined;
  readonly depth?: number | undefined;
}

/** The claims of a registry entry. An absent `allowed…` field adds no restriction. */
export interface EntryClaims {
  readonly defaultForwardSkills?: readonly string[];
  readonly allowedForwardSkills?: readonly string[];
  readonly defaultMcpServers?: readonly string[];
  readonly allowedMcpServers?: readonly string[];
}

/** The claims of the request; an absent field requests nothing in particular. */
export interface RequestClaims {
  readonly tools?: readonly string[] | undefined;
  readonly forwardSkills?: readonly string[] | undefined;
  readonly modelOverride?: string | undefined;
  readonly tokens?: number | undefined;
  readonly cost?: number | undefined;
  readonly timeMs?: number | undefined;
  readonly depth?: number | undefined;
}

export interface NarrowingRules {
  readonly maxDepth: number;
  readonly defaultTokens: number;
  readonly maxTokens: number;
  readonly defaultTimeMs: number;
  /** Whether the operator allows a model. */
  readonly allowsModel: (name: string) => boolean;
  /** Tools that create children. Withheld where no level is left, and from children of `spawn`. */
  readonly spawningTools: ReadonlySet<string>;
  /** The configured MCP servers: `*` stands for these. */
  readonly servers: readonly string[];
  /** The pattern for all tools of a server: `mcp__server__*`. */
  readonly serverPattern: (server: string) => string;
  /** "override": the request's tools replace the profile's, under the same ceiling. */
  readonly explicitTools: "select" | "override";
}

export interface Narrowing {
  readonly ceiling: Ceiling;
  readonly profile: ProfileClaims;
  readonly entry?: EntryClaims | undefined;
  readonly request: RequestClaims;
  readonly rules: NarrowingRules;
  /** Whether a child that is created in this way may delegate. */
  readonly mayNest: boolean;
  /** Whether a profile without a list of tools inherits tools that create children. */
  readonly inheritsSpawning: boolean;
  /** Whether the price of a model is known, zero included. Without it a cost cap cannot be enforced. */
  readonly hasPrice: (model: string) => boolean;
}

export interface Granted {
  readonly allowed: true;
  readonly mayUse: Authority;
  /** Null: the same as `mayUse`. */
  readonly mayDelegate: Authority | null;
  readonly model: string;
  readonly fallbacks: readonly string[];
  readonly tokens: number;
  readonly cost: number | null;
  readonly timeMs: number;
  readonly depth: number;
  readonly canSpawn: boolean;
  /** Tools that are withheld only because no level of delegation is left. */
  readonly beyondDepth: readonly string[];
  readonly receipt: readonly ReceiptLine[];
}

export interface Refused {
  readonly allowed: false;
  readonly rule: string;
  readonly reason: string;
}

/**
 * Decides a request for a child.
 * @example
 * const grant = narrow(narrowing);
 * if (!grant.allowed) throw new Error(grant.reason);
 */
export function narrow(narrowing: Narrowing): Granted | Refused {
  const { ceiling, profile, rules } = narrowing;
  const receipt: ReceiptLine[] = [];

  const depth = narrowDepth(narrowing, receipt);
  const withinCeiling = intersectAuthority(claimedAuthority(narrowing), ceiling.authority);
  const servers = narrowServers(narrowing, receipt);
  if ("allowed" in servers) return servers;

  const held = narrowTools({ ...narrowing, depth, servers, within: withinCeiling }, receipt);
  if ("allowed" in held) return held;
  const { beyondDepth, tools } = held;
  const skills = narrowSkills(narrowing, withinCeiling.skills, receipt);
  if (typeof skills === "object" && "allowed" in skills) return skills;

  const permitted = narrowModels(narrowing, receipt);
  if ("allowed" in permitted) return permitted;

  const tokens = narrowTokens(narrowing, receipt);
  if (typeof tokens !== "number") return tokens;
  const cost = narrowCost(narrowing, receipt);
  if (typeof cost === "object" && cost !== null) return cost;
  const models = requirePrices(narrowing, permitted, cost, receipt);
  if ("allowed" in models) return models;
  const timeMs = narrowTime(narrowing, receipt);
  if (typeof timeMs !== "number") return timeMs;

  const mayUse: Authority = {
    ...withinCeiling,
    tools,
    skills,
    mcp_servers: servers,
    models: models.allow,
  };
  const canSpawn =
    depth > 0 &&
    (profile.hasReviewer === true || tools.some((tool) => rules.spawningTools.has(tool)));
  return {
    allowed: true,
    mayUse,
    mayDelegate: canSpawn ? delegable(narrowing, mayUse) : null,
    model: models.model,
    fallbacks: models.fallbacks,
    tokens,
    cost,
    timeMs,
    depth: canSpawn ? depth : 0,
    canSpawn,
    beyondDepth,
    receipt,
  };
}

function claimedAuthority({ ceiling, profile }: Narrowing): Authority {
  const inherited = ceiling.authority;
  const rules = [...(profile.rules?.length ? [profile.rules] : []), ...(profile.addedRules ?? [])];
  return {
    tools: profile.tools ?? inherited.tools,
    skills: profile.skills ?? inherited.skills,
    mcp_servers: profile.mcp_servers ?? inherited.mcp_servers,
    models: everything,
    scopes: profile.scopes ?? inherited.scopes,
    write_roots: profile.write_roots ?? inherited.write_roots,
    network: profile.network ?? inherited.network,
    ways_out: profile.ways_out ?? inherited.ways_out ?? [],
    ...(rules.length > 0 && { rules }),
  };
}

/**
 * The authority that the child may delegate: what it may use, unless its profile declares another, and
 * always under the ceiling. Models and inherited servers are the exception: the child may delegate all
 * that its caller could, because its own choice is about itself. Its rules also bind its descendants,
 * unless its profile declares their tools separately.
 */
function delegable({ ceiling, entry, profile }: Narrowing, mayUse: Authority): Authority {
  const said = profile.mayDelegate ?? {};
  const authority = withinEntry(ceiling.authority, entry);
  const servers =
    profile.mcp_servers === undefined && profile.tools === undefined
      ? { mcp_servers: authority.mcp_servers, tools: withServerTools(mayUse.tools, authority) }
      : {};
  const own = { ...mayUse, models: authority.models, ...servers, ...said };
  if (said.tools === undefined) return intersectAuthority(own, authority);
  const { rules: _rules, ...unbound } = own;
  return intersectAuthority(unbound, authority);
}

/** What a registry entry does not allow an agent to use, the agent cannot delegate either. */
function withinEntry(authority: Authority, entry: EntryClaims | undefined): Authority {
  const { allowedForwardSkills: skills, allowedMcpServers: servers } = entry ?? {};
  return {
    ...authority,
    ...(skills && { skills: intersect(authority.skills, skills) }),
    ...(servers && { mcp_servers: intersect(authority.mcp_servers, servers) }),
  };
}

/** With the ceiling's servers come the ceiling's patterns for their tools. */
function withServerTools(tools: Selection, ceiling: Authority): Selection {
  if (tools === "*" || ceiling.tools === "*") return tools;
  return [...new Set([...tools, ...ceiling.tools.filter((tool) => tool.startsWith("mcp__"))])];
}

function narrowSkills(
  { entry, profile, request }: Narrowing,
  withinCeiling: Selection,
  receipt: ReceiptLine[],
): Selection | Refused {
  const forwarded =
    request.forwardSkills ?? (entry ? (entry.defaultForwardSkills ?? []) : undefined);
  const allowed = entry?.allowedForwardSkills
    ? intersect(withinCeiling, entry.allowedForwardSkills)
    : withinCeiling;
  const granted = forwarded === undefined ? allowed : intersect(forwarded, allowed);
  if (request.forwardSkills !== undefined) {
    const dropped = difference(request.forwardSkills, granted);
    if (granted.length === 0 && dropped.length > 0) {
      return {
        allowed: false,
        rule: "skills",
        reason: `None of the skills asked for "${profile.name}" (${dropped.join(", ")}) can be granted: its caller, its profile or its registry entry does not allow them.`,
      };
    }
    receipt.push({
      field: "skills",
      requested: request.forwardSkills,
      granted,
      ...(dropped.length > 0
        ? {
            dropped,
            reason: `not allowed for "${profile.name}" by its caller, profile or registry entry`,
          }
        : {}),
    });
  }
  return granted;
}

/**
 * The intersection of two grants: `granted` is that of a profile with the layers of a project, `most`
 * that without them. So a project's layer cannot widen any field.
 */
export function withinGrant(granted: Granted, most: Granted): Granted {
  const both = intersectAuthority(granted.mayUse, most.mayUse);
  const isAllowed = includes(most.mayUse.models, granted.model);
  const model = isAllowed ? granted.model : most.model;
  const fallbacks = isAllowed
    ? granted.fallbacks.filter((name) => includes(most.mayUse.models, name))
    : most.fallbacks;
  const models = [model, ...fallbacks];
  const mayUse = {
    ...both,
    models: both.models === "*" ? both.models : [...new Set([...models, ...both.models])],
  };
  const depth = Math.min(granted.depth, most.depth);
  const canSpawn = depth > 0 && granted.canSpawn && most.canSpawn;
  return {
    ...granted,
    mayUse,
    mayDelegate: canSpawn
      ? intersectAuthority(granted.mayDelegate ?? granted.mayUse, most.mayDelegate ?? most.mayUse)
      : null,
    model,
    fallbacks,
    tokens: Math.min(granted.tokens, most.tokens),
    cost: lesser(granted.cost, most.cost),
    timeMs: Math.min(granted.timeMs, most.timeMs),
    depth: canSpawn ? depth : 0,
    canSpawn,
    receipt: [...granted.receipt, ...toolsLine(granted, most)],
  };
}

function lesser(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(one, other);
}

function toolsLine({ mayUse }: Granted, most: Granted): readonly ReceiptLine[] {
  const granted = intersect(mayUse.tools, most.mayUse.tools);
  const dropped = difference(mayUse.tools, granted);
  if (dropped.length === 0) return [];
  const reason = "not granted to this profile without the project's file";
  return [{ field: "tools", requested: mayUse.tools, granted, dropped, reason }];
}
