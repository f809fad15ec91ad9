import type { Clock, Timer } from "../../../ports/clock.ts";
import type { Store } from "../../../ports/store.ts";
import type { CallProgress } from "../mcp-tool.ts";
import { beginning, describeTree, type TreeState } from "./describe-tree.ts";

/** At most four times a second; and now and then without news, so that nobody takes us for dead. */
const shortestMs = 250;
const heartbeatMs = 10_000;

interface TreeProgressOptions {
  readonly store: Pick<Store, "readRun" | "subscribe">;
  readonly report: (progress: CallProgress) => void;
  readonly clock: Clock;
}

/**
 * Tells how the tree below a call stands, as long as the call is open. Every report is further on
 * than the one before, as the protocol asks.
 */
export class TreeProgress {
  readonly #options: TreeProgressOptions;
  readonly #tops: string[] = [];
  #runId: string | undefined;
  #last = 0;
  #lastAt = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;
  #unsubscribe: (() => void) | undefined;
  #isOver = false;

  constructor(options: TreeProgressOptions) {
    this.#options = options;
  }

  /** `tops`: those whose trees it is about, as far as they are known. */
  follow(runId: string, tops: readonly string[]): void {
    this.#runId = runId;
    this.#tops.push(...tops);
    this.#unsubscribe = this.#options.store.subscribe((events) => {
      if (events.some((event) => event.run_id === runId)) this.#schedule(shortestMs);
    });
    this.#schedule(shortestMs);
  }

  add(top: string): void {
    this.#tops.push(top);
  }

  /** The last report comes before the result. */
  async end(): Promise<void> {
    this.#unsubscribe?.();
    this.#timer?.cancel();
    this.#isOver = true;
    // A call that was refused has no progress to tell of.
    if (this.#tops.length > 0) this.#report(await this.#state());
  }

  #schedule(ms: number): void {
    const { clock } = this.#options;
    const dueIn = Math.max(0, this.#lastAt + ms - clock.monotonic());
    this.#timer?.cancel();
    this.#timer = clock.after(dueIn, () => void this.#tell()).unref();
  }

  async #tell(): Promise<void> {
    const state = await this.#state();
    if (this.#isOver) return;
    this.#report(state);
    this.#schedule(heartbeatMs);
  }

  async #state(): Promise<TreeState> {
    if (this.#runId === undefined) return beginning;
    const { clock, store } = this.#options;
    const run = await store.readRun(this.#runId).catch(() => undefined);
    return run === undefined ? beginning : describeTree(run, this.#tops, clock.now());
  }

  #report({ message, progress, total }: TreeState): void {
    this.#last = furtherThan(this.#last, progress, total);
    this.#lastAt = this.#options.clock.monotonic();
    this.#options.report({
      progress: this.#last,
      total: Math.max(total, this.#last),
      message,
    });
  }
}

function furtherThan(last: number, progress: number, total: number): number {
  if (progress > last) return progress;
  // A part of what is left can be taken away for ever.
  return total > last ? last + (total - last) / 64 : last + 1;
}
