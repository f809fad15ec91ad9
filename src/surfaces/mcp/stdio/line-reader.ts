const newline = 0x0a;

/** A line that was too long to be kept: only that it was there is known. */
export const tooLong = Symbol("too long");

/** Cuts what comes in into lines, and keeps no more of one than it may have. */
export class LineReader {
  readonly #most: number;
  readonly #onLine: (line: Buffer | typeof tooLong) => void;
  #pieces: Buffer[] = [];
  #size = 0;
  #isSkipping = false;

  constructor(most: number, onLine: (line: Buffer | typeof tooLong) => void) {
    this.#most = most;
    this.#onLine = onLine;
  }

  push(chunk: Buffer): void {
    let rest = chunk;
    for (let end = rest.indexOf(newline); end !== -1; end = rest.indexOf(newline)) {
      this.#keep(rest.subarray(0, end));
      this.#finish();
      rest = rest.subarray(end + 1);
    }
    this.#keep(rest);
  }

  #keep(piece: Buffer): void {
    if (this.#isSkipping || piece.length === 0) return;
    this.#size += piece.length;
    this.#isSkipping = this.#size > this.#most;
    if (this.#isSkipping) this.#pieces = [];
    else this.#pieces.push(piece);
  }

  #finish(): void {
    const line = this.#isSkipping ? tooLong : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#size = 0;
    this.#isSkipping = false;
    this.#onLine(line);
  }
}
