/**
 * Works out what a child is granted: never more than its caller may hand on, whatever is asked.
 * Pure: it decides, and says why; nothing is created here.
 */
import { type Authority, intersectAuthority } from "./authority.ts";
import type { ReceiptLine } from "./receipt.ts";
import { difference, everything, includes, intersect, type Selection } from "./selection.ts";

/** What the caller holds for handing on. */
export interface Ceiling {
  readonly authority: Authority;
  /** Levels that may still follow below the caller. */
  readonly depth: number;
  /** Tokens that every ancestor has left, the least of them. */
  readonly tokens: number;
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
  readonly write_roots?: readonly string[] | undefined;
  readonly model: string;
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
}

export interface Granted {
  readonly allowed: true;
  readonly mayUse: Authority;
  /** Null: the same as `mayUse`. */
  readonly mayDelegate: Authority | null;
  readonly model: string;
  readonly tokens: number;
  readonly cost: number | null;
  readonly timeMs: number;
  readonly depth: number;
  readonly canSpawn: boolean;
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
  const claimed = claimedAuthority(narrowing);
  const withinCeiling = intersectAuthority(claimed, ceiling.authority);

  const tools = narrowTools(narrowing, withinCeiling.tools, depth, receipt);
  if (!Array.isArray(tools)) return tools as Refused;
  const skills = narrowSkills(narrowing, withinCeiling.skills, receipt);
  const mcpServers = narrowServers(narrowing, withinCeiling.mcp_servers);

  const model = narrowModel(narrowing, receipt);
  if (typeof model !== "string") return model;
  const modelAllow = intersect(
    [profile.model, ...(profile.modelAllow ?? [])].filter(rules.allowsModel),
    ceiling.authority.models,
  );

  const tokens = narrowTokens(narrowing, receipt);
  if (typeof tokens !== "number") return tokens;
  const timeMs = narrowTime(narrowing, receipt);
  if (typeof timeMs !== "number") return timeMs;

  const mayUse: Authority = {
    ...withinCeiling,
    tools,
    skills,
    mcp_servers: mcpServers,
    models: modelAllow,
  };
  const canSpawn = depth > 0 && tools.some((tool) => rules.spawningTools.has(tool));
  return {
    allowed: true,
    mayUse,
    mayDelegate: canSpawn ? handedOn(narrowing, mayUse) : null,
    model,
    tokens,
    cost: least(ceiling.cost, profile.cost ?? null),
    timeMs,
    depth: canSpawn ? depth : 0,
    canSpawn,
    receipt,
  };
}

function claimedAuthority({ ceiling, profile }: Narrowing): Authority {
  const inherited = ceiling.authority;
  return {
    tools: profile.tools ?? inherited.tools,
    skills: profile.skills ?? inherited.skills,
    mcp_servers: profile.mcp_servers ?? inherited.mcp_servers,
    models: everything,
    scopes: profile.scopes ?? inherited.scopes,
    write_roots: profile.write_roots ?? inherited.write_roots,
    network: profile.network ?? inherited.network,
  };
}

/**
 * What the child may hand on: what it may use, unless its profile says otherwise, and always under
 * the ceiling. Models are the exception in what is left unsaid: a pinned agent may still hand on
 * every model its own caller could, since its pin is about itself.
 */
function handedOn({ ceiling, profile }: Narrowing, mayUse: Authority): Authority {
  const said = profile.mayDelegate ?? {};
  return intersectAuthority(
    { ...mayUse, models: ceiling.authority.models, ...said },
    ceiling.authority,
  );
}

function narrowDepth(
  { ceiling, profile, request, rules, mayNest }: Narrowing,
  receipt: ReceiptLine[],
): number {
  const allowed = Math.max(
    0,
    Math.min(rules.maxDepth, ceiling.depth - 1, profile.depth ?? rules.maxDepth),
  );
  const asked = request.depth;
  // Whatever is no whole number of levels grants the levels that are whole, or none.
  const granted = mayNest ? Math.floor(Math.max(0, Math.min(allowed, asked ?? allowed))) || 0 : 0;
  if (asked !== undefined) {
    receipt.push({
      field: "depth",
      requested: asked,
      granted,
      ...(granted < asked ? { reason: "limited by the caller's own depth" } : {}),
    });
  }
  return granted;
}

