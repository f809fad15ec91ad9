import { controlRunId } from "../../ports/identity.ts";
import type { Inspection } from "../../ports/inspection.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Store } from "../../ports/store.ts";
import { isControlEvent } from "../control-event.ts";
import type { StoredEvent } from "../event.ts";
import { type PrunedRuns, readPrunedRuns, tellPruned } from "../pruned-runs.ts";
import { checkAttempts } from "./check-attempts.ts";
import { checkBudget } from "./check-budget.ts";
import { verifiedEvents } from "./check-chain.ts";
import { checkCancel, checkClosing } from "./check-closing.ts";
import { checkContainment } from "./check-containment.ts";
import { checkContract } from "./check-contract.ts";
import { checkControlLog } from "./check-control-log.ts";
import { EarlierStepsCheck } from "./check-earlier-steps.ts";
import { checkEnding } from "./check-ending.ts";
import { checkIntegration } from "./check-integration.ts";
import { LifecycleCheck } from "./check-lifecycle.ts";
import { checkMemories } from "./check-memories.ts";
import { checkMergeOrder } from "./check-merge-order.ts";
import { checkMergedFiles } from "./check-merged-files.ts";
import { checkNumbering } from "./check-numbering.ts";
import { checkOutcome } from "./check-outcome.ts";
import { checkOwnership } from "./check-ownership.ts";
import { checkPrunedRun } from "./check-pruned.ts";
import type { CheckReport, PrunedSum, Report, Violation } from "./check-report.ts";
import { checkAnswers, checkSeals } from "./check-results.ts";
import { StoredStateCheck } from "./check-stored-state.ts";
import { checkTools } from "./check-tools.ts";
import { type CheckedDelegation, tellDelegations, tellRows } from "./checked-delegation.ts";
import { CheckedRun, type RunCheck } from "./checked-run.ts";

export interface CheckOptions {
  /** One run alone. */
  readonly runId?: string;
  /** What somebody was told is stored: earlier reads, events heard, appends that resolved. */
  readonly acknowledged?: readonly Acknowledged[];
  /** Told of every delegation, as the log has it. */
  onDelegation?(delegation: CheckedDelegation): void;
}

export type Acknowledged = Pick<StoredEvent, "run_id" | "seq" | "hash">;

/**
 * Holds a store against the invariants, from what is stored and nothing else. It trusts neither the
 * runtime nor the store's own reading, writes nothing, and can run beside both.
 */
export async function checkStore(store: Store, options: CheckOptions = {}): Promise<CheckReport> {
  if (store.inspect === undefined) {
    throw new MandateError("usage", "This store cannot be verified: it does not show its rows.");
  }
  const inspection = await store.inspect();
  const violations: Violation[] = [];
  const sum = { events: 0, delegations: 0 };
  const reportOf =
    (runId: string): Report =>
    (invariant, message, where) => {
      violations.push({ invariant, runId, ...where, message });
    };
  let pruned: PrunedRuns;
  try {
    const runIds = new Set(await chosenRuns(store, inspection, options.runId));
    const acknowledged = Map.groupBy(options.acknowledged ?? [], ({ run_id: runId }) => runId);
    const add = (counted: Pick<CheckReport, "events" | "delegations">): void => {
      sum.events += counted.events;
      sum.delegations += counted.delegations;
    };
    // First of all: it says what may be missing from everything else.
    if (runIds.delete(controlRunId)) {
      const report = reportOf(controlRunId);
      const expected = acknowledged.get(controlRunId);
      const control = await checkControlLog(store, inspection, controlRunId, report, expected);
      pruned = control.pruned;
      add(control);
      acknowledged.delete(controlRunId);
    } else pruned = await readPrunedRuns(store);
    if (options.runId === undefined) {
      await checkNumbering(inspection.spans(), pruned.spans(), violations);
      // Of most nothing is left; those that left memories must have them still.
      for (const { payload } of pruned.all()) if (payload.memories > 0) runIds.add(payload.run);
    }
    for (const runId of new Set([...runIds, ...acknowledged.keys()])) {
      const report = reportOf(runId);
      const expected = acknowledged.get(runId);
      const receipt = pruned.get(runId);
      if (receipt !== undefined) {
        const seqs = (expected ?? []).map(({ seq }) => seq);
        await checkPrunedRun(inspection, receipt, report, seqs);
        continue;
      }
      const run = { acknowledged: expected, pruned, onDelegation: options.onDelegation };
      add(await checkRun(store, inspection, runId, report, run));
    }
  } finally {
    await inspection.close();
  }
  const removed = prunedSum(options.runId === undefined ? pruned : undefined);
  return { ok: violations.length === 0, ...sum, violations, ...(removed && { pruned: removed }) };
}

