import { type Contract, memoryPermissions } from "../../contracts/contract.ts";
import type { Carried } from "../../contracts/exposure.ts";
import type { Granted } from "../../contracts/narrow.ts";
import { includes, type Selection } from "../../contracts/selection.ts";
import { isFree, type TokenPrice } from "../../contracts/token-price.ts";
import type { Profile } from "../../profiles/profile.ts";
import { profileHash } from "../../profiles/profile-hash.ts";
import { isReviewed, type Placement } from "./placement.ts";
import type { Resolved } from "./resolve-profile.ts";
import { SharedValues } from "./shared-values.ts";
import type { Start } from "./start-delegation.ts";

/** Everything that was agreed, written out. From here on only the contract counts. */
export function makeContract(
  start: Start,
  { agent, profile }: Resolved,
  granted: Granted,
  placement: Placement | null,
  { carries, prompt }: { readonly prompt: string; readonly carries: readonly Carried[] },
): Contract {
  const { run, caller, request, step } = start;
  const { limits } = run.parts;
  const slash = granted.model.indexOf("/");
  const { exit, limits: own, model } = profile;
  const servers = grantedServers(profile, granted);
  const contract: Contract = {
    version: 1,
    parent: {
      run_id: run.id,
      sub_agent_id: caller?.id ?? null,
      step_idx: step,
      depth: caller ? caller.depth + 1 : start.watches ? 1 : 0,
      ...(start.watches && { watches: start.watches.id }),
      ...(carries.length > 0 && { carries }),
      task_prompt: beginningOf(run.task),
      goal_summary: caller?.contract.step.title ?? titleOf(run.task),
    },
    step: {
      title: request.title ?? titleOf(request.task),
      description: request.task,
      context: contextFor(profile.opening, request.context),
      success_criteria: request.successCriteria ?? none,
    },
    profile: profiles.share({
      id: profile.name,
      hash: profileHash(profile),
      prompt,
      ...(agent !== undefined && { agent }),
      ...capabilityOf(start, profile),
    }),
    model: models.share({
      provider: granted.model.slice(0, slash),
      model: granted.model.slice(slash + 1),
      allow: sharedNames(granted.mayUse.models),
      max_output_tokens: model?.maxOutputTokens ?? limits.maxOutputTokens,
      temperature: model?.temperature ?? null,
      ...(model?.topP !== undefined && { top_p: model.topP }),
      ...(model?.effort !== undefined && { effort: model.effort }),
      ...(model?.contextWindow !== undefined && { context_window: model.contextWindow }),
      ...(granted.fallbacks.length > 0 && { fallbacks: granted.fallbacks }),
      ...pricesOf(run.parts, granted),
    }),
    principal: run.grant.principal,
    permissions: permissions.share({
      allowed_tools: granted.mayUse.tools as readonly string[],
      can_spawn_children: granted.canSpawn,
      max_delegation_depth: granted.depth,
      skills: granted.mayUse.skills,
      mcp_servers: granted.mayUse.mcp_servers,
      scopes: granted.mayUse.scopes,
      write_roots: placement?.writeRoots ?? none,
      network: granted.mayUse.network,
      ...(granted.mayUse.ways_out && { ways_out: granted.mayUse.ways_out }),
      ...memoryOf(start, granted),
      ...(granted.mayUse.rules && { rules: granted.mayUse.rules }),
      may_delegate: granted.mayDelegate,
    }),
    execution: executions.share({
      attempt_timeout_ms: Math.min(granted.timeMs, request.attemptTimeoutMs ?? granted.timeMs),
      // What a watcher missed while it failed is not shown to it again.
      max_retries: start.way === "watch" ? 0 : (own?.retries ?? limits.maxRetries),
      ...(own?.turns !== undefined && { max_turns: own.turns }),
      close_on_completion: true,
    }),
    outputs: outputs.share({
      report_format: "markdown",
      report_path_pattern: caller
        ? caller.contract.outputs.report_path_pattern
        : placement === null || run.readOnly
          ? null
          : limits.reportPathPattern,
      ...(limits.sealOnComplete === false && { transcript: true as const }),
    }),
    budget: {
      tokens: granted.tokens,
      cost: granted.cost,
      reserve: Math.min(1000, Math.floor(granted.tokens / 20)),
    },
    workspace: placement === null ? noWorkspace : workspaceOf(start, profile, placement),
    exit:
      exit === undefined || start.way === "watch"
        ? noExitRule
        : {
            tools: exitTools(exit).filter((tool) => includes(granted.mayUse.tools, tool)),
            output_schema: exit.outputSchema ?? null,
            evidence: exit.evidence ?? "none",
            ...(exit.review && {
              review: { profile: exit.review.profile, rounds: exit.review.rounds ?? 3 },
            }),
          },
    on_parent_interrupt: profile.onParentInterrupt ?? "cancel",
    join: joins.share({ max_tokens: own?.joinTokens ?? limits.joinTokens }),
    deadlines: deadlines.share({
      first_token: limits.deadlines.firstTokenMs,
      stall: limits.deadlines.stallMs,
      tool: limits.deadlines.toolMs,
      idle: limits.deadlines.idleMs,
      // A watcher lives as long as what it watches.
      total: start.way === "watch" ? Number.MAX_SAFE_INTEGER : granted.timeMs,
    }),
  };
  return servers === undefined ? contract : { ...contract, servers };
}