function narrowTools(
  { ceiling, inheritsSpawning, profile, request, rules }: Narrowing,
  withinProfile: Selection,
  depth: number,
  receipt: ReceiptLine[],
): readonly string[] | Refused {
  const offered =
    request.tools !== undefined && rules.explicitTools === "override"
      ? ceiling.authority.tools
      : withinProfile;
  const selected = request.tools === undefined ? offered : intersect(request.tools, offered);
  // The root's tools were written out when it was created; without that list nothing is granted.
  const concrete = selected === "*" ? [] : selected;
  // Delegating further is never inherited in silence: a profile or a call has to name it.
  const isNamed = profile.tools !== undefined || request.tools !== undefined;
  const maySpawn = depth > 0 && (isNamed || inheritsSpawning);
  const tools =
    maySpawn || !concrete.some((tool) => rules.spawningTools.has(tool))
      ? concrete
      : concrete.filter((tool) => !rules.spawningTools.has(tool));
  const asked = request.tools ?? (profile.tools === undefined ? [] : profile.tools);
  const dropped = difference(asked, tools);
  if (request.tools !== undefined || dropped.length > 0) {
    receipt.push({
      field: "tools",
      requested: asked,
      granted: tools,
      ...(dropped.length > 0
        ? { dropped, reason: "not in what the profile and the caller allow" }
        : {}),
    });
  }
  if (tools.length === 0 && asked.length > 0) {
    return {
      allowed: false,
      rule: "tools",
      reason: `None of the tools asked for "${profile.name}" (${list(asked)}) may be handed on by its caller.`,
    };
  }
  return tools;
}

function narrowSkills(
  { entry, profile, request }: Narrowing,
  withinCeiling: Selection,
  receipt: ReceiptLine[],
): Selection {
  const forwarded =
    request.forwardSkills ?? (entry ? (entry.defaultForwardSkills ?? []) : undefined);
  const allowed = entry?.allowedForwardSkills
    ? intersect(withinCeiling, entry.allowedForwardSkills)
    : withinCeiling;
  const granted = forwarded === undefined ? allowed : intersect(forwarded, allowed);
  if (request.forwardSkills !== undefined) {
    const dropped = difference(request.forwardSkills, granted);
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

function narrowServers({ entry }: Narrowing, withinCeiling: Selection): Selection {
  const allowed = entry?.allowedMcpServers
    ? intersect(withinCeiling, entry.allowedMcpServers)
    : withinCeiling;
  return entry ? intersect(entry.defaultMcpServers ?? [], allowed) : allowed;
}

function narrowModel(
  { ceiling, profile, request, rules }: Narrowing,
  receipt: ReceiptLine[],
): string | Refused {
  const permitted = (model: string): boolean =>
    rules.allowsModel(model) && includes(ceiling.authority.models, model);
  if (!permitted(profile.model)) {
    return {
      allowed: false,
      rule: "models",
      reason: `"${profile.name}" runs on ${profile.model}, which its caller may not hand on or the operator does not allow.`,
    };
  }
  const asked = request.modelOverride;
  if (asked === undefined) return profile.model;
  const inPolicy = asked === profile.model || (profile.modelAllow?.includes(asked) ?? false);
  const granted = inPolicy && permitted(asked) ? asked : profile.model;
  receipt.push({
    field: "model",
    requested: asked,
    granted,
    ...(granted === asked ? {} : { reason: `not in the model policy of "${profile.name}"` }),
  });
  return granted;
}

function narrowTokens(
  { ceiling, profile, request, rules }: Narrowing,
  receipt: ReceiptLine[],
): number | Refused {
  const wanted = request.tokens ?? profile.tokens ?? rules.defaultTokens;
  const limit = Math.min(rules.maxTokens, profile.tokens ?? rules.maxTokens, ceiling.tokens);
  const granted = Math.floor(Math.min(wanted, limit));
  if (granted < wanted || request.tokens !== undefined) {
    receipt.push({
      field: "tokens",
      requested: wanted,
      granted,
      ...(granted < wanted
        ? { reason: "limited by the profile, the configuration, or what the callers have left" }
        : {}),
    });
  }
  // Asked this way round, what is not a number at all is refused too.
  if (!(granted > 0)) {
    const reason =
      limit >= 1
        ? `${wanted} tokens are not enough to do anything with.`
        : "The callers above have no tokens left to hand on.";
    return { allowed: false, rule: "budget", reason };
  }
  return granted;
}

function narrowTime(
  { ceiling, profile, request, rules }: Narrowing,
  receipt: ReceiptLine[],
): number | Refused {
  const asked = request.timeMs;
  const wanted = asked ?? profile.timeMs ?? rules.defaultTimeMs;
  const granted = Math.floor(Math.min(wanted, ceiling.timeMs, profile.timeMs ?? wanted));
  if (granted < wanted || asked !== undefined) {
    receipt.push({
      field: "timeout",
      requested: wanted,
      granted,
      ...(granted < wanted ? { reason: "limited by the time that the caller has left" } : {}),
    });
  }
  if (!(granted > 0)) {
    return { allowed: false, rule: "time", reason: "The caller has no time left to hand on." };
  }
  return granted;
}

function least(left: number | null, right: number | null): number | null {
  if (left === null) return right;
  if (right === null) return left;
  return Math.min(left, right);
}

function list(selection: Selection): string {
  return selection === "*" ? "all" : selection.join(", ");
}
