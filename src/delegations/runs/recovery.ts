import { isPaused, type RunState } from "../../events/run-state.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { RunRow, Store } from "../../ports/store.ts";
import { tidyCopies } from "../changes/used-copies.ts";
import type { EngineParts } from "../engine-parts.ts";
import { type ClaimedRun, claimRun, goOnWith, takeUpRun } from "../recovery/recover.ts";
import type { RunGrant } from "../start/run-grant.ts";
import type { StartedRun } from "../start/run-request.ts";
import { wasNotWritten } from "../work.ts";
import { obstacleToWork } from "./can-work-on.ts";
import type { GoalQueue } from "./goal-queue.ts";
import type { LiveRuns } from "./live-runs.ts";
import { sendAgain } from "./send-again.ts";

interface Recovering {
  readonly parts: EngineParts;
  readonly grant: RunGrant;
  readonly runs: LiveRuns;
  readonly goals: GoalQueue;
}

const firstWaitMs = 1000;
const longestWaitMs = 30_000;

/**
 * Finds the runs that nobody works on any more, and takes them up. What a full disk or a database
 * that is away keeps from being taken up is tried again, for as long as this process is there.
 */
export class Recovery {
  readonly #own: Recovering;
  readonly #takingUp = new Set<string>();
  /** Runs that are this process's by the log, and that it could not take up. */
  readonly #untaken = new Map<string, ClaimedRun>();
  #waitMs = firstWaitMs;
  #again: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(own: Recovering) {
    this.#own = own;
  }

  /** `onRefused` is told of those that cannot be read, when all others were taken up. */
  async recover(
    only: string | undefined,
    onRefused: (error: MandateError) => void,
  ): Promise<readonly StartedRun[]> {
    const { goals, parts } = this.#own;
    const { application, store } = parts;
    await tidyCopies(parts);
    const rows = await store.listRuns({ open: true, application, limit: 10_000 });
    const named = only === undefined ? rows : rows.filter(({ id }) => id === only);
    // One whose log was damaged is nothing to the others.
    const errors: unknown[] = [];
    const claimed: ClaimedRun[] = [];
    const recovered: StartedRun[] = [];
    try {
      for (const row of named) {
        const left = await unlessFailed(errors, () => this.#claim(row, only !== undefined));
        if (left === undefined) continue;
        if ("runId" in left) recovered.push(left);
        else claimed.push(left);
      }
      // Nobody goes on beside what a dead worker's agents had started; one look does for all runs.
      if (claimed.length > 0) await parts.endStrays(delegationsOf(claimed));
      for (const one of claimed) {
        const run = await unlessFailed(errors, () => this.#takeUp(one, only !== undefined));
        if (run !== undefined) recovered.push(run);
      }
    } finally {
      for (const { id } of claimed) this.#takingUp.delete(id);
    }
    await goals.advance();
    if (only === undefined) this.#tryAgain(errors);
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
    const state = await parts.store.readRun(row.id);
    if (state?.spread) return sendAgain(parts, state);
    const untaken = this.#untaken.get(row.id);
    this.#untaken.delete(row.id);
    if (untaken !== undefined && state?.fence === untaken.ownership.fence) {
      this.#takingUp.add(row.id);
      return { ...untaken, state };
    }
    if (!(await isLeft(parts.store, row, state, isNamed))) return undefined;
    const obstacle = await obstacleToWork(parts, row.id);
    if (obstacle !== undefined) {
      // Left for a process that can work on it; a person who names the run is told why.
      if (isNamed) throw obstacle;
      return undefined;
    }
    // Two who resume the same run in this process would both own it.
    if (this.#takingUp.has(row.id)) return undefined;
    this.#takingUp.add(row.id);
    let claimed: ClaimedRun | undefined;
    try {
      const before = runs.get(row.id);
      if (before) runs.lose(before);
      claimed = await claimRun(parts.store, row.id);
      return claimed;
    } finally {
      if (claimed === undefined) this.#takingUp.delete(row.id);
    }
  }

  async #takeUp(claimed: ClaimedRun, isNamed: boolean): Promise<StartedRun | undefined> {
    const { goals, grant, parts, runs } = this.#own;
    const taken = await takeUpRun(parts, claimed, grant, isNamed).catch((error: unknown) => {
      if (wasNotWritten(error)) this.#untaken.set(claimed.id, claimed);
      throw error;
    });
    const run = taken?.run;
    const root = run?.root ?? run?.topLevel[0];
    if (taken === undefined || run === undefined || root === undefined) return undefined;
    if (run.isHeld) goals.hold(run);
    // Before anybody works on it: whoever works can be found, asked and stopped.
    const result = runs.add(run, root);
    await goOnWith(taken);
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

async function unlessFailed<Value>(
  errors: unknown[],
  act: () => Promise<Value>,
): Promise<Value | undefined> {
  try {
    return await act();
  } catch (error) {
    errors.push(error);
    return undefined;
  }
}

function delegationsOf(claimed: readonly ClaimedRun[]): ReadonlySet<string> {
  return new Set(claimed.flatMap(({ state }) => [...state.delegations.keys()]));
}

/** Whether nobody works on a run, and nobody has said that it shall rest. */
async function isLeft(
  store: Store,
  { worker }: RunRow,
  state: RunState | undefined,
  isNamed: boolean,
): Promise<boolean> {
  if (state !== undefined && isPaused(state)) return isNamed;
  return !(await store.isWorkerAlive(worker));
}
