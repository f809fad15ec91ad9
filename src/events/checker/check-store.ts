import { controlRunId } from "../../ports/identity.ts";
import type { Inspection, StoredCounters } from "../../ports/inspection.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Store } from "../../ports/store.ts";
import { type Checkpoint, OrderHash } from "../checkpoint.ts";
import type { StoredEvent } from "../event.ts";
import { type PrunedRuns, readPrunedRuns, tellPruned } from "../pruned-runs.ts";
import { isControlEvent } from "../run-state.ts";
import { BodiesCheck, BodyReferences } from "./check-bodies.ts";
import { checkBudget } from "./check-budget.ts";
import {
  acknowledged,
  checkNumbering,
  type ExpectedEvent,
  HeadsCheck,
  inCheckpoint,
  keptInFile,
  verifiedEvents,
} from "./check-chain.ts";
import { checkContainment, checkContract } from "./check-contract.ts";
import { checkControlLog, checkPrunedRun } from "./check-control-log.ts";
import { checkIntegration, checkMergeOrder } from "./check-integration.ts";
import {
  checkAttempts,
  checkCancel,
  checkClosing,
  checkEnding,
  LifecycleCheck,
} from "./check-lifecycle.ts";
import { checkMemories } from "./check-memories.ts";
import { checkMergedFiles } from "./check-merged-files.ts";
import { checkOutcome, EarlierStepsCheck } from "./check-outcome.ts";
import { checkOwnership } from "./check-ownership.ts";
import type { CheckedLog, CheckReport, PrunedSum, Report, Violation } from "./check-report.ts";
import { checkAnswers, checkSeals } from "./check-results.ts";
import { StoredStateCheck } from "./check-stored-state.ts";
import { checkMessages, checkTools } from "./check-tools.ts";
import {
  type CheckedDelegation,
  CheckedRun,
  type RunCheck,
  tellDelegations,
  tellRows,
} from "./checked-run.ts";

export interface CheckOptions {
  /** The only run that is checked; absent: all. */
  readonly runId?: string;
  /** Events that must be stored: from earlier reads, subscriptions or resolved appends. */
  readonly acknowledged?: readonly Acknowledged[];
  /** An earlier state of the log, which the log must extend. */
  readonly against?: Checkpoint;
  /** Called with every delegation of the log. */
  onDelegation?(delegation: CheckedDelegation): void;
  /** Called with every checked log, the control log first. */
  onLog?(log: CheckedLog): void;
  /** False: does not check texts and artifacts. */
  readonly bodies?: false;
  /** Receives the sequence numbers of all runs. */
  readonly order?: OrderHash;
}

export type Acknowledged = Pick<StoredEvent, "run_id" | "seq" | "hash">;

/**
 * The checker: verifies all invariants (see `Invariant`) on the stored rows. It does not trust the runtime
 * or the store's own queries, writes nothing, and can run while both work. Imports events, contracts and
 * ports only.
 * @example const { ok, violations } = await checkStore(store);
 */
export async function checkStore(store: Store, options: CheckOptions = {}): Promise<CheckReport> {
  if (store.inspect === undefined) {
    throw new MandateError("usage", "This store cannot be verified: it has no `inspect`.");
  }
  const inspection = await store.inspect();
  const violations: Violation[] = [];
  const { against, runId: only } = options;
  const sum = { events: 0, delegations: 0 };
  const bodies =
    options.bodies === false ? undefined : new BodiesCheck(inspection, store, violations);
  const reportOf =
    (runId: string): Report =>
    (invariant, message, where) => {
      violations.push({ invariant, runId, ...where, message });
    };
  let pruned: PrunedRuns;
  try {
    const runIds = new Set(await chosenRuns(store, inspection, only));
    const all = expectedEvents(inspection, options);
    const expected = Map.groupBy(all, ({ runId }) => runId);
    const add = (log: CheckedLog): void => {
      sum.events += log.events;
      sum.delegations += log.delegations;
      if (log.events > 0) options.onLog?.(log);
    };
    // First, because it tells which runs were pruned.
    if (runIds.delete(controlRunId)) {
      const report = reportOf(controlRunId);
      const ends = expected.get(controlRunId) ?? [];
      const control = await checkControlLog(store, inspection, report, ends);
      pruned = control.pruned;
      add(control);
      expected.delete(controlRunId);
    } else pruned = await readPrunedRuns(store);
    if (only === undefined) {
      const order = new OrderHash(against?.seq);
      const orders = options.order ? [order, options.order] : [order];
      const last = await checkNumbering(inspection.spans(), pruned.spans(), violations, orders);
      checkOrder(order, against, violations);
      checkCounters(await inspection.counters(), last, reportOf(controlRunId));
      // Only memories of pruned runs are stored.
      for (const { payload } of pruned.all()) if (payload.memories > 0) runIds.add(payload.run);
    }
    for (const runId of new Set([...runIds, ...expected.keys()])) {
      const report = reportOf(runId);
      const ends = expected.get(runId) ?? [];
      const receipt = pruned.get(runId);
      if (receipt !== undefined) {
        await checkPrunedRun(inspection, receipt, report, ends);
        continue;
      }
      const run = { expected: ends, pruned, bodies, onDelegation: options.onDelegation };
      add(await checkRun(store, inspection, runId, report, run));
    }
    if (only === undefined) await bodies?.lookAtRest();
  } finally {
    await inspection.close();
  }
  const removed = prunedSum(only === undefined ? pruned : undefined);
  return {
    ok: violations.length === 0,
    ...sum,
    violations,
    ...(removed && { pruned: removed }),
    ...(only === undefined && inspection.heads && { heads: inspection.heads.heads.length }),
  };
}

