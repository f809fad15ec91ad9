import type { Operations } from "../../../src/surfaces/client/mandate-client.ts";
import { client } from "./client.ts";

export type RunDetail = Operations["getRun"]["reply"];

const usualRestMs = 1000;

interface RunDetailsOptions {
  readonly onChange: () => void;
  readonly onError: (error: unknown) => void;
  /** What was answered is not what the events tell any more. */
  readonly isStale: (detail: RunDetail | undefined) => boolean;
}

/** What only contracts and workers know of a run, asked for now and then: caps, interruptions. */
export class RunDetails {
  value: RunDetail | undefined;
  readonly #runId: string;
  readonly #options: RunDetailsOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(runId: string, options: RunDetailsOptions) {
    this.#runId = runId;
    this.#options = options;
  }

  /** Once in a while, however often it is wanted. */
  ask(restMs = usualRestMs): void {
    this.#timer ??= setTimeout(() => void this.#load(), restMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #load(): Promise<void> {
    const { isStale, onChange, onError } = this.#options;
    const timer = this.#timer;
    try {
      this.value = await client.getRun({ runId: this.#runId });
      onChange();
    } catch (error) {
      onError(error);
    }
    // The reader signed out, or another one signed in.
    if (this.#timer !== timer) return;
    this.#timer = undefined;
    if (isStale(this.value)) this.ask();
  }
}
