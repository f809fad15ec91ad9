import type { ReadStream } from "node:tty";
import type { Io } from "../cli/io.ts";

const interrupt = 0x03;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/**
 * What a person types before the screen is up. It is kept in its order and given to the screen, and it
 * never answers a question that is asked in between: the person had not read that yet.
 */
export class TypedAhead {
  readonly #stdin: ReadStream;
  #chunks: Buffer[] = [];
  /** Typed while the terminal still had its own line mode, which turns Enter into a line feed. */
  #isFirst = true;
  #isListening = false;

  constructor(stdin: ReadStream = process.stdin) {
    this.#stdin = stdin;
    this.#listen();
  }

  /** A terminal whose questions get only what is typed after they were asked. */
  around(io: Io): Io {
    const { ask } = io;
    if (ask === undefined) return io;
    return {
      ...io,
      // The streams are read from the terminal each time.
      stdout: io.stdout,
      ask: async (prompt, signal) => {
        this.#stopListening();
        try {
          return await ask(prompt, signal);
        } finally {
          this.#listen();
        }
      },
    };
  }

  /** Gives what was typed to the next reader of the terminal, which may begin when this resolves. */
  async giveBack(): Promise<void> {
    this.#stopListening();
    // Node stops reading a paused terminal a moment later, even if another reader has begun by then.
    await new Promise<void>((resolve) => setImmediate(resolve));
    const typed = Buffer.concat(this.#chunks);
    this.#chunks = [];
    if (typed.length > 0) this.#stdin.unshift(typed);
  }

  /** Restores the terminal. */
  end(): void {
    if (!this.#isListening) return;
    this.#stopListening();
    this.#stdin.setRawMode(false);
  }

  #listen(): void {
    this.#isListening = true;
    this.#stdin.setRawMode(true);
    this.#stdin.on("data", this.#hear);
    this.#stdin.resume();
  }

  #stopListening(): void {
    this.#isListening = false;
    this.#stdin.off("data", this.#hear);
    this.#stdin.pause();
  }

  readonly #hear = (chunk: Buffer): void => {
    // In raw mode Ctrl-C is a key: until the screen has it, it ends the program as ever.
    if (chunk.includes(interrupt)) {
      this.end();
      process.kill(process.pid, "SIGINT");
      return;
    }
    const isLines = this.#isFirst && !chunk.includes(carriageReturn);
    this.#isFirst = false;
    this.#chunks.push(isLines ? withEnter(chunk) : chunk);
  };
}

function withEnter(chunk: Buffer): Buffer {
  return Buffer.from(chunk.map((byte) => (byte === lineFeed ? carriageReturn : byte)));
}
