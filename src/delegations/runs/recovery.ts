import { isRunInterrupted } from "../../events/is-worked-on.ts";
import { isPaused } from "../../events/run-state.ts";
import type { StartedRun } from "../../ports/delegator.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { RunRow } from "../../ports/store.ts";
import { tidyCopies } from "../changes/take-over.ts";
import {
  type ClaimedRun,
  claimRun,
  continueRecovered,
  recoverClaimed,
} from "../recovery/recover.ts";
import { wakeStored } from "../suspend/suspend-stored.ts";
import { wasNotWritten } from "../work.ts";
import { obstacleToWork, reenqueueOrphansOf } from "./distributed-runs.ts";
import type { EngineState } from "./live-runs.ts";

const firstWaitMs = 1000;
const longestWaitMs = 30_000;

/**
 * Finds interrupted runs and recovers them. A run that cannot be recovered because of a full disk or
 * a database that is away is tried again while this process lives.
 */
export class Recovery {
  readonly #own: EngineState;
  readonly #recovering = new Set<string>();
  /** Runs that are this process's by the log, and that it could not recover. */
  readonly #unrecovered = new Map<string, ClaimedRun>();
  #waitMs = firstWaitMs;
  #again: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(own: EngineState) {
    this.#own = own;
  }

  /** `onRefused` gets the errors of runs that cannot be read, after all others were recovered. */
  async recover(
    only: string | undefined,
    onRefused: (error: MandateError) => void,
  ): Promise<readonly StartedRun[]> {
    const { goals, parts } = this.#own;
    const { application, store } = parts;
    await tidyCopies(parts);
    await parts.programs?.tidy();
    const rows = await store.listRuns({ open: true, application, limit: 10_000 });
    const isNamed = only !== undefined;
    const claimed: ClaimedRun[] = [];
    const recovered: StartedRun[] = [];
    // One damaged run must not keep the others from being recovered.
    const errors: unknown[] = [];
    const unlessFailed = async <Value>(act: () => Promise<Value>): Promise<Value | undefined> => {
      try {
        return await act();
      } catch (error) {
        errors.push(error);
        return undefined;
      }
    };
    try {
      for (const row of rows) {
        if (isNamed && row.id !== only) continue;
        const found = await unlessFailed(() => this.#claim(row, isNamed));
        if (found === undefined) continue;
        if ("runId" in found) recovered.push(found);
        else claimed.push(found);
      }
      // Nothing continues beside what a dead worker's agents had started; one look does for all runs.
      const delegations = claimed.flatMap(({ state }) => [...state.delegations.keys()]);
      if (claimed.length > 0) await parts.endStrays(new Set(delegations));
      for (const one of claimed) {
        const run = await unlessFailed(() => this.#recover(one, isNamed));
        if (run !== undefined) recovered.push(run);
      }
    } finally {
      for (const { id } of claimed) this.#recovering.delete(id);
    }
    await goals.advance();
    if (!isNamed) this.#tryAgain(errors);
    for (const error of errors) if (!(error instanceof MandateError)) throw error;
    for (const error of errors) if (error instanceof MandateError) onRefused(error);
    return recovered;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#again);
  }

  #tryAgain(errors: readonly unknown[]): void {
    clearTimeout(this.#again);
    if (this.#isClosed || !errors.some(wasNotWritten)) {
      this.#waitMs = firstWaitMs;
      return;
    }
    const again = () => this.recover(undefined, () => undefined);
    this.#again = setTimeout(() => again().catch(() => undefined), this.#waitMs).unref();
    this.#waitMs = Math.min(this.#waitMs * 2, longestWaitMs);
  }

  async #claim(row: RunRow, isNamed: boolean): Promise<ClaimedRun | StartedRun | undefined> {
    const { parts, runs } = this.#own;
    const { store } = parts;
    const state = await store.readRun(row.id);
    if (state?.spread) {
      const wasPaused = isPaused(state);
      const isIdle = isNamed && (await isRunInterrupted(store, state));
      // Another process woke the run first.
      if (isIdle && !(await wakeStored(parts, row.id)) && wasPaused) return undefined;
      return reenqueueOrphansOf(parts, (await store.readRun(row.id)) ?? state);
    }
    const unrecovered = this.#unrecovered.get(row.id);
    this.#unrecovered.delete(row.id);
    if (unrecovered !== undefined && state?.fence === unrecovered.ownership.fence) {
      this.#recovering.add(row.id);
      return { ...unrecovered, state };
    }
    // A paused run is recovered by its name alone.
    const isPausedRun = state !== undefined && isPaused(state);
    if (isPausedRun ? !isNamed : await store.isWorkerAlive(row.worker)) return undefined;
    const obstacle = await obstacleToWork(parts, row.id);
    if (obstacle !== undefined) {
      // Another process may be able to work on it; a person who names the run gets the reason.
      if (isNamed) throw obstacle;
      return undefined;
    }
    // Two resumptions of one run in this process would both own it.
    if (this.#recovering.has(row.id)) return undefined;
    this.#recovering.add(row.id);
    let claimed: ClaimedRun | undefined;
    try {
      const before = runs.get(row.id);
      if (before) runs.lose(before);
      claimed = await claimRun(store, row.id);
      return claimed;
    } finally {
      if (claimed === undefined) this.#recovering.delete(row.id);
    }
  }

  async #recover(claimed: ClaimedRun, isNamed: boolean): Promise<StartedRun | undefined> {
    const { goals, grant, parts, runs } = this.#own;
    const taken = await recoverClaimed(parts, claimed, { grant, isResumed: isNamed }).catch(
      (error: unknown) => {
        if (wasNotWritten(error)) this.#unrecovered.set(claimed.id, claimed);
        throw error;
      },
    );
    const run = taken?.run;
    const root = run?.delegations.root ?? run?.delegations.topLevel[0];
    if (taken === undefined || run === undefined || root === undefined) return undefined;
    if (run.isHeld) goals.hold(run);
    // Before its delegations work, the run can be found, asked and stopped.
    const result = runs.add(run, root);
    await continueRecovered(taken);
    return {
      runId: run.id,
      delegationId: root.id,
      result,
      get answer() {
        return root.process.end.whenAnswered();
      },
    };
  }
}