// Parts that most contracts have in common are one object: a thousand siblings share them.
const profiles = new SharedValues<Contract["profile"]>();
const models = new SharedValues<Contract["model"]>();
const permissions = new SharedValues<Contract["permissions"]>();
const executions = new SharedValues<Contract["execution"]>();
const outputs = new SharedValues<Contract["outputs"]>();
const joins = new SharedValues<Contract["join"]>();
const deadlines = new SharedValues<Contract["deadlines"]>();
const prices = new SharedValues<NonNullable<Contract["model"]["prices"]>>();
const names = new SharedValues<readonly string[]>();
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

function sharedNames(selection: Selection): Selection {
  return selection === "*" ? selection : names.share(selection);
}

/** Work that has to be reviewed can end in no other way than by being handed in for that. */
export function exitTools({
  review,
  tools = none,
}: NonNullable<Profile["exit"]>): readonly string[] {
  return review !== undefined && tools.length === 0 ? ["submit_for_review"] : tools;
}

/** Who talks to a person is a primary agent; who leads others an orchestrator, whoever asked it. */
function capabilityOf(
  { caller, way }: Start,
  { capabilities }: Profile,
): Pick<Contract["profile"], "capability"> | undefined {
  if (way === "watch") return { capability: "watcher" };
  if (capabilities.includes("orchestrator")) return { capability: "orchestrator" };
  const isPrimary = way === "session" || (caller === null && capabilities.includes("primary"));
  return isPrimary ? { capability: "primary" } : undefined;
}

/** Those of all models that may answer. Under a cap in dollars a price of zero is recorded too. */
function pricesOf(
  { models: source }: Start["run"]["parts"],
  { cost, fallbacks, model }: Granted,
): Pick<Contract["model"], "prices"> | undefined {
  let found: Record<string, TokenPrice> | undefined = cost === null ? undefined : {};
  for (const name of [model, ...fallbacks]) {
    const price = source.price(name);
    if (price !== undefined && (cost !== null || !isFree(price)))
      found = { ...found, [name]: price };
  }
  return found && { prices: prices.share(found) };
}

/** Never more than its caller's: the configuration may have changed since that one was made. */
function memoryOf(
  { caller, run }: Start,
  { mayUse }: Granted,
): Pick<Contract["permissions"], "memory"> | undefined {
  if (!includes(mayUse.tools, "memory_save")) return undefined;
  const configured = run.parts.limits.memory ?? "delegated";
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
  const { owns } = start.request;
  const shared = { isolation, root, allow_writes: allowWrites, owns: owns ?? none };
  if (copy === null) return { ...shared, base: null };
  const { approval, checks } = start.run.parts.limits;
  const isApproved = approval || policy?.approval === true || isReviewed(start);
  const all = [...new Set([...checks, ...(policy?.checks ?? [])])];
  return {
    ...shared,
    base: copy.base,
    copy: { id: copy.id, of: of ?? "" },
    ...(all.length > 0 && { checks: all }),
    ...(isApproved && { approval: true as const }),
  };
}

/** The declarations of its own servers that were granted: another profile's may share the name. */
function grantedServers({ servers }: Profile, { mayUse }: Granted): Contract["servers"] {
  if (servers === undefined) return undefined;
  const granted = Object.entries(servers).filter(([name]) => includes(mayUse.mcp_servers, name));
  return granted.length === 0 ? undefined : Object.fromEntries(granted);
}

/** What a child is told besides its task: what its profile always says, and what this caller says. */
export function contextFor(
  opening: string | undefined,
  context: string | undefined,
): string | null {
  if (opening === undefined) return context ?? null;
  return context === undefined ? opening : `${opening}\n\n${context}`;
}

/** What the run is about is in every contract of it; a plan as a task must not be so in whole. */
function beginningOf(task: string): string {
  return task.length > longestTask ? `${task.slice(0, longestTask - 1).toWellFormed()}…` : task;
}

const longestTask = 10_000;

function titleOf(task: string): string {
  const [line = ""] = task.trim().split("\n", 1);
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}
