import { isPaused, type RunState } from "../../events/run-state.ts";
import type { RunRow, Store } from "../../ports/store.ts";
import type { LiveRun } from "../live-run.ts";
import { queue } from "../work.ts";

const mostRuns = 10_000;

/**
 * Goals of one workspace are worked off one after the other, the oldest first: each is a run, and
 * one that waits is a run whose root has not begun. So the queue is what the log says of open runs,
 * whoever works on them; here is only who of this process waits, and the moment when it begins.
 * Who nobody works on holds nobody up.
 */
export class GoalQueue {
  readonly #store: Store;
  readonly #held = new Map<string, LiveRun>();
  #advancing: Promise<void> = Promise.resolve();

  constructor(store: Store) {
    this.#store = store;
  }

  /** The last goal of a workspace that has not ended; null: there is none. */
  async lastOf(workspace: string | null): Promise<string | null> {
    for (const row of await this.#store.listRuns({ open: true, limit: mostRuns })) {
      if (row.workspace === workspace && (await this.#goalOf(row)) !== null) return row.id;
    }
    return null;
  }

  hold(run: LiveRun): void {
    run.isHeld = true;
    this.#held.set(run.id, run);
  }

  /** Lets those begin whose turn it is. */
  advance(): Promise<void> {
    if (this.#held.size === 0) return Promise.resolve();
    // One after the other: two that look at the same time would both find that it is free.
    this.#advancing = this.#advancing.then(() => this.#advance()).catch(() => undefined);
    return this.#advancing;
  }

  async #advance(): Promise<void> {
    for (const [id, { delegations, lost }] of this.#held) {
      const { root } = delegations;
      if (lost || root === null || root.process.end.isEnding) this.#held.delete(id);
    }
    if (this.#held.size === 0) return;
    const rows = await this.#store.listRuns({ open: true, limit: mostRuns });
    // What happens in other folders is nothing to those who wait here.
    const folders = new Set([...this.#held.values()].map((run) => run.settings.workspace));
    const busy = new Set<string | null>();
    const waiting: RunRow[] = [];
    for (const row of rows.toReversed()) {
      if (!folders.has(row.workspace)) continue;
      const run = this.#held.has(row.id) ? undefined : await this.#goalOf(row);
      if (run === null) continue;
      if (run !== undefined && hasBegun(run)) busy.add(row.workspace);
      else waiting.push(row);
    }
    for (const { id, workspace } of waiting) {
      if (busy.has(workspace)) continue;
      // It is its turn here, or in the process that holds it.
      busy.add(workspace);
      this.#begin(id);
    }
  }

  #begin(id: string): void {
    const run = this.#held.get(id);
    const root = run?.delegations.root ?? null;
    if (run === undefined || root === null || root.process.end.isEnding) return;
    this.#held.delete(id);
    run.isHeld = false;
    queue(root);
  }

  /** Null: it is no goal, nobody works on it, or it rests. */
  async #goalOf({ id, worker }: RunRow): Promise<RunState | null> {
    const run = await this.#store.readRun(id).catch(() => undefined);
    if (run === undefined || run.goal === null || isPaused(run)) return null;
    return run.spread !== null || (await this.#store.isWorkerAlive(worker)) ? run : null;
  }
}

function hasBegun({ delegations }: RunState): boolean {
  const [root] = delegations.values();
  return root !== undefined && root.status !== "created";
}
