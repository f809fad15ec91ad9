import type { ModelPolicy, Profile } from "../../agents/profiles/profile.ts";
import { skillName } from "../../agents/skills/skill.ts";
import { isMetered, runnerName } from "../../contracts/agent-runner.ts";
import type { Authority } from "../../contracts/authority.ts";
import { externalProvider, mayDelegate } from "../../contracts/contract.ts";
import {
  type Ceiling,
  type Granted,
  type NarrowingRules,
  narrow,
  type Refused,
  withinGrant,
} from "../../contracts/narrow.ts";
import { includes } from "../../contracts/selection.ts";
import { claimsOf } from "../../control/records/profile-claims.ts";
import type { Resolved } from "../../control/records/resolve-profile.ts";
import { headOfBytes } from "../../text.ts";
import { systemPrompt } from "../../tools/system-prompt.ts";
import type { NativeAct } from "../../tools/tool.ts";
import { leastForAnswer, promptBound } from "../budget.ts";
import type { EngineParts } from "../engine-parts.ts";
import type { LiveDelegation } from "../live-delegation.ts";
import type { LiveRun } from "../live-run.ts";
import { canCount } from "../turns/prompt.ts";
import type { Placement, Start } from "./placement.ts";

/** The most that a delegation may hold: what its caller may hand on, its profile and the request. */
export function grant(start: Start, resolved: Resolved): Granted | Refused {
  const { profile } = resolved;
  const whole = grantTo(start, resolved, profile);
  const own = profile.project?.own;
  if (!whole.allowed) return whole;
  // A project's layers of a profile that is not the project's yield at most what it gets without them.
  const most = own === undefined ? whole : grantTo(start, resolved, own);
  if (!most.allowed) return most;
  const granted = most === whole ? whole : withinGrant(whole, most);
  const reason = missingExit(start, profile, granted);
  if (reason !== undefined) return { allowed: false, rule: "exit", reason };
  const obstacle = obstacleToProgram(start, profile, granted);
  if (obstacle !== undefined) return { allowed: false, rule: "runner", reason: obstacle };
  // Most receipts are empty, and a thousand siblings share one empty list.
  const lines = resolved.receipt.length + granted.receipt.length;
  const receipt = lines === 0 ? none : [...resolved.receipt, ...granted.receipt];
  return { ...granted, mayUse: fittingAuthority(start, profile, granted), receipt };
}

const none: readonly never[] = Object.freeze([]);

function grantTo(
  { caller, planned, request, run, way }: Start,
  { entry }: Resolved,
  profile: Profile,
): Granted | Refused {
  const { limits, models, servers, toolbox } = run.parts;
  // Another program decides which model answers in its agent: here the model is only a name.
  const candidates =
    way === "session"
      ? [profile.model?.model ?? ""]
      : candidatesFor(run.parts, policyFor(caller, profile, request), profile);
  return narrow({
    ceiling: planned ? plannedCeiling(run, caller) : ceilingOf(run, caller),
    profile: claimsOf(profile, {
      models: candidates,
      workspace: run.settings.workspace,
      loadingTools: toolbox.names.filter((name) => toolbox.get(name)?.choosesFrom === "skills"),
      declared: (name) => servers.declared(name),
    }),
    entry,
    request: {
      tools: request.tools,
      forwardSkills: request.forwardSkills?.map(skillName),
      modelOverride: modelAskedFor(request, profile, { candidates, models }),
      tokens: request.maxTokens,
      cost: request.maxCost,
      timeMs: request.timeoutMs,
      depth: request.maxDepth,
    },
    rules: way === "root" || way === "session" ? rootRules(run) : limits,
    mayNest: way !== "spawn" && way !== "watch",
    hasPrice: (name) => isExternal(name) || models.price(name) !== undefined,
    inheritsSpawning: caller === null,
  });
}

function candidatesFor(
  { models, programs }: EngineParts,
  policy: ModelPolicy,
  { runner }: Profile,
): readonly string[] {
  if (runner === undefined || programs === undefined) return models.candidates(policy);
  const isNamed = policy.model !== undefined || policy.pool !== undefined;
  return programs.modelsFor(runner, () => models.candidates(policy), isNamed);
}

