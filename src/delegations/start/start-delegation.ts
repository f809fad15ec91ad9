import { type Contract, externalProvider } from "../../contracts/contract.ts";
import type { Carried } from "../../contracts/exposure.ts";
import { type Granted, narrow, type Refused } from "../../contracts/narrow.ts";
import type { ReceiptLine } from "../../contracts/receipt.ts";
import { includes } from "../../contracts/selection.ts";
import { withinGrant } from "../../contracts/within-grant.ts";
import type { ArtifactReference, NewEvent } from "../../events/event.ts";
import { sha256 } from "../../events/hash-chain.ts";
import { create as createDelegation } from "../../events/lifecycle.ts";
import { CallDenied } from "../../ports/call-denied.ts";
import type { DelegationRequest, DelegationWay } from "../../ports/delegator.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Message } from "../../ports/model.ts";
import type { Profile } from "../../profiles/profile.ts";
import { skillName } from "../../skills/skill-name.ts";
import type { WorkingCopies } from "../../workspaces/git/copies/working-copies.ts";
import type { WorkingCopy } from "../../workspaces/git/copies/working-copy.ts";
import { GitFailure } from "../../workspaces/git/git-failure.ts";
import { ownershipOverlaps } from "../../workspaces/git/integration/match-ownership.ts";
import { Conversation } from "../conversation.ts";
import { Stopped } from "../ends/ending.ts";
import { LiveDelegation } from "../live-delegation.ts";
import { budgetFor, type LiveRun } from "../live-run.ts";
import { requireOutputSchema } from "../turns/judge-output.ts";
import type { PlannedChild } from "../turns/live-plan.ts";
import { addressesFor, carriedBy } from "./carried.ts";
import { ceilingOf, claimsOf, rootRules } from "./claims.ts";
import { bindsExit, exitTools, makeContract } from "./make-contract.ts";
import {
  chooseIsolation,
  obstacleToWriting,
  type Placement,
  place,
  surroundingsOf,
} from "./placement.ts";
import { slipInProfile, slipInRequest } from "./profile-slips.ts";
import { type Resolved, resolveProfile, type Unresolved } from "./resolve-profile.ts";
import { systemPrompt } from "./system-prompt.ts";

export interface Start {
  readonly run: LiveRun;
  /** Null: a person, or an agent of another program. */
  readonly caller: LiveDelegation | null;
  readonly request: DelegationRequest;
  readonly way: DelegationWay | "root" | "session" | "watch";
  /** For a watcher: whose session it watches. It is a person who has it watched. */
  readonly watches?: LiveDelegation;
  /** For a session: the program whose agent holds it. */
  readonly client?: string;
  readonly callId: string | null;
  /** Asked for when making it takes time: aborts when nobody wants it any more. */
  readonly signal?: () => AbortSignal;
  /** Its place in its plan, or in the run. */
  readonly step: number;
  /** Of a child that a plan asks for. */
  readonly planned?: PlannedChild | undefined;
  /** It answers a person: the exit rule of its profile is for delegated work. */
  readonly isConversation?: boolean;
  /** The copy of the delegation that is resumed: it goes on in it, or in a new one. */
  readonly copy?: WorkingCopy | "new" | undefined;
  /** What its fresh copy holds, for workers on other machines. */
  readonly bundle?: ArtifactReference | undefined;
  /** Written in the same transaction, before the child exists. */
  readonly before?: readonly NewEvent[];
  /** The prompt of the delegation that is resumed, in place of one made anew. */
  readonly system?: string | undefined;
  /** The call that makes it was given results of children who had read strangers' words. */
  readonly isTold?: true;
  /** What the one that it goes on from had come to hold. */
  readonly carries?: readonly Carried[] | undefined;
  /** Of a resumed sub-agent: the addresses that it had from its caller, in place of its task's. */
  readonly addresses?: readonly string[] | undefined;
  /** The conversation that a resumed delegation continues. */
  readonly opening?: readonly Message[] | undefined;
}

export type Started = Made | Unresolved;

interface Made {
  readonly agent: LiveDelegation;
  readonly receipt: readonly ReceiptLine[];
  readonly created: Promise<unknown>;
}

/**
 * From a request to a child that is queued, under a contract: resolve who it is, narrow what it may
 * do, write both down. Whatever is refused leaves no row. At once, unless a copy is to be made.
 */