function prunedSum(pruned: PrunedRuns | undefined): PrunedSum | undefined {
  const receipts = [...(pruned?.all() ?? [])];
  const [first] = receipts;
  if (first === undefined) return undefined;
  return {
    runs: receipts.length,
    events: receipts.reduce((events, { payload }) => events + payload.events, 0),
    firstAt: first.at,
    lastAt: receipts.at(-1)?.at ?? first.at,
  };
}

async function chosenRuns(
  store: Store,
  inspection: Inspection,
  only: string | undefined,
): Promise<readonly string[]> {
  // The control log is always there, also when it is empty: there may be records without it.
  const all = [controlRunId, ...(await inspection.runIds())];
  if (only === undefined) return all;
  if (all.includes(only)) return [only];
  const told = (await tellPruned(store, only)) ?? `There is no run ${only} to verify.`;
  throw new MandateError("unknown-run", told);
}

interface RunOptions {
  readonly acknowledged: CheckOptions["acknowledged"] | undefined;
  readonly onDelegation: CheckOptions["onDelegation"] | undefined;
  readonly pruned: PrunedRuns;
}

async function checkRun(
  store: Store,
  inspection: Inspection,
  runId: string,
  report: Report,
  { acknowledged = [], onDelegation, pruned }: RunOptions,
): Promise<Pick<CheckReport, "events" | "delegations">> {
  const run = new CheckedRun(runId, await inspection.readRows(runId), report);
  const missing = new Map(acknowledged.map(({ seq, hash }) => [seq, hash]));
  const lifecycle = new LifecycleCheck(run);
  const state = new StoredStateCheck(run);
  const earlier = new EarlierStepsCheck(run, pruned);
  const checks: readonly RunCheck[] = [
    checkPlace(run),
    checkContract(run),
    checkContainment(run),
    checkAttempts(run),
    checkEnding(run),
    checkOwnership(run),
    checkTools(run),
    checkBudget(run),
    checkClosing(run),
    checkCancel(run),
    checkOutcome(run),
    earlier,
    checkSeals(run),
    checkIntegration(run),
    checkMergeOrder(run),
    checkMergedFiles(run),
    checkMemories(run),
    state,
  ];
  let events = 0;
  const stored = verifiedEvents(runId, inspection.readBatches(runId), report);
  let next = await stored.next();
  for (; !next.done; next = await stored.next()) {
    const event = next.value;
    events++;
    if (missing.get(event.seq) === event.hash) missing.delete(event.seq);
    const id = event.sub_agent_id;
    const delegation = id === undefined ? undefined : lifecycle.see(event, id);
    // An illegal event has been told; what it would have led to is not told as well.
    if (id !== undefined && delegation === undefined) continue;
    for (const check of checks) check.see(event, delegation);
  }
  if (onDelegation) {
    const told = next.value ? tellDelegations(run, state.fold) : tellRows(run);
    for (const delegation of told) onDelegation(delegation);
  }
  const counted = { events, delegations: run.delegations.size };
  if (!next.value) return counted;
  for (const check of checks) check.end?.();
  await earlier.lookUp(store);
  for (const seq of missing.keys()) {
    report("I8", "It was acknowledged, and is not in the log as it was.", { seq });
  }
  // A log with an illegal event is told the same way by nobody.
  if (events > 0 && state.folded === events) await checkAnswers(store, run, state.fold);
  return counted;
}

/** I4: what people decide is in the control log, and in no run. */
function checkPlace({ report }: CheckedRun): RunCheck {
  return {
    see({ seq, type }) {
      if (isControlEvent(type)) report("I4", `${type} does not belong into a run.`, { seq });
    },
  };
}