/** The events that the log must have: acknowledged ones, heads, and those of a checkpoint. */
function expectedEvents(
  { heads }: Inspection,
  { acknowledged: told = [], against, runId }: CheckOptions,
): readonly ExpectedEvent[] {
  const kept = heads && { missing: keptInFile(heads.path), heads: heads.heads };
  const all = [
    ...told.map(({ hash, run_id, seq }) => ({ runId: run_id, seq, hash, missing: acknowledged })),
    ...(kept?.heads ?? []).map((head) => ({ ...head, missing: kept?.missing ?? "" })),
    ...(against?.runs ?? []).map((end) => ({ ...end, missing: inCheckpoint })),
  ];
  return runId === undefined ? all : all.filter((one) => one.runId === runId);
}

/** I1: sequence numbers belong to the same runs as in the checkpoint. Other checks report missing events. */
function checkOrder(
  order: OrderHash,
  against: Checkpoint | undefined,
  violations: Violation[],
): void {
  if (against === undefined || order.last < against.seq || violations.length > 0) return;
  if (order.digest() === against.order) return;
  const message = "The events of several runs are in another order than in the checkpoint.";
  violations.push({ invariant: "I1", message });
}

/**
 * I7: no number for an id is used twice, and references were collected only from existing events. I15: the
 * index of runs is complete.
 */
function checkCounters(
  { lastNumber, misindexed, nextNumber, referencesSeq }: StoredCounters,
  lastSeq: number,
  report: Report,
): void {
  if (lastNumber >= nextNumber) {
    report("I7", "The store's next number for an id is already in use.");
  }
  if (referencesSeq > lastSeq) {
    report("I7", "References to bodies were collected beyond the end of the log.");
  }
  if (misindexed > 0) {
    report(
      "I15",
      `The index of runs is wrong for ${misindexed} batches of the log, which readers do not see.`,
    );
  }
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
  // The control log is always checked: there may be records without events.
  const all = [controlRunId, ...(await inspection.runIds())];
  if (only === undefined) return all;
  if (all.includes(only)) return [only];
  const told = (await tellPruned(store, only)) ?? `There is no run ${only} to verify.`;
  throw new MandateError("unknown-run", told);
}

interface RunOptions {
  readonly expected: readonly ExpectedEvent[];
  readonly bodies: BodiesCheck | undefined;
  readonly onDelegation: CheckOptions["onDelegation"] | undefined;
  readonly pruned: PrunedRuns;
}

async function checkRun(
  store: Store,
  inspection: Inspection,
  runId: string,
  report: Report,
  { bodies, expected, onDelegation, pruned }: RunOptions,
): Promise<CheckedLog> {
  const run = new CheckedRun(runId, await inspection.readRows(runId), report);
  const heads = new HeadsCheck(expected);
  const references = new BodyReferences();
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
    checkMessages(run),
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
    references,
    state,
  ];
  let events = 0;
  let end = { seq: 0, hash: "" };
  const stored = verifiedEvents(runId, inspection.readBatches(runId), report);
  let next = await stored.next();
  for (; !next.done; next = await stored.next()) {
    const event = next.value;
    events++;
    end = { seq: event.seq, hash: event.hash };
    heads.see(event);
    const id = event.sub_agent_id;
    const delegation = id === undefined ? undefined : lifecycle.see(event, id);
    // An illegal event is reported once; its consequences are not.
    if (id !== undefined && delegation === undefined) continue;
    for (const check of checks) check.see(event, delegation);
  }
  if (onDelegation) {
    const told = next.value ? tellDelegations(run, state.fold) : tellRows(run);
    for (const delegation of told) onDelegation(delegation);
  }
  const counted = { runId, events, delegations: run.delegations.size, ...end };
  if (!next.value) return counted;
  for (const check of checks) check.end?.();
  await earlier.lookUp(store);
  heads.end(report);
  await bodies?.lookUp(run, references.references);
  // A log with illegal events can be read in more than one way, so these answers are not compared.
  if (events > 0 && state.folded === events) await checkAnswers(store, run, state.fold);
  return counted;
}

/** I4: events of the control log are in no run. */
function checkPlace({ report }: CheckedRun): RunCheck {
  return {
    see({ seq, type }) {
      if (isControlEvent(type))
        report("I4", `${type} is an event of the control log, and not of a run.`, { seq });
    },
  };
}
