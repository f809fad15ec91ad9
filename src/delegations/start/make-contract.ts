import type { Profile } from "../../agents/profiles/profile.ts";
import { profileHash } from "../../agents/profiles/profile-hash.ts";
import { addressesIn } from "../../contracts/addresses.ts";
import {
  type Contract,
  contextFor,
  defaultReportPattern,
  memoryPermissions,
  ownReportFolder,
  patternById,
} from "../../contracts/contract.ts";
import type { Carried } from "../../contracts/exposure.ts";
import type { Granted } from "../../contracts/narrow.ts";
import { includes, type Selection } from "../../contracts/selection.ts";
import { isFree, type TokenPrice } from "../../contracts/token-price.ts";
import type { Resolved } from "../../control/records/resolve-profile.ts";
import { clip } from "../../text.ts";
import { carriedBy, carriesBoth, carriesUntrusted } from "../../tools/exposure-of.ts";
import { isKnownAddress } from "../../tools/known-address.ts";
import { findTool } from "../delegation-process.ts";
import type { EngineParts } from "../engine-parts.ts";
import { type LiveDelegation, untrustedOf } from "../live-delegation.ts";
import { exitRuleOf, type Fitted } from "./grant.ts";
import { isReviewed, type Placement, type Start } from "./placement.ts";

/** Everything that was agreed, written out. From here on only the contract counts. */
export function makeContract(
  start: Start,
  { agent, profile }: Resolved,
  { beyondBudget, granted, hasFiles, system }: Fitted,
  placement: Placement | null,
): Contract {
  const { run, caller, request, step } = start;
  const { limits, store } = run.parts;
  const slash = granted.model.indexOf("/");
  const { limits: own, model } = profile;
  const { mayUse } = granted;
  // What an agent program reads by itself is not seen, so it counts as untrusted.
  const carries = profile.runner === undefined ? carriesOf(start, hasFiles) : carriesUntrusted;
  const addresses = addressesFor(start);
  const contract: Contract = {
    version: 1,
    parent: {
      run_id: run.id,
      sub_agent_id: caller?.id ?? null,
      step_idx: step,
      depth: caller ? caller.contract.parent.depth + 1 : start.watches ? 1 : 0,
      ...(start.watches && { watches: start.watches.id }),
      ...(carries.length > 0 && { carries }),
      ...(addresses.length > 0 && { addresses }),
      // Every contract says what the run is about; a plan as the task is not repeated in whole.
      task_prompt: clip(run.settings.task, longestTask),
      goal_summary: caller?.contract.step.title ?? titleOf(run.settings.task),
    },
    step: {
      title: request.title ?? titleOf(request.task),
      description: request.task,
      context: contextFor(profile.opening, request.context),
      success_criteria: request.successCriteria ?? none,
    },
    profile: shared({
      id: profile.name,
      hash: profileHash(profile),
      prompt: store.keepText(system),
      ...(agent !== undefined && { agent }),
      ...capabilityOf(start, profile),
    }),
    model: shared({
      provider: granted.model.slice(0, slash),
      model: granted.model.slice(slash + 1),
      allow: sharedNames(mayUse.models),
      max_output_tokens: model?.maxOutputTokens ?? limits.maxOutputTokens,
      temperature: model?.temperature ?? null,
      ...(model?.topP !== undefined && { top_p: model.topP }),
      ...effortOf(request, model),
      ...(model?.contextWindow !== undefined && { context_window: model.contextWindow }),
      ...(granted.fallbacks.length > 0 && { fallbacks: granted.fallbacks }),
      ...pricesOf(run.parts, granted, start.models),
    }),
    ...(profile.runner !== undefined && { runner: profile.runner }),
    principal: run.settings.grant.principal,
    permissions: shared({
      allowed_tools: mayUse.tools as readonly string[],
      can_spawn_children: granted.canSpawn,
      max_delegation_depth: granted.depth,
      ...(granted.beyondDepth.length > 0 && { beyond_depth: shared(granted.beyondDepth) }),
      ...(beyondBudget && { beyond_budget: beyondBudget }),
      skills: mayUse.skills,
      mcp_servers: mayUse.mcp_servers,
      scopes: mayUse.scopes,
      write_roots: placement?.writeRoots ?? none,
      network: mayUse.network,
      ...(mayUse.ways_out && { ways_out: mayUse.ways_out }),
      ...unsandboxedOf(run.parts, mayUse.tools),
      ...memoryOf(start, granted),
      ...(mayUse.rules && { rules: mayUse.rules }),
      may_delegate: granted.mayDelegate,
    }),
    execution: shared({
      attempt_timeout_ms: Math.min(granted.timeMs, request.attemptTimeoutMs ?? granted.timeMs),
      // What a watcher missed while it failed is not shown to it again.
      max_retries: start.way === "watch" ? 0 : (own?.retries ?? limits.maxRetries),
      ...(own?.turns !== undefined && { max_turns: own.turns }),
      close_on_completion: true,
    }),
    outputs: outputsOf(start, placement),
    budget: {
      tokens: granted.tokens,
      cost: granted.cost,
      reserve: Math.min(1000, Math.floor(granted.tokens / 20)),
    },
    workspace: placement === null ? noWorkspace : workspaceOf(start, profile, placement),
    exit: exitOf(start, profile, granted),
    on_parent_interrupt: profile.onParentInterrupt ?? "cancel",
    join: shared({ max_tokens: own?.joinTokens ?? limits.joinTokens }),
    deadlines: shared({
      first_token: limits.deadlines.firstTokenMs,
      stall: limits.deadlines.stallMs,
      tool: limits.deadlines.toolMs,
      idle: limits.deadlines.idleMs,
      // A watcher lives as long as what it watches.
      total: start.way === "watch" ? Number.MAX_SAFE_INTEGER : granted.timeMs,
    }),
  };
  const servers = grantedServers(profile, granted);
  return servers === undefined ? contract : { ...contract, servers };
}

