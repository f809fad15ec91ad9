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
 * Works out what a child is granted: never more than its caller may hand on, whatever is asked.
 * Pure: it decides, and says why; nothing is created here.
 */

/** What the caller holds for handing on. */
export interface Ceiling {
  readonly authority: Authority;
  /** Levels that may still follow below the caller. */
  readonly depth: number;
  /** Tokens that every ancestor has left, the least of them. */
  readonly tokens: number;
  /** Of what its caller has left, those that it needs to report. Absent: none. */
  readonly kept?: number;
  readonly cost: number | null;
  readonly timeMs: number;
}

/** What the profile says of itself; an absent field inherits from the ceiling. */
export interface ProfileClaims {
  readonly name: string;
  readonly tools?: Selection | undefined;
  readonly skills?: Selection | undefined;
  readonly mcp_servers?: Selection | undefined;
  readonly scopes?: Selection | undefined;
  readonly network?: Selection | undefined;
  readonly ways_out?: Selection | undefined;
  readonly write_roots?: readonly string[] | undefined;
  /** What it hands in is looked at by a child of its own. */
  readonly hasReviewer?: boolean | undefined;
  readonly rules?: RuleSet | undefined;
  /** Further lists of rules, each of which binds by itself. */
  readonly addedRules?: readonly RuleSet[] | undefined;
  /** Servers that it brings itself, which count as asked for. */
  readonly ownServers?: readonly string[] | undefined;
  readonly model: string;
  /** Tried in order when the model cannot be had. */
  readonly fallbacks?: readonly string[] | undefined;
  readonly modelAllow?: readonly string[] | undefined;
  readonly mayDelegate?: Partial<Authority> | undefined;
  readonly tokens?: number | undefined;
  readonly cost?: number | undefined;
  readonly timeMs?: number | undefined;
  readonly depth?: number | undefined;
}

/** What the agent registry allows to be forwarded. Absent `allowed…` adds no restriction. */
export interface EntryClaims {
  readonly defaultForwardSkills?: readonly string[];
  readonly allowedForwardSkills?: readonly string[];
  readonly defaultMcpServers?: readonly string[];
  readonly allowedMcpServers?: readonly string[];
}

/** What the call asks for; an absent field asks for nothing in particular. */
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
  /** Whether the operator allows a model at all. */
  readonly allowsModel: (name: string) => boolean;
  /** Tools that make children: withdrawn where no level is left, and from children of `spawn`. */
  readonly spawningTools: ReadonlySet<string>;
  /** The MCP servers that someone inherits who is given all of them and names none. */
  readonly servers: readonly string[];
  /** What stands for all tools of a server: `mcp__server__*`. */
  readonly serverPattern: (server: string) => string;
  /** "override": the call's tools replace the profile's, under the same ceiling. */
  readonly explicitTools: "select" | "override";
}

export interface Narrowing {
  readonly ceiling: Ceiling;
  readonly profile: ProfileClaims;
  readonly entry?: EntryClaims | undefined;
  readonly request: RequestClaims;
  readonly rules: NarrowingRules;
  /** Whether this way of delegating lets the child delegate in turn at all. */
  readonly mayNest: boolean;
  /** Whether tools that make children are among what a profile inherits that names no tools. */
  readonly inheritsSpawning: boolean;
  /** Whether the price of a model is known, zero included: a cap in dollars cannot hold without it. */
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
  /** Tools that it would hold if a level of delegation were left. */
  readonly beyondDepth: readonly string[];
  readonly receipt: readonly ReceiptLine[];
}

export interface Refused {
  readonly allowed: false;
  readonly rule: string;
  readonly reason: string;
}

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
    mayDelegate: canSpawn ? handedOn(narrowing, mayUse) : null,
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
 * What the child may hand on: what it may use, unless its profile says otherwise, and always under
 * the ceiling. Models and servers are the exception in what is not given: an agent may still hand
 * on every one that its own caller could, since which of them it uses is about itself. Its own
 * rules bind those below it too, unless it was said apart what they may use.
 */
function handedOn({ ceiling, entry, profile }: Narrowing, mayUse: Authority): Authority {
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

/** What the registry does not let an agent have, it does not let it hand on either. */
function withinEntry(authority: Authority, entry: EntryClaims | undefined): Authority {
  const { allowedForwardSkills: skills, allowedMcpServers: servers } = entry ?? {};
  return {
    ...authority,
    ...(skills && { skills: intersect(authority.skills, skills) }),
    ...(servers && { mcp_servers: intersect(authority.mcp_servers, servers) }),
  };
}

/** The names of a server's tools follow from its grant, so the ceiling's own patterns go with it. */
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
 * What both grants allow: `granted` is what a profile gets with the layers of a project, `most` what
 * it gets without them. Whatever those layers say, no field comes out above `most`.
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
  const reason = "not in what this profile gets without the project's file";
  return [{ field: "tools", requested: mayUse.tools, granted, dropped, reason }];
}
