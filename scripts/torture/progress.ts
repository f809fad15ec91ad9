import type { WriteStream } from "node:tty";
import type { Tally } from "./tally.ts";

/** One line that keeps up on a terminal; now and then a line of its own elsewhere. */
export class Progress {
  readonly #stream: WriteStream;
  readonly #every: number;
  #told = 0;

  constructor(stream: WriteStream, every: number) {
    this.#stream = stream;
    this.#every = every;
  }

  show(tally: Tally): void {
    const line = `${tally.kills} kills, ${tally.runs} runs, worst recovery ${Math.round(tally.worstRecovery)} ms`;
    if (this.#stream.isTTY) {
      this.#stream.write(`\r\u001b[K${line}`);
    } else if (tally.kills >= this.#told + this.#every) {
      this.#told = tally.kills;
      this.#stream.write(`${line}\n`);
    }
  }

  end(): void {
    if (this.#stream.isTTY) this.#stream.write("\r\u001b[K");
  }
}