const longestTask = 10_000;

// Parts that most contracts have in common are one object: a thousand siblings share them.
const recent = new Map<string, unknown>();
/** How many parts are in use at once: of a few profiles, at a few depths. */
const mostRecent = 256;

/** The equal value that was made before, or this one. Values are JSON, and are never changed. */
function shared<Value extends object>(value: Value): Value {
  const key = JSON.stringify(value);
  const known = recent.get(key) as Value | undefined;
  if (known !== undefined) return known;
  if (recent.size >= mostRecent) recent.clear();
  recent.set(key, value);
  return value;
}

function sharedNames(selection: Selection): Selection {
  return selection === "*" ? selection : shared(selection);
}

const none: readonly string[] = Object.freeze([]);
const noWorkspace: Contract["workspace"] = Object.freeze({
  isolation: "shared",
  root: null,
  allow_writes: false,
  base: null,
  owns: none,
});
const noExitRule: Contract["exit"] = Object.freeze({
  tools: none,
  output_schema: null,
  evidence: "none",
});

/** What it began with that its own tools did not bring. */
function carriesOf(start: Start, hasPromptFiles: boolean): readonly Carried[] {
  const { caller, carries = [], isTold, run, way } = start;
  // A watcher is shown what others read and say.
  if (way === "watch") return carriesBoth;
  if (caller !== null) {
    const { contract, said } = caller;
    const given = carriedBy(run.parts.toolbox, contract, said.evidence, isTold);
    if (given.length > 0) return given;
  }
  return carries.length === 0 && hasPromptFiles ? carriesUntrusted : carries;
}

/** The addresses of its task that it may fetch as they are. */
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

function exitOf(start: Start, profile: Profile, { mayUse }: Granted): Contract["exit"] {
  const rule = exitRuleOf(start, profile);
  if (rule === undefined) return noExitRule;
  const { evidence = "none", outputSchema = null, review, tools = none } = rule;
  return {
    tools: tools.filter((tool) => includes(mayUse.tools, tool)),
    output_schema: outputSchema,
    evidence,
    ...(review && { review: { profile: review.profile, rounds: review.rounds ?? 3 } }),
  };
}

/** An agent that talks to a person is primary; one that leads others is an orchestrator. */
function capabilityOf(
  { caller, way }: Start,
  { capabilities }: Profile,
): Pick<Contract["profile"], "capability"> | undefined {
  if (way === "watch") return { capability: "watcher" };
  if (capabilities.includes("orchestrator")) return { capability: "orchestrator" };
  const isPrimary = way === "session" || (caller === null && capabilities.includes("primary"));
  return isPrimary ? { capability: "primary" } : undefined;
}

/** The prices of all models that may answer; under a cap in dollars a price of zero as well. */
function pricesOf(
  { models }: EngineParts,
  { cost, fallbacks, mayUse, model }: Granted,
  ofProgram: readonly string[] = none,
): Pick<Contract["model"], "prices"> | undefined {
  let found: Record<string, TokenPrice> | undefined = cost === null ? undefined : {};
  const asked = ofProgram.filter((name) => includes(mayUse.models, name));
  for (const name of [model, ...fallbacks, ...asked]) {
    const price = models.price(name);
    if (price !== undefined && (cost !== null || !isFree(price)))
      found = { ...found, [name]: price };
  }
  return found && { prices: shared(found) };
}