/**
 * An agent program reads, writes and runs commands by itself, inside its sandbox. So it is started only for
 * a caller that may hand on all of that, under rules that the sandbox keeps.
 */
function obstacleToProgram(
  { run, way }: Start,
  { name, project, runner }: Profile,
  { mayUse }: Granted,
): string | undefined {
  if (runner === undefined || way === "session") return undefined;
  const program = `"${name}" is ${runnerName(runner)}, a program of its own`;
  if (way === "watch") return `${program}, and cannot watch.`;
  if (run.settings.workspace === null) return `${program}, and this run has no workspace for it.`;
  const { programs } = run.parts;
  const why = programs?.obstacleTo(runner) ?? (programs ? undefined : "none can be started here.");
  if (why !== undefined) return `${program}: ${why}`;
  const { toolbox } = run.parts;
  const native = (act: NativeAct) =>
    toolbox.names.filter((one) => toolbox.get(one)?.native === act);
  for (const act of ["read", "run"] as const) {
    if (native(act).some((tool) => includes(mayUse.tools, tool))) continue;
    const missing = native(act).join(" or ") || "a tool for that";
    return `${program} that reads files and runs commands, and ${missing} is not granted here.`;
  }
  const ruled = mayUse.rules?.flat().find(({ action, tool }) => {
    return action !== "allow" && (tool === "*" || toolbox.get(tool)?.native !== undefined);
  });
  if (ruled !== undefined) {
    return `${program}, whose own tools cannot be held to the rule about ${ruled.tool}. Remove the rule, or use a profile without a runner.`;
  }
  if (isMetered(runner)) return undefined;
  // The login of the person is for programs that the person chose.
  if (project !== undefined && project.own === undefined) {
    return `${program}, and a project's file cannot let it use your login. Define the profile in your own folder.`;
  }
  const unreachable = programs
    ?.loginHosts(runner)
    .filter((host) => !includes(mayUse.network, host));
  if (unreachable === undefined || unreachable.length === 0) return undefined;
  return `${program} with a login of its own, and needs the hosts ${unreachable.join(", ")}: grant them under "network".`;
}

/** The name of a pool stands for the first of its models that the profile may run on. */
function modelAskedFor(
  { modelOverride: asked }: Start["request"],
  { model }: Profile,
  on: { readonly candidates: readonly string[]; readonly models: EngineParts["models"] },
): string | undefined {
  const policy = [...on.candidates, ...(model?.allow ?? none)];
  const pool = asked === undefined ? undefined : on.models.pool?.(asked);
  return pool?.find((name) => policy.includes(name)) ?? asked;
}

const defaultModel: ModelPolicy = Object.freeze({});

/** Only a root has a model that a person chose: an agent cannot choose one for its children. */
function policyFor(
  caller: LiveDelegation | null,
  { model: own = defaultModel }: Profile,
  { isModelChosen, modelOverride: model }: Start["request"],
): ModelPolicy {
  const isChosen = caller === null && isModelChosen === true && model !== undefined;
  const isNamed = own.model !== undefined || own.pool !== undefined;
  return isChosen && !isNamed ? { ...own, model } : own;
}

/** Mandate sends no requests for another program's agent: its model needs no price, and is allowed. */
function isExternal(model: string): boolean {
  return model.startsWith(`${externalProvider}/`);
}

/** The most that the caller can hand on at this moment. */
export function ceilingOf(run: LiveRun, caller: LiveDelegation | null): Ceiling {
  if (caller === null) {
    const { grant: held } = run.settings;
    return {
      authority: held.authority,
      // The person or program behind a run is one level above its root.
      depth: held.depth + 1,
      tokens: run.budget.unspent.tokens,
      // What the root may cost is for the whole run: a watcher has no caller, and shares that cap.
      cost: least(held.cost, run.delegations.root?.contract.budget.cost ?? null),
      timeMs: held.timeMs,
    };
  }
  const { budget, permissions } = caller.contract;
  const left = caller.budget.forChildren;
  const kept = caller.budget.unspent.tokens - left.tokens;
  return {
    authority: mayDelegate(caller.contract),
    depth: permissions.max_delegation_depth,
    tokens: left.cost > 0 ? left.tokens : 0,
    ...(kept > 0 && { kept }),
    cost: budget.cost,
    timeMs: caller.process.time.left(),
  };
}

