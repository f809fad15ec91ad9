import { type Contract, memoryPermissions } from "../../contracts/contract.ts";
import type { Carried } from "../../contracts/exposure.ts";
import type { Granted } from "../../contracts/narrow.ts";
import { defaultReportPattern, ownReportFolder, patternById } from "../../contracts/report-path.ts";
import { includes, type Selection } from "../../contracts/selection.ts";
import { isFree, type TokenPrice } from "../../contracts/token-price.ts";
import type { Profile } from "../../profiles/profile.ts";
import { profileHash } from "../../profiles/profile-hash.ts";
import { clip } from "../../text.ts";
import type { Toolbox } from "../../tools/toolbox.ts";
import type { LiveDelegation } from "../live-delegation.ts";
import { isReviewed, type Placement } from "./placement.ts";
import type { Resolved } from "./resolve-profile.ts";
import { SharedValues } from "./shared-values.ts";
import type { Start } from "./start-delegation.ts";

interface Beginning {
  readonly prompt: string;
  readonly carries: readonly Carried[];
  readonly addresses: readonly string[];
}

/** Everything that was agreed, written out. From here on only the contract counts. */
export function makeContract(
  start: Start,
  { agent, profile }: Resolved,
  granted: Granted,
  placement: Placement | null,
  { addresses, carries, prompt }: Beginning,
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
      depth: caller ? caller.contract.parent.depth + 1 : start.watches ? 1 : 0,
      ...(start.watches && { watches: start.watches.id }),
      ...(carries.length > 0 && { carries }),
      ...(addresses.length > 0 && { addresses }),
      task_prompt: beginningOf(run.settings.task),
      goal_summary: caller?.contract.step.title ?? titleOf(run.settings.task),
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
    principal: run.settings.grant.principal,
    permissions: permissions.share({
      allowed_tools: granted.mayUse.tools as readonly string[],
      can_spawn_children: granted.canSpawn,
      max_delegation_depth: granted.depth,
      ...(granted.beyondDepth.length > 0 && { beyond_depth: names.share(granted.beyondDepth) }),
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
    outputs: outputsOf(start, placement),
    budget: {
      tokens: granted.tokens,
      cost: granted.cost,
      reserve: Math.min(1000, Math.floor(granted.tokens / 20)),
    },
    workspace: placement === null ? noWorkspace : workspaceOf(start, profile, placement),
    exit:
      exit === undefined || !bindsExit(start, exit)
        ? noExitRule
        : {
            tools: exitTools(exit, run.parts.toolbox).filter((tool) =>
              includes(granted.mayUse.tools, tool),
            ),
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

/**
 * Whether the exit rule of its profile binds it. A watcher ends with what it watches. An agent that
 * answers a person may answer in words alone; a form or a review that its profile asks for stays.
 */
export function bindsExit(
  { isConversation, way }: Pick<Start, "isConversation" | "way">,
  { outputSchema, review }: NonNullable<Profile["exit"]>,
): boolean {
  if (way === "watch") return false;
  return isConversation !== true || outputSchema !== undefined || review !== undefined;
}

/** Work that has to be reviewed can end in no other way than by being handed in for that. */
export function exitTools(
  { review, tools = none }: NonNullable<Profile["exit"]>,
  toolbox: Toolbox,
): readonly string[] {
  if (review === undefined || tools.length > 0) return tools;
  return toolbox.names.filter((name) => toolbox.get(name)?.mayComeBack);
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
  const { toolbox } = run.parts;
  const savesMemory = (name: string): boolean => toolbox.get(name)?.savesMemory === true;
  if (!(mayUse.tools as readonly string[]).some(savesMemory)) return undefined;
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
  const said = context?.trim() === "" ? undefined : context;
  if (opening === undefined) return said ?? null;
  return said === undefined ? opening : `${opening}\n\n${said}`;
}

/** The pattern that counts is the root's: it holds for all children, also after a recovery. */
function outputsOf(start: Start, placement: Placement | null): Contract["outputs"] {
  const { caller, planned, run } = start;
  const { reportPathPattern, sealOnComplete } = run.parts.limits;
  const isRoot = run.delegations.root === null;
  // Into a folder whose changes a person reviews nothing comes past that review but our own folder.
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
  return outputs.share({ ...common, report_path_pattern: own });
}

/** Planners below the root count their steps each for themselves: `1.` comes before those of one. */
function indexAbove({ contract, parent }: LiveDelegation): string {
  if (parent === null) return "";
  const { report_index: index = `${indexAbove(parent)}${contract.parent.step_idx}` } =
    contract.outputs;
  return `${index}.`;
}

/** What the run is about is in every contract of it; a plan as a task must not be so in whole. */
function beginningOf(task: string): string {
  return clip(task, longestTask);
}

const longestTask = 10_000;

function titleOf(task: string): string {
  const [line = ""] = task.trim().split("\n", 1);
  return clip(line, 80);
}
