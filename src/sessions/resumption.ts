import type { Authority } from "../contracts/authority.ts";
import { allGrantedBy, type Contract, externalProvider, modelName } from "../contracts/contract.ts";
import type { RunPrincipal } from "../contracts/run-grant.ts";
import { type Delegation, isOpen } from "../events/delegation.ts";
import { sha256 } from "../events/hash-chain.ts";
import { tellPruned } from "../events/pruned-runs.ts";
import type { RunState } from "../events/run-state.ts";
import type { RunRequest } from "../ports/delegator.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { Store } from "../ports/store.ts";
import { isReadOnlySession } from "./session-records.ts";

/** What to ask for, so that a new run continues an old delegation. */
export interface Resumption {
  readonly request: RunRequest;
  /** All that the old contract gave, for itself or to hand on. */
  readonly held: Authority;
  readonly cost: number | null;
  /** The copy that it worked in. */
  readonly copy: string | undefined;
  /** The prompt that was agreed then. */
  readonly system: string | undefined;
  /** Read-only because its session is read-only. */
  readonly isClosedBySession?: boolean;
}

/** Restrictions of the next run beside its old grant. They never add a right. */
export interface SessionLimits {
  /** The next run writes nothing in the workspace. */
  readonly readOnly?: boolean | undefined;
  /** The session of a surface, which decides whether its workspace may be written. */
  readonly session?: string | undefined;
}

/** A person may change the amounts that were agreed then: they may be why it failed. */
export interface ResumeLimits extends SessionLimits {
  readonly maxTokens?: number | undefined;
  readonly maxCost?: number | undefined;
  readonly timeoutMs?: number | undefined;
}

export interface ContinueOptions extends SessionLimits {
  readonly by?: RunPrincipal | undefined;
  /** A person typed the message, at a surface of ours. */
  readonly isTyped?: boolean | undefined;
  readonly untrustedInput?: string | undefined;
  /** Another model from here on, where the profile names none of its own or has this one too. */
  readonly modelOverride?: string | undefined;
}

/** Resumes a delegation that was cancelled or failed. */
export async function resumption(
  store: Store,
  id: string,
  limits: ResumeLimits = {},
): Promise<Resumption> {
  const { delegation, state } = await findDelegation(store, id);
  if (isOpen(delegation)) throw stillOpen(state.id, delegation);
  if (delegation.status === "closed" && delegation.finalStatus === "completed") {
    const said = `Delegation ${delegation.id} is completed; there is nothing to resume.`;
    throw new MandateError("not-resumable", said);
  }
  const contract = await store.readContract(delegation.id);
  const next = await sameAgain(store, state, contract, delegation.id);
  const { maxCost: cost = next.cost, maxTokens, timeoutMs } = limits;
  const amounts = {
    ...(limits.maxCost !== undefined && { maxCost: limits.maxCost }),
    ...(maxTokens !== undefined && { maxTokens }),
    // The deadline of an attempt depends on the total one: it is computed again.
    ...(timeoutMs !== undefined && { timeoutMs, attemptTimeoutMs: undefined }),
  };
  const request = { ...next.request, ...amounts };
  return keepSessionMode(store, state, { ...next, request, cost }, limits);
}

/**
 * Continues a session: the same agent under what it was granted then, with the person's next message,
 * however the last run ended. A session that is continued twice from the same point becomes two.
 */
export async function continuation(
  store: Store,
  id: string,
  message: string,
  options: ContinueOptions = {},
): Promise<Resumption> {
  if (typeof message !== "string" || message.trim() === "") {
    throw new MandateError(
      "task-required",
      "A session continues with a message: say what is to be done next.",
    );
  }
  const { delegation, state } = await findDelegation(store, id);
  const hasAnswered =
    delegation.status === "waiting_for_merge" && delegation.output.running !== undefined;
  if (isOpen(delegation) && !hasAnswered) throw stillOpen(state.id, delegation);
  if (delegation.parentId !== null || delegation.depth !== 0) {
    throw new MandateError(
      "not-resumable",
      `${delegation.id} worked for another agent, and a person has no session with it. The session that it belongs to is that of run ${state.id}.`,
    );
  }
  const contract = await store.readContract(delegation.id);
  if (contract.model.provider === externalProvider) {
    throw new MandateError(
      "not-resumable",
      `${delegation.id} is an agent of another program (${contract.model.model}): it continues there.`,
    );
  }
  const next = withModel(
    await sameAgain(store, state, contract, delegation.id),
    options.modelOverride,
  );
  const request = {
    ...next.request,
    task: message,
    // What was said of the first message is in the conversation already.
    context: undefined,
    successCriteria: undefined,
    isTyped: options.isTyped,
    untrustedInput: options.untrustedInput,
    isConversation: true,
  };
  // The background children of a delegation that has answered still write into its copy.
  const copy = hasAnswered ? undefined : next.copy;
  return keepSessionMode(store, state, { ...next, request, copy }, options, true);
}