export function startDelegation(start: Start): Started | Promise<Started> {
  const { run, request } = start;
  const { limits } = run.parts;
  if (typeof request.task !== "string" || request.task.trim() === "")
    return { rule: "task", reason: "task is required" };
  const resolved = resolveProfile(start);
  if (!("profile" in resolved)) return resolved;
  const { profile } = resolved;
  const ofOwn = profile.project?.own && slipInProfile(start, profile.project.own);
  const slip = ofOwn ?? slipInProfile(start, profile) ?? slipInRequest(start);
  if (slip !== undefined) return { rule: "slip", reason: slip };
  if (sizeOf(run) >= limits.maxChildren) {
    return {
      rule: "children",
      reason: `the run already has ${limits.maxChildren} delegations, which is its limit`,
    };
  }
  try {
    const granted = grant(start, resolved);
    if (!granted.allowed) return { rule: granted.rule, reason: granted.reason };
    const closedIn = lackOfExit(start, resolved, granted);
    if (closedIn !== undefined) return { rule: "exit", reason: closedIn };
    // Most have nothing to say, and a thousand siblings share the one list that says so.
    const lines = resolved.receipt.length + granted.receipt.length;
    const receipt = lines === 0 ? nothing : [...resolved.receipt, ...granted.receipt];
    const agreed = { ...granted, mayUse: fittingAuthority(start, resolved, granted), receipt };
    const id = run.parts.store.newDelegationId();
    if (run.settings.workspace === null) return create(start, resolved, agreed, id, null);
    const unwritable = obstacleToWriting(start, agreed);
    if (unwritable !== undefined) return fault("workspace_read_only", unwritable);
    const isolation = chooseIsolation(start, resolved.profile, agreed);
    if (isolation === "sandbox") return createInCopy(start, resolved, agreed, id);
    const { folder } = resolved.profile.workspace ?? {};
    const roots = agreed.mayUse.write_roots;
    return create(
      start,
      resolved,
      agreed,
      id,
      place(start, isolation, roots, { copy: null, folder }),
    );
  } catch (error) {
    return asRefusal(error);
  }
}

/**
 * Some tools are for one kind of agent alone. A watcher changes nothing, leaves nothing behind, asks
 * nobody, and ends with what it watches: all that it can do is look, and remark.
 */
function fittingAuthority(
  { run, way }: Start,
  { profile }: Resolved,
  { mayUse }: Granted,
): Granted["mayUse"] {
  const { toolbox } = run.parts;
  const tools = mayUse.tools as readonly string[];
  if (way === "watch") {
    const isHarmless = (name: string): boolean => {
      const { effect, ends, onlyFor, savesMemory } = toolbox.get(name) ?? {};
      if (onlyFor === "orchestrator" || savesMemory || ends !== undefined) return false;
      return effect === "read" || effect === "network";
    };
    return { ...mayUse, tools: tools.filter(isHarmless), mcp_servers: [], write_roots: [] };
  }
  // What reaches a folder that is reviewed comes from a copy; a session has none.
  if (way === "session" && run.settings.isReviewed) return { ...mayUse, write_roots: [] };
  const isLeader = profile.capabilities.includes("orchestrator");
  const isForeign = (name: string): boolean => {
    const { onlyFor } = toolbox.get(name) ?? {};
    return onlyFor === "watcher" || (onlyFor === "orchestrator" && !isLeader);
  };
  return tools.some(isForeign)
    ? { ...mayUse, tools: tools.filter((name) => !isForeign(name)) }
    : mayUse;
}

function asRefusal(error: unknown): Started {
  if (error instanceof MandateError) {
    const { code, message: reason } = error;
    // A missing model is no refusal: the caller configures one and asks again.
    const isAboutModel = code === "model-not-configured" || code === "unknown-model";
    return { rule: code, reason, ...(isAboutModel && { code }) };
  }
  if (error instanceof CallDenied) return { rule: error.rule, reason: error.message };
  throw error;
}

