import { externalProvider, modelName } from "../../contracts/contract.ts";
import { isPattern } from "../../contracts/selection.ts";
import { isSuspended } from "../../events/check-owner.ts";
import { type Delegation, isOpen } from "../../events/delegation.ts";
import type { RunState } from "../../events/run-state.ts";
import type { DelegationResult, StartedRun } from "../../ports/delegator.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { messageOf } from "../../ports/message-of.ts";
import type { Store } from "../../ports/store.ts";
import type { DispatchedWork } from "../../ports/workers.ts";
import { untilClosed } from "../../sessions/session-children.ts";
import { type WorkOutcome, workOnBranch } from "../distributed/branch.ts";
import { workOf } from "../distributed/distributed-execution.ts";
import { canReachWorkspace } from "../distributed/remote-copy.ts";
import { type Orphan, tendOrphans } from "../distributed/tend-orphans.ts";
import { cancelStored } from "../ends/cancel-stored.ts";
import type { EngineParts } from "../engine-parts.ts";
import type { Scheduler } from "../scheduler.ts";
import { interruptLostProgram } from "../suspend/suspend-stored.ts";
import type { EngineState } from "./live-runs.ts";

export interface WorkOptions {
  readonly isLastResort?: boolean;
  /** Called once it has a place here, waits for one, or waits without one. */
  readonly onQueued?: () => void;
}

/** Works on single delegations of distributed runs, as a queue hands them out. */
export class BranchWorker {
  readonly #own: EngineState;
  /** Claimed by this process, or about to be. */
  readonly #claimed = new Set<string>();

  constructor(own: EngineState) {
    this.#own = own;
  }