/** Replaces the model by the person's choice: the old contract does not name it. */
function withModel(next: Resumption, model: string | undefined): Resumption {
  if (model === undefined) return next;
  const { models } = next.held;
  const held = { ...next.held, models: models === "*" ? models : [...models, model] };
  const request = { ...next.request, modelOverride: model, isModelChosen: true };
  return { ...next, held, request };
}

interface FoundDelegation {
  readonly state: RunState;
  readonly delegation: Delegation;
  /** The delegation was named by the id of its run. */
  readonly isRun: boolean;
}

/** The delegation with this id. The id of a run finds its root. */
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

function stillOpen(runId: string, { id }: Delegation): MandateError {
  return new MandateError(
    "not-resumable",
    `Delegation ${id} has not ended. Wait for it; if it was interrupted, resume its run: mandate resume ${runId}`,
  );
}

/** The agent of the earlier delegation, under the grant of that time. */
async function sameAgain(
  store: Store,
  { goal, workspace }: RunState,
  contract: Contract,
  id: string,
): Promise<Resumption> {
  const isRoot = contract.parent.sub_agent_id === null;
  const { allowed_tools: allowed, beyond_budget: beyond } = contract.permissions;
  return {
    request: {
      task: contract.step.description,
      profile: contract.profile.id,
      context: contract.step.context ?? undefined,
      workspace,
      resumedFrom: id,
      // A goal waits for its turn again.
      isGoal: goal !== null && isRoot,
      tools: [...allowed, ...(beyond ?? [])],
      maxTokens: contract.budget.tokens,
      timeoutMs: contract.deadlines.total,
      attemptTimeoutMs: contract.execution.attempt_timeout_ms,
      maxDepth: contract.permissions.max_delegation_depth,
      readOnly: contract.outputs.report_path_pattern === null,
      modelOverride: modelName(contract),
      successCriteria: contract.step.success_criteria,
      owns: contract.workspace.owns,
      ...(!isRoot && { addresses: contract.parent.addresses ?? [] }),
      // An exit rule that did not bind it then does not bind it now.
      isConversation: contract.exit.tools.length === 0 && contract.exit.evidence === "none",
    },
    // Without room for its tools it had a short prompt, and the next budget may have that room.
    system: beyond === undefined ? await agreedPrompt(store, contract.profile.prompt) : undefined,
    held: allGrantedBy(contract),
    cost: contract.budget.cost,
    copy: contract.workspace.copy?.id,
  };
}

/** Undefined where it is gone or is another text: then it is made as for every new agent. */
async function agreedPrompt(store: Store, hash: string): Promise<string | undefined> {
  const text = await store.readText(hash);
  return text === undefined || sha256(text) !== hash ? undefined : text;
}

/**
 * A session that a person made read-only is so in all its runs, however they are started. What only
 * the session's mode took away, a person's next message gets back when the mode is taken back.
 */
async function keepSessionMode(
  store: Store,
  { session: before, workspace }: RunState,
  next: Resumption,
  { readOnly = false, session }: SessionLimits,
  mayGetBack = false,
): Promise<Resumption> {
  const all = [session, before?.id].filter((one) => one !== undefined);
  const modes = await Promise.all(all.map((one) => isReadOnlySession(store, one)));
  const closing = all[modes.indexOf(true)];
  // The session that is read-only is kept: it must not be lost on the way through another one.
  const request = { ...next.request, session: closing ?? all[0] };
  const wasClosed = mayGetBack && before?.read_only === true && workspace !== null;
  if (readOnly || closing !== undefined) {
    const couldWrite = wasClosed || next.held.write_roots.length > 0;
    const isClosedBySession = !readOnly && couldWrite;
    return { ...withoutWriting({ ...next, request }), isClosedBySession };
  }
  if (!wasClosed) return { ...next, request };
  const held = { ...next.held, write_roots: [workspace] };
  return { ...next, held, request: { ...request, readOnly: false } };
}

/** A run that cannot write needs no copy to write in. */
export function withoutWriting(resumption: Resumption): Resumption {
  const { held, request } = resumption;
  return {
    ...resumption,
    request: { ...request, readOnly: true },
    held: { ...held, write_roots: [] },
    copy: undefined,
  };
}