/** The state that its caller's folder has now is what it starts from, whenever it gets its slot. */
async function createInCopy(
  start: Start,
  resolved: Resolved,
  granted: Granted,
  id: string,
): Promise<Started> {
  const { run } = start;
  run.delegations.starting++;
  try {
    const copies = await run.parts.copies();
    const kept = start.copy === "new" ? undefined : start.copy;
    const copy = kept ?? (await makeCopy(start, id, copies));
    try {
      const bundle = kept
        ? undefined
        : await run.execution.travel.packStart(start.caller, copies, copy);
      start.signal?.().throwIfAborted();
      if (start.caller?.process.end.isEnding) throw new Stopped({ code: "caller_closed" });
      const placement = place(start, "sandbox", granted.mayUse.write_roots, { copy });
      const started = await create({ ...start, bundle }, resolved, granted, id, placement);
      if (kept !== undefined) return started;
      // Whatever does not come to be needs no copy: it was refused, or its caller had ended.
      if (!("agent" in started)) await copies.remove(copy);
      else started.created.catch(() => copies.remove(copy));
      return started;
    } catch (error) {
      if (kept === undefined) await copies.remove(copy);
      throw error;
    }
  } catch (error) {
    return isMachineFault(error) ? unmade(error) : asRefusal(error);
  } finally {
    run.delegations.starting--;
  }
}

/** A missing git or a disk that fails is no mistake of the caller, and no model can change it. */
function unmade({ message }: Error): Started {
  const sentence = message.endsWith(".") ? message : `${message}.`;
  return fault("working_copy", `Its working copy could not be made: ${sentence}`);
}

function fault(rule: string, reason: string): Unresolved {
  return { rule, reason, isFault: true, code: "usage" };
}

function isMachineFault(error: unknown): error is Error {
  return (error instanceof GitFailure && error.kind !== "aborted") || isSystemError(error);
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  if (!(error instanceof Error) || error instanceof MandateError) return false;
  const { code } = error as NodeJS.ErrnoException;
  return code !== undefined && /^E[A-Z0-9]+$/.test(code);
}

function makeCopy(start: Start, id: string, copies: WorkingCopies): Promise<WorkingCopy> {
  const source = surroundingsOf(start).root;
  const signal = start.signal?.();
  return copies.create({ source, id, ...(signal && { signal }) });
}

/** A project's layers of a profile that is not the project's yield at most what it gets without them. */
function grant(start: Start, resolved: Resolved): Granted | Refused {
  const granted = grantTo(start, resolved, resolved.profile);
  const own = resolved.profile.project?.own;
  if (!granted.allowed || own === undefined) return granted;
  const most = grantTo(start, resolved, own);
  return most.allowed ? withinGrant(granted, most) : most;
}

function grantTo(
  { caller, planned, request, run, way }: Start,
  { entry }: Resolved,
  profile: Profile,
): Granted | Refused {
  const { limits, models } = run.parts;
  return narrow({
    ceiling: ceilingOf(run, caller, planned !== undefined),
    // Who answers in another program's agent is that program's business: here it is only a name.
    profile: claimsOf(
      run,
      profile,
      way === "session"
        ? [profile.model?.model ?? ""]
        : models.candidates(profile.model ?? anyModel),
    ),
    entry,
    request: {
      tools: request.tools,
      forwardSkills: request.forwardSkills?.map(skillName),
      modelOverride: request.modelOverride,
      tokens: request.maxTokens,
      cost: request.maxCost,
      timeMs: request.timeoutMs,
      depth: request.maxDepth,
    },
    rules: way === "root" || way === "session" ? rootRules(run) : limits,
    mayNest: way !== "spawn" && way !== "watch",
    hasPrice: (name) => isPriced(models, name),
    inheritsSpawning: caller === null,
  });
}

/** Mandate sends no requests for another program's agent, so its model needs no price here. */
function isPriced(models: LiveRun["parts"]["models"], name: string): boolean {
  return name.startsWith(`${externalProvider}/`) || models.price(name) !== undefined;
}

const anyModel = Object.freeze({});
const nothing: readonly ReceiptLine[] = Object.freeze([]);

/** A child that may not call what it has to end with could only fail, in the end. */
function lackOfExit(
  start: Start,
  { profile: { exit, name } }: Resolved,
  granted: Granted,
): string | undefined {
  if (exit === undefined || !bindsExit(start, exit)) return undefined;
  const exits = exitTools(exit, start.run.parts.toolbox);
  if (exit.review !== undefined && !granted.canSpawn) {
    return `"${name}" hands its work to "${exit.review.profile}" for review, and no level of delegation is left for that.`;
  }
  if (exits.length === 0 || exits.some((tool) => includes(granted.mayUse.tools, tool))) {
    return undefined;
  }
  return `"${name}" may end only by calling ${exits.join(" or ")}, and its caller may hand on none of them.`;
}

