/** Cuts a stream of bytes into lines. A line may come in thousands of pieces; they are joined once. */
export class LineSplitter {
  readonly #maxBytes: number;
  #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Null when a line has grown too long: nothing that follows could be trusted to be a line. */
  push(chunk: Buffer): Buffer[] | null {
    const lines: Buffer[] = [];
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(10, start);
      const piece = end < 0 ? chunk.subarray(start) : chunk.subarray(start, end);
      if (this.#bytes + piece.length > this.#maxBytes) {
        this.#pieces = [];
        return null;
      }
      this.#pieces.push(piece);
      this.#bytes += piece.length;
      if (end < 0) return lines;
      lines.push(this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces));
      this.#pieces = [];
      this.#bytes = 0;
      start = end + 1;
    }
  }
}