function effortOf(
  { effort: asked }: Start["request"],
  model: Profile["model"],
): Pick<Contract["model"], "effort"> | undefined {
  const effort = asked ?? model?.effort;
  return effort && { effort };
}

/** Never more than its caller's: the configuration may have changed since that one was made. */
function memoryOf(
  { caller, run: { parts } }: Start,
  { mayUse }: Granted,
): Pick<Contract["permissions"], "memory"> | undefined {
  const savesMemory = (name: string): boolean => parts.toolbox.get(name)?.savesMemory === true;
  if (!(mayUse.tools as readonly string[]).some(savesMemory)) return undefined;
  const configured = parts.limits.memory ?? "delegated";
  const above = caller?.contract.permissions.memory ?? configured;
  const lesser = memoryPermissions.find((one) => one === configured || one === above);
  return { memory: lesser ?? "none" };
}

function workspaceOf(
  start: Start,
  { workspace: policy }: Profile,
  { binding, copy, of, root }: Placement,
): Contract["workspace"] {
  const { allowWrites, isolation } = binding;
  const owns = start.request.owns ?? none;
  const common = { isolation, root, allow_writes: allowWrites, owns };
  if (copy === null) return { ...common, base: null };
  const { approval, checks } = start.run.parts.limits;
  const isApproved = approval || policy?.approval === true || isReviewed(start);
  const all = [...new Set([...checks, ...(policy?.checks ?? [])])];
  return {
    ...common,
    base: copy.base,
    copy: { id: copy.id, of: of ?? "" },
    ...(all.length > 0 && { checks: all }),
    ...(isApproved && { approval: true as const }),
    ...(start.request.keepsCopy === true && { keep: true as const }),
  };
}

/** The declarations of its own servers that were granted: another profile's may share the name. */
function grantedServers({ servers }: Profile, { mayUse }: Granted): Contract["servers"] {
  if (servers === undefined) return undefined;
  const granted = Object.entries(servers).filter(([name]) => includes(mayUse.mcp_servers, name));
  return granted.length === 0 ? undefined : Object.fromEntries(granted);
}

/** The pattern that counts is the root's: it holds for all children, also after a recovery. */
function outputsOf(start: Start, placement: Placement | null): Contract["outputs"] {
  const { caller, planned, run } = start;
  const { reportPathPattern, sealOnComplete } = run.parts.limits;
  const isRoot = run.delegations.root === null;
  // In a folder whose changes a person reviews, only our own folder is written without a review.
  const isElsewhere =
    run.settings.isReviewed && reportPathPattern?.startsWith(ownReportFolder) === false;
  const configured = isElsewhere ? defaultReportPattern : reportPathPattern;
  const usual = placement === null || run.settings.readOnly ? null : configured;
  const pattern = isRoot
    ? usual
    : (run.delegations.root?.contract.outputs.report_path_pattern ?? null);
  const common = {
    report_format: "markdown",
    ...(sealOnComplete === false && { transcript: true as const }),
  } as const;
  if (caller !== null && planned !== undefined) {
    const index = `${indexAbove(caller)}${planned.index}${planned.suffix}`;
    return { ...common, report_path_pattern: pattern, report_index: index };
  }
  const own = isRoot || pattern === null ? pattern : patternById(pattern);
  return shared({ ...common, report_path_pattern: own });
}

/** Planners below the root count their steps each for themselves: `1.` comes before those of one. */
function indexAbove({ contract, parent }: LiveDelegation): string {
  if (parent === null) return "";
  const { report_index: index = `${indexAbove(parent)}${contract.parent.step_idx}` } =
    contract.outputs;
  return `${index}.`;
}

function titleOf(task: string): string {
  const [line = ""] = task.trim().split("\n", 1);
  return clip(line, 80);
}

/** The contract says so where nothing of the system holds a tool's programs. */
function unsandboxedOf(
  { toolbox }: Pick<EngineParts, "toolbox">,
  tools: Selection,
): Pick<Contract["permissions"], "unsandboxed"> {
  if (tools === "*") return {};
  const unsandboxed = tools.filter((name) => toolbox.get(name)?.isUnsandboxed?.() === true);
  return unsandboxed.length === 0 ? {} : { unsandboxed };
}