function create(
  start: Start,
  resolved: Resolved,
  granted: Granted,
  id: string,
  placement: Placement | null,
): Started | Promise<Started> {
  const { run, caller, way } = start;
  const { parts } = run;
  const { profile } = resolved;
  if (profile.exit?.outputSchema) requireOutputSchema(profile.exit.outputSchema, profile.name);
  const rival = rivalOf(start);
  if (rival !== undefined) return { rule: "ownership", reason: rival };
  const workspace = placement?.binding ?? null;
  let hasFiles = false;
  const seesFile = (): void => {
    hasFiles = true;
  };
  const system = start.system ?? systemPrompt(start, profile, granted, workspace, seesFile);
  const prompt = parts.store.keepText(system);
  const contract = makeContract(start, resolved, granted, placement, {
    prompt,
    carries: carriedBy(start, hasFiles),
    addresses: addressesFor(start),
  });
  const json = JSON.stringify(contract);
  const creation = createdEvent({ contract, id, json }, start, granted);
  const identity = { id, run, parent: caller, contract, system, workspace };
  const agent = new LiveDelegation(
    {
      ...identity,
      budget: budgetFor(run, caller, { id, contract }),
      copy: placement?.copy ?? null,
    },
    createDelegation({ ...creation, at: parts.clock.now() }),
    new Conversation(start.opening ?? openingOf(contract)),
  );
  const events = [...(start.before ?? []), creation, ...clampedEvents(id, granted)];
  const created = run.append(events, { contracts: new Map([[id, json]]) });
  agent.process.appends.add(created);
  run.delegations.add(agent);
  if (way === "delegate") run.delegations.joining.add(id);
  if (way === "root" || way === "session") run.delegations.root = agent;
  const started = { agent, receipt: granted.receipt, created };
  if (way === "session") return started;
  const begun = run.execution.begin(agent, created);
  return begun === undefined ? started : begun.then((refused) => refused ?? started);
}

/** Two that may change the same paths do not work side by side. */
function rivalOf({ caller, request: { owns } }: Start): string | undefined {
  if (owns === undefined || owns.length === 0) return undefined;
  const rival = caller?.process.children.find(
    ({ contract, process }) =>
      process.end.result === null && ownershipOverlaps(owns, contract.workspace.owns),
  );
  if (rival === undefined) return undefined;
  return `What it owns overlaps with what ${rival.id} owns (${rival.contract.workspace.owns.join(", ")}), which has not ended yet. Wait for it first.`;
}

function createdEvent(
  { contract, id, json }: { contract: Contract; id: string; json: string },
  { bundle, callId, client, request, run }: Start,
  { receipt }: Granted,
) {
  return {
    type: "agent.subagent_created" as const,
    sub_agent_id: id,
    payload: {
      parent_id: contract.parent.sub_agent_id,
      call_id: callId,
      step_idx: contract.parent.step_idx,
      depth: contract.parent.depth,
      profile: contract.profile.id,
      ...(client !== undefined && { client }),
      title: contract.step.title,
      contract_hash: sha256(json),
      ...run.execution.recorded.delegation(contract),
      ...(bundle && { bundle }),
      ...(request.resumedFrom !== undefined && { resumed_from: request.resumedFrom }),
      ...(request.resumedAt !== undefined && { resumed_at: request.resumedAt }),
      ...(receipt.length > 0 && { receipt }),
    },
  };
}

function clampedEvents(id: string, granted: Granted): NewEvent[] {
  const events: NewEvent[] = [];
  for (const line of granted.receipt) {
    if (line.reason === undefined) continue;
    if (line.field === "model") {
      const payload = { requested: String(line.requested), granted: String(line.granted) };
      events.push({ type: "agent.model_clamped", sub_agent_id: id, payload });
    } else if (line.field === "skills") {
      const payload = { requested: line.requested as string[], granted: line.granted as string[] };
      events.push({ type: "agent.skills_clamped", sub_agent_id: id, payload });
    }
  }
  return events;
}

/** The child's first message: its context and its task, and nothing of its caller's conversation. */
export function openingOf({ step }: Contract): string {
  const criteria = step.success_criteria.map((criterion) => `- ${criterion}`).join("\n");
  return [
    step.context === null ? "" : `Context:\n${step.context}`,
    `Task:\n${step.description}`,
    criteria === "" ? "" : `Success criteria:\n${criteria}`,
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

/** How many delegations the run has, whichever process works on them. */
function sizeOf({ delegations, execution }: LiveRun): number {
  const { byId, starting } = delegations;
  return Math.max(byId.size, execution.log?.delegations.size ?? 0) + starting;
}
