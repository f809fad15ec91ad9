/** Keeps the beginning and the end of a stream of any length, in a fixed amount of memory. */
export class HeadAndTail {
  /** All bytes that came, kept or not. */
  bytes = 0;
  readonly #headLimit: number;
  readonly #tailLimit: number;
  #head: Buffer[] = [];
  #headBytes = 0;
  /** A ring, made when the head is full. */
  #tail: Buffer | null = null;
  #tailBytes = 0;

  constructor(headLimit: number, tailLimit: number) {
    this.#headLimit = headLimit;
    this.#tailLimit = tailLimit;
  }

  push(chunk: Buffer): void {
    this.bytes += chunk.length;
    const room = this.#headLimit - this.#headBytes;
    if (room > 0) {
      // A copy: the chunk may be a small part of something large.
      const part = Buffer.from(chunk.subarray(0, room));
      this.#head.push(part);
      this.#headBytes += part.length;
      // Many small ones would cost more than what they hold.
      if (this.#head.length > 1000) this.#head = [Buffer.concat(this.#head)];
    }
    if (chunk.length > room) this.#pushTail(chunk.subarray(Math.max(room, 0)));
  }

  get leftOut(): number {
    return this.#tailBytes > this.#tailLimit ? this.#tailBytes - this.#tailLimit : 0;
  }

  get head(): Buffer {
    return Buffer.concat(this.#head);
  }

  get tail(): Buffer {
    if (this.#tail === null) return Buffer.alloc(0);
    if (this.#tailBytes <= this.#tailLimit) return this.#tail.subarray(0, this.#tailBytes);
    const start = this.#tailBytes % this.#tailLimit;
    return Buffer.concat([this.#tail.subarray(start), this.#tail.subarray(0, start)]);
  }

  #pushTail(chunk: Buffer): void {
    this.#tail ??= Buffer.alloc(this.#tailLimit);
    const part = chunk.subarray(Math.max(0, chunk.length - this.#tailLimit));
    const start = (this.#tailBytes + chunk.length - part.length) % this.#tailLimit;
    const upToEnd = part.copy(this.#tail, start);
    part.copy(this.#tail, 0, upToEnd);
    this.#tailBytes += chunk.length;
  }
}
