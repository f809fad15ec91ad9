import type { WorkflowRecorder } from "../../ports/delegator.ts";
import type { CallOutcome } from "./workflow-agent.ts";
import { settlement } from "./workflow-history.ts";

/** A call of the script that has no reply yet. */
export interface OpenCall {
  readonly id: number;
  readonly key: string;
}

/** What a call came to. `child`: the body of the script that it is to run. */
export interface CallResult {
  readonly outcome: CallOutcome;
  readonly child?: string;
}

export interface Arrived extends CallResult {
  readonly call: OpenCall;
}

interface Known {
  readonly position: number;
  take(): Promise<Arrived>;
}

/**
 * The results of a script's calls in the order in which the script gets them: recorded ones in recorded
 * order, then others as they arrive, each on disk before the script sees it.
 */
export class ResultsInOrder {
  readonly #recorder: WorkflowRecorder;
  /** Recorded results of calls that the script has made, and was not given yet. */
  readonly #known: Known[] = [];
  #arrived: Arrived[] = [];
  #underWay = 0;
  #wake: (() => void) | undefined;
  #failure: unknown;

  constructor(recorder: WorkflowRecorder) {
    this.#recorder = recorder;
  }

  /** The result of this call is recorded, at this place of the order. */
  known(call: OpenCall, position: number, take: () => Promise<CallResult>): void {
    this.#known.push({ position, take: async () => ({ call, ...(await take()) }) });
  }

  /** The work of this call begins; its error ends the script. */
  follow(call: OpenCall, work: () => Promise<CallResult>): void {
    this.#underWay += 1;
    work().then(
      (result) => {
        this.#underWay -= 1;
        this.#arrived.push({ call, ...result });
        this.#wake?.();
      },
      (error: unknown) => this.stop(error),
    );
  }

  /** What ends the script, as soon as there is such a thing: `next` throws it. */
  get failure(): unknown {
    return this.#failure;
  }

  stop(reason: unknown): void {
    this.#failure ??= reason ?? new Error("The workflow was stopped.");
    this.#wake?.();
  }

  /** The next results for the script. None: no call is open. */
  async next(): Promise<readonly Arrived[]> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure;
      const first = this.#takeFirst();
      if (first !== undefined) return [await first.take()];
      const arrived = this.#arrived;
      if (arrived.length > 0) {
        this.#arrived = [];
        const events = arrived.map(({ call, outcome }) => settlement(call, outcome));
        await this.#recorder.record(events);
        return arrived;
      }
      if (this.#underWay === 0) return [];
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }

  #takeFirst(): Known | undefined {
    let first = 0;
    for (const [index, { position }] of this.#known.entries()) {
      if (position < (this.#known[first]?.position ?? 0)) first = index;
    }
    return this.#known.splice(first, 1)[0];
  }
}
