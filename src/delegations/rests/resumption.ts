import type { Authority } from "../../contracts/authority.ts";
import { type Contract, mayDelegate, mayUse, modelName } from "../../contracts/contract.ts";
import type { Selection } from "../../contracts/selection.ts";
import type { Delegation } from "../../events/delegation.ts";
import { sha256 } from "../../events/hash-chain.ts";
import { tellPruned } from "../../events/pruned-runs.ts";
import type { RunState } from "../../events/run-state.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Store } from "../../ports/store.ts";
import type { RunRequest } from "../runs/run-request.ts";
import { keepSessionMode, type SessionLimits } from "./session-mode.ts";

export interface Resumption {
  readonly request: RunRequest;
  /** All that the old contract gave, for itself or to hand on. */
  readonly held: Authority;
  readonly cost: number | null;
  /** The copy that it worked in. */
  readonly copy: string | undefined;
  /** The prompt that was agreed then. */
  readonly system: string | undefined;
  /** It may not write for its session's sake alone. */
  readonly isClosedBySession?: boolean;
}

/** What a person may say anew: the amounts that were agreed then may be what it failed of. */
export interface ResumeLimits extends SessionLimits {
  readonly maxTokens?: number | undefined;
  readonly maxCost?: number | undefined;
  readonly timeoutMs?: number | undefined;
}

/** What to ask for, to go on with a delegation that was cancelled or failed. */
export async function resumption(
  store: Store,
  id: string,
  limits: ResumeLimits = {},
): Promise<Resumption> {
  const { delegation, state } = await findClosed(store, id);
  if (delegation.finalStatus === "completed") {
    throw new MandateError(
      "not-resumable",
      `Delegation ${delegation.id} is completed; there is nothing to resume.`,
    );
  }
  const contract = await store.readContract(delegation.id);
  const next = await goingOn(store, state, contract, delegation.id);
  const request = { ...next.request, ...amountsOf(limits) };
  const { maxCost: cost = next.cost } = limits;
  return keepSessionMode(store, state, { ...next, request, cost }, limits);
}

/** An attempt had at most all of the time: with another amount of it, that is made anew. */
function amountsOf({ maxCost, maxTokens, timeoutMs }: ResumeLimits): Partial<RunRequest> {
  return {
    ...(maxCost !== undefined && { maxCost }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(timeoutMs !== undefined && { timeoutMs, attemptTimeoutMs: undefined }),
  };
}

type In<Status extends Delegation["status"]> = Extract<Delegation, { status: Status }>;

/** Of a run, its root. */
export async function findDelegation(store: Store, id: string): Promise<FoundDelegation> {
  const runId = await store.findRun(id);
  const state = runId === undefined ? undefined : await store.readRun(runId);
  const named = state?.delegations.get(id);
  const delegation = named ?? [...(state?.delegations.values() ?? [])][0];
  if (state === undefined || delegation === undefined) {
    const pruned = await tellPruned(store, id);
    throw new MandateError("unknown-delegation", pruned ?? `There is no delegation ${id}.`);
  }
  return { state, delegation, isRun: named === undefined };
}

interface FoundDelegation {
  readonly state: RunState;
  readonly delegation: Delegation;
  /** It was named by the id of its run. */
  readonly isRun: boolean;
}

async function findClosed(
  store: Store,
  id: string,
): Promise<{ readonly state: RunState; readonly delegation: In<"closed"> }> {
  const { delegation, state } = await findAnswered(store, id);
  if (delegation.status === "closed") return { state, delegation };
  throw stillOpen(state.id, delegation);
}

/** The same, or one that has answered while its background children run. */
export async function findAnswered(
  store: Store,
  id: string,
): Promise<{
  readonly state: RunState;
  readonly delegation: In<"closed"> | In<"waiting_for_merge">;
}> {
  const { delegation, state } = await findDelegation(store, id);
  if (delegation.status === "closed") return { state, delegation };
  const { status } = delegation;
  if (status === "waiting_for_merge" && delegation.output.running) return { state, delegation };
  throw stillOpen(state.id, delegation);
}

function stillOpen(runId: string, { id }: Delegation): MandateError {
  return new MandateError(
    "not-resumable",
    `Delegation ${id} has not ended. Wait for it; if it was interrupted, resume its run: mandate resume ${runId}`,
  );
}

/** The same agent again, under what it was granted then. */
export async function goingOn(
  store: Store,
  { goal, workspace }: RunState,
  contract: Contract,
  id: string,
): Promise<Resumption> {
  return {
    request: {
      task: contract.step.description,
      profile: contract.profile.id,
      context: contract.step.context ?? undefined,
      workspace,
      resumedFrom: id,
      // A goal waits for its turn again.
      isGoal: goal !== null && contract.parent.sub_agent_id === null,
      tools: contract.permissions.allowed_tools,
      maxTokens: contract.budget.tokens,
      timeoutMs: contract.deadlines.total,
      attemptTimeoutMs: contract.execution.attempt_timeout_ms,
      maxDepth: contract.permissions.max_delegation_depth,
      readOnly: contract.outputs.report_path_pattern === null,
      modelOverride: modelName(contract),
      successCriteria: contract.step.success_criteria,
      owns: contract.workspace.owns,
      ...(contract.parent.sub_agent_id !== null && {
        addresses: contract.parent.addresses ?? [],
      }),
      // What it was not held to then does not bind it now.
      isConversation: contract.exit.tools.length === 0 && contract.exit.evidence === "none",
    },
    system: await agreedPrompt(store, contract.profile.prompt),
    held: heldBy(contract),
    cost: contract.budget.cost,
    copy: contract.workspace.copy?.id,
  };
}

/** Undefined where it is gone or is another text: then it is made anew, as for every new agent. */
async function agreedPrompt(store: Store, hash: string): Promise<string | undefined> {
  const text = await store.readText(hash);
  return text === undefined || sha256(text) !== hash ? undefined : text;
}

/** All that it gives, for itself or to hand on. */
export function heldBy(contract: Contract): Authority {
  const [own, given] = [mayUse(contract), mayDelegate(contract)];
  return {
    tools: union(own.tools, given.tools),
    skills: union(own.skills, given.skills),
    mcp_servers: union(own.mcp_servers, given.mcp_servers),
    models: union(own.models, given.models),
    scopes: union(own.scopes, given.scopes),
    write_roots: [...new Set([...own.write_roots, ...given.write_roots])],
    network: union(own.network, given.network),
    ways_out: union(own.ways_out ?? [], given.ways_out ?? []),
    // What bound it then binds it now, and whoever it delegates to.
    ...(own.rules && { rules: own.rules }),
  };
}

function union(left: Selection, right: Selection): Selection {
  return left === "*" || right === "*" ? "*" : [...new Set([...left, ...right])];
}