  /**
   * Works on a delegation until it has closed, was handed in, or belongs to another worker ("busy").
   * "unfit": a model, a tool or a folder is missing here; as a last resort this worker takes it all
   * the same, and it fails.
   */
  async workOn(
    work: Pick<DispatchedWork, "delegationId" | "runId">,
    { isLastResort = false, onQueued = () => undefined }: WorkOptions = {},
  ): Promise<WorkOutcome | "unfit"> {
    const { parts } = this.#own;
    const { delegationId: id, runId } = work;
    if (!isLastResort && (await obstacleToWork(parts, runId, id)) !== undefined) return "unfit";
    // A second worker of this process would present the same claim.
    if (this.#claimed.has(id)) return "busy";
    this.#claimed.add(id);
    try {
      return await workOnBranch(this.#own, work, onQueued);
    } finally {
      this.#claimed.delete(id);
    }
  }

  /** The places that the work here shares. */
  get places(): Scheduler {
    return this.#own.parts.scheduler;
  }

  /** Delegations of this process without a place: they wait for a person, children, a budget, … */
  get suspended(): ReadonlySet<string> {
    const ids = new Set<string>();
    for (const { execution } of this.#own.runs.branches) {
      const { here } = execution;
      if (here !== null && !here.process.time.hasSlot) ids.add(here.id);
    }
    return ids;
  }

  /** Watches over orphans until other workers claim them: see `tendOrphans`. */
  tendOrphans(orphans: readonly Orphan[]): Promise<readonly Orphan[]> {
    return tendOrphans(this.#own.parts, orphans);
  }

  /** Re-enqueues the orphaned delegations of all distributed runs, whichever application has them. */
  reenqueueOrphans(): Promise<void> {
    return reenqueueOrphans(this.#own.parts);
  }
}

/** Why this process cannot work on a run, or on one delegation of it; undefined: it can. */
export async function obstacleToWork(
  parts: EngineParts,
  runId: string,
  only?: string,
): Promise<MandateError | undefined> {
  const { models, store, toolbox } = parts;
  const run = await store.readRun(runId);
  if (run === undefined) return undefined;
  const asked = only === undefined ? [...run.delegations.values()] : [run.delegations.get(only)];
  for (const delegation of asked) {
    if (delegation === undefined || !isOpen(delegation)) continue;
    try {
      const contract = await store.readContract(delegation.id);
      const missing = contract.permissions.allowed_tools.find(
        // The tools of servers are found when they are opened.
        (tool) => !isPattern(tool) && !tool.startsWith("mcp__") && toolbox.get(tool) === undefined,
      );
      if (missing !== undefined) return notHere(delegation.id, `the tool "${missing}"`);
      if (contract.model.provider !== externalProvider) models.resolve(modelName(contract));
      if (only === undefined) continue;
      if (!(await canReachWorkspace(parts, run, delegation, contract))) {
        return notHere(delegation.id, "its workspace");
      }
    } catch (error) {
      if (!(error instanceof MandateError)) return notHere(delegation.id, messageOf(error));
      // A delegation whose contract was changed is closed by its recovery; a key may be found later.
      if (error.code !== "contract-invalid") return error;
    }
  }
  return undefined;
}

function notHere(id: string, what: string): MandateError {
  const message = `${id} needs ${what}, which this process does not have. Resume the run where it was started.`;
  return new MandateError("not-resumable", message);
}

export async function reenqueueOrphans(parts: EngineParts): Promise<void> {
  const { store } = parts;
  let before: string | undefined;
  for (;;) {
    const rows = await store.listRuns({ open: true, limit: pageSize, ...(before && { before }) });
    for (const { id } of rows) {
      const state = await store.readRun(id);
      if (state?.spread) await reenqueueOrphansOf(parts, state);
    }
    // The oldest runs come last, and are the likeliest to be orphaned.
    if (rows.length < pageSize) return;
    before = rows.at(-1)?.id;
  }
}

const pageSize = 1000;

/**
 * Re-enqueues what no worker works on: its worker died, or the process that made it died before it
 * was in the queue. Undefined when there is nothing of that.
 */
export async function reenqueueOrphansOf(
  parts: EngineParts,
  state: RunState,
): Promise<StartedRun | undefined> {
  const { dispatcher, store } = parts;
  const [root] = state.delegations.values();
  if (dispatcher === undefined || root === undefined) return undefined;
  let isAny = false;
  for (const delegation of [...state.delegations.values()]) {
    const { id } = delegation;
    if (!(await isOrphaned(store, state, delegation))) continue;
    const contract = await store.readContract(id).catch(() => undefined);
    const isProgram = contract?.model.provider === externalProvider;
    if (isProgram && !(await interruptLostProgram(parts, state))) return undefined;
    if (contract === undefined) {
      const text = "Its stored contract is not the one it was created with.";
      await cancelStored(parts, state.id, id, { code: "contract_invalid", text });
      continue;
    }
    isAny = true;
    await dispatcher.dispatch(workOf({ contract, id }));
  }
  if (!isAny) return undefined;
  let result: Promise<DelegationResult> | undefined;
  const closed = () => {
    result ??= untilClosed(parts, { runId: state.id, id: root.id });
    return result;
  };
  return {
    runId: state.id,
    delegationId: root.id,
    /** Asked for lazily: a process that only re-enqueues does not wait. */
    get result() {
      return closed();
    },
    /** The worker of the delegation knows the answer; this process only waits for the end. */
    get answer() {
      return closed();
    },
  };
}

async function isOrphaned(store: Store, run: RunState, delegation: Delegation): Promise<boolean> {
  const { depth, parentId, share, status } = delegation;
  if (!isOpen(delegation) || share === undefined) return false;
  if (status === "waiting_for_merge" && parentId !== null) return false;
  if (isSuspended(run, delegation.id)) return false;
  if (share.worker === null && share.fence > 0) return true;
  if (share.worker !== null) return !(await store.isWorkerAlive(share.worker));
  // A watcher goes where the root is; a root that was never claimed may still be on its way.
  if (parentId === null && depth !== 0) return false;
  return parentId !== null || !(await store.isWorkerAlive(run.worker));
}
