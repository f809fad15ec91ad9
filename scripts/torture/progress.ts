import type { WriteStream } from "node:tty";
import type { Tally } from "./tally.ts";

/** One line that keeps up on a terminal; now and then a line of its own elsewhere. */
export class Progress {
  readonly #stream: WriteStream;
  readonly #what: string;
  #told = 0;

  constructor(stream: WriteStream, what: string) {
    this.#stream = stream;
    this.#what = what;
  }

  show({ kills, lives, runs, worstRecovery }: Tally): void {
    const worst = Math.round(worstRecovery);
    const line = `${this.#what}: ${runs} runs, ${lives} lives, ${kills} kills, worst recovery ${worst} ms`;
    if (this.#stream.isTTY) {
      this.#stream.write(`\r\u001b[K${line}`);
    } else if (runs >= this.#told + 10) {
      this.#told = runs;
      this.#stream.write(`${line}\n`);
    }
  }

  end(): void {
    if (this.#stream.isTTY) this.#stream.write("\r\u001b[K");
  }
}