/**
 * A child of a plan gets what its caller has by contract, and not what is left at that moment, so that
 * its contract does not depend on how long other children took. Every request is still limited by what
 * is left of the budgets above, and no child outlives its caller.
 */
function plannedCeiling(run: LiveRun, caller: LiveDelegation | null): Ceiling {
  const now = ceilingOf(run, caller);
  if (caller === null) return now;
  const { budget, deadlines } = caller.contract;
  const tokens = now.tokens > 0 ? budget.tokens : now.tokens;
  return { ...now, tokens, timeMs: now.timeMs > 0 ? deadlines.total : now.timeMs };
}

/** The smaller of two caps; null: no cap. */
function least(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(one, other);
}

/** The root's limits are those of the whole run: everything below it shares them. */
function rootRules({ budget, parts: { limits }, settings }: LiveRun): NarrowingRules {
  return {
    ...limits,
    defaultTokens: budget.tokens,
    maxTokens: budget.tokens,
    defaultTimeMs: settings.grant.timeMs,
    allowsModel: (name) => isExternal(name) || limits.allowsModel(name),
  };
}

/**
 * Some tools are for one kind of agent alone. A watcher changes nothing, leaves nothing behind, asks
 * no person, and ends with what it watches: all that it can do is look, and remark.
 */
function fittingAuthority(
  { run, way }: Start,
  { capabilities }: Profile,
  { mayUse }: Granted,
): Authority {
  const { toolbox } = run.parts;
  const tools = mayUse.tools as readonly string[];
  if (way === "watch") {
    const isHarmless = (name: string): boolean => {
      const { effect, ends, onlyFor, savesMemory } = toolbox.get(name) ?? {};
      if (onlyFor === "orchestrator" || savesMemory || ends !== undefined) return false;
      return effect === "read" || effect === "network";
    };
    return { ...mayUse, tools: tools.filter(isHarmless), mcp_servers: none, write_roots: none };
  }
  // Changes reach a folder that is reviewed from a copy; a session has none.
  if (way === "session" && run.settings.isReviewed) return { ...mayUse, write_roots: none };
  const isLeader = capabilities.includes("orchestrator");
  const isForeign = (name: string): boolean => {
    const { onlyFor } = toolbox.get(name) ?? {};
    return onlyFor === "watcher" || (onlyFor === "orchestrator" && !isLeader);
  };
  return tools.some(isForeign)
    ? { ...mayUse, tools: tools.filter((name) => !isForeign(name)) }
    : mayUse;
}

/**
 * The exit rule of its profile, where it binds the delegation. A watcher ends with what it watches.
 * An agent that answers a person may answer in words alone; a form or a review that its profile asks
 * for stays.
 */
export function exitRuleOf(
  { isConversation, request, run, way }: Start,
  { exit: own }: Profile,
): Profile["exit"] {
  const { outputSchema: asked } = request;
  // The answer itself is what the schema is about; a review of it stays.
  const exit = asked === undefined ? own : { ...own, tools: none, outputSchema: asked };
  if (exit === undefined || way === "watch") return undefined;
  const { outputSchema, review, tools = none } = exit;
  if (isConversation === true && outputSchema === undefined && review === undefined) {
    return undefined;
  }
  if (review === undefined || tools.length > 0) return exit;
  // Work that has to be reviewed can end in no other way than by being handed in for that.
  const { toolbox } = run.parts;
  return { ...exit, tools: toolbox.names.filter((name) => toolbox.get(name)?.mayComeBack) };
}

/** A child that may not call what it has to end with could only fail, in the end. */
function missingExit(start: Start, profile: Profile, granted: Granted): string | undefined {
  const { review, tools = none } = exitRuleOf(start, profile) ?? {};
  if (review !== undefined && !granted.canSpawn) {
    return `"${profile.name}" hands its work to "${review.profile}" for review, and no level of delegation is left for that.`;
  }
  if (tools.length === 0 || tools.some((tool) => includes(granted.mayUse.tools, tool))) {
    return undefined;
  }
  return `"${profile.name}" may end only by calling ${tools.join(" or ")}, and its caller may hand on none of them.`;
}

/** What a contract is made of beside the request. */
export interface Fitted {
  readonly granted: Granted;
  readonly system: string;
  /** Tools that the budget has no room for; absent: it has room for all. */
  readonly beyondBudget?: readonly string[];
  /** Files of the workspace are part of the prompt. */
  readonly hasFiles: boolean;
}

/**
 * The system prompt of a new delegation, and its grant. Where the token budget has no room for that
 * prompt and the granted tools, the prompt is the beginning of the profile's, and of the tools only
 * one that hands in the result is left: a small budget then buys one short answer, not none.
 */
export function fitToBudget(
  start: Start,
  { profile }: Resolved,
  granted: Granted,
  placement: Placement | null,
): Fitted {
  const { request, run, way } = start;
  if (start.system !== undefined) return { granted, system: start.system, hasFiles: false };
  let hasFiles = false;
  const system = systemPrompt(run.parts, {
    profile,
    granted,
    task: request.task,
    workspace: placement?.binding ?? null,
    own: request.systemPrompt,
    onFile: () => {
      hasFiles = true;
    },
  });
  const whole = { granted, system, hasFiles };
  const { review, tools: exits = [] } = exitRuleOf(start, profile) ?? {};
  // A review costs more than a short answer.
  if (way === "session" || way === "watch" || review !== undefined) return whole;
  // The gateway refuses what does not fit, request by request.
  if (profile.runner !== undefined) return whole;
  const needed = leastFor(start, profile, whole);
  if (needed <= granted.tokens) return whole;
  const held = granted.mayUse.tools as readonly string[];
  const kept = exits.filter((tool) => includes(held, tool)).slice(0, 1);
  const beyondBudget = held.filter((tool) => !kept.includes(tool));
  const line = {
    field: "tools",
    requested: held,
    granted: kept,
    dropped: beyondBudget,
    reason: `a budget of ${granted.tokens} tokens has room for one short answer only; with tools it needs at least ${needed}`,
  };
  const mayUse = { ...granted.mayUse, tools: kept };
  return {
    beyondBudget,
    granted: {
      ...{ ...granted, mayUse, beyondDepth: [], canSpawn: false },
      receipt: [...granted.receipt, line],
    },
    system: briefOf(request.systemPrompt ?? profile.prompt),
    hasFiles: false,
  };
}

/** The tokens of one answer with the whole prompt, by the same bound as for the first turn. */
function leastFor(
  { request, run: { parts } }: Start,
  { model }: Profile,
  { granted, system }: Fitted,
): number {
  const toolTokens = parts.toolbox.offer(granted.mayUse.tools as readonly string[]).tokens;
  const bytes = Buffer.byteLength(request.task) + Buffer.byteLength(request.context ?? "");
  const systemBytes = Buffer.byteLength(system);
  const bound = promptBound({ counted: null, bytesSince: bytes, systemBytes, toolTokens });
  // Where the bytes do not fit, a model that counts finds fewer tokens than this.
  const counted = Math.ceil((systemBytes + 2 * toolTokens + bytes) / 2.5);
  const prompt = canCount(parts, granted.model) ? Math.min(bound, counted) : bound;
  const maxOutput = model?.maxOutputTokens ?? parts.limits.maxOutputTokens;
  return leastForAnswer({ prompt, maxOutput, price: undefined }).tokens;
}

const briefBytes = 400;

/** The beginning of a prompt, up to its first section. */
function briefOf(prompt: string): string {
  const [beginning = ""] = prompt.split(/^##/m, 1);
  const about = headOfBytes(beginning.trim(), briefBytes);
  return `${about}\n\nThe token budget has room for one short answer, and for no other tools. Say what you could not do.`.trim();
}
