import type { Owner } from "../../../control/records/principal.ts";
import type { StoredEvent } from "../../../events/event.ts";
import type { InboxItem } from "../../../events/inbox-item.ts";
import { tellEvent } from "../../../events/summarize.ts";

/** The fields of an entry that filters and visibility use. */
export interface AboutEntry {
  /** Increases with every entry. */
  readonly id: number;
  readonly runId: string;
  readonly delegationId: string | undefined;
  readonly type: string;
  readonly owner: Owner;
}

/** An entry with its frame, which is the same for all clients. */
export interface Entry extends AboutEntry {
  readonly frame: Buffer;
}

/** The next part of a ring for one client. */
export interface Chunk {
  /** The last entry of this part, filtered ones included. */
  readonly to: number;
  /** Undefined: all entries of this part were filtered out. */
  readonly wanted: { readonly bytes: Buffer; readonly lastId: number } | undefined;
}

/** Entries that arrived together, in one buffer. */
interface Block {
  readonly bytes: Buffer;
  /** Without their frames, which are in `bytes`: one view per entry would cost as much memory. */
  readonly entries: readonly AboutEntry[];
  /** The offset of each frame in `bytes`. */
  readonly starts: readonly number[];
  readonly firstId: number;
  readonly lastId: number;
  /** The total bytes that were pushed before this block. */
  readonly offset: number;
  /** The total cost before this block. */
  readonly costBefore: number;
}

/** Most bytes of a block, except for a single frame that is larger. */
const blockBytes = 64 * 1024;

/** Approximate memory beside the bytes, which dominates for short single frames. */
const blockCost = 500;
const entryCost = 100;

/**
 * The latest entries up to a number of bytes, shared by all clients. A client is a position in it
 * and is sent slices of it, so a slow client costs no memory.
 */
export class FrameRing {
  readonly #capacity: number;
  #blocks: Block[] = [];
  #pushed = 0;
  #cost = 0;
  #floor: number | undefined;
  #last: number | undefined;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** All entries with a greater id are in the ring; undefined before the first entry. */
  get floor(): number | undefined {
    return this.#floor;
  }

  /** The greatest id that was pushed. */
  get last(): number | undefined {
    return this.#last;
  }

  /** Empties the ring: entries after `id` are kept from now on. */
  reset(id: number): void {
    this.#blocks = [];
    this.#floor = id;
    this.#last = id;
  }

  push(entries: readonly Entry[]): void {
    const [first] = entries;
    if (first !== undefined && this.#last === undefined) this.reset(first.id - 1);
    // Entries may arrive after they were read from the store already.
    const last = this.#last ?? 0;
    let group: Entry[] = [];
    let size = 0;
    for (const entry of entries) {
      if (entry.id <= last) continue;
      if (size > 0 && size + entry.frame.length > blockBytes) {
        this.#add(group, size);
        group = [];
        size = 0;
      }
      group.push(entry);
      size += entry.frame.length;
    }
    if (size > 0) this.#add(group, size);
    let gone = 0;
    while (this.#cost - (this.#blocks[gone]?.costBefore ?? this.#cost) > this.#capacity) gone++;
    if (gone === 0) return;
    this.#floor = this.#blocks[gone - 1]?.lastId;
    this.#blocks.splice(0, gone);
  }

  /** The bytes after a position. */
  bytesAfter(id: number): number {
    if (this.#floor === undefined || id < this.#floor) return Number.POSITIVE_INFINITY;
    const block = this.#blocks[this.#blockAfter(id)];
    if (block === undefined) return 0;
    return this.#pushed - block.offset - (block.starts[entryAfter(block, id)] ?? 0);
  }

  /** The part after a position; undefined when the ring no longer has it. */
  chunkAfter(id: number, wants: ((entry: AboutEntry) => boolean) | null): Chunk | undefined {
    if (this.#floor === undefined || id < this.#floor) return undefined;
    let to = id;
    for (let index = this.#blockAfter(id); index < this.#blocks.length; index++) {
      const block = this.#blocks[index];
      if (block === undefined) break;
      to = block.lastId;
      const from = entryAfter(block, id);
      const wanted = wants === null ? rest(block, from) : pick(block, from, wants);
      if (wanted !== undefined) return { to, wanted };
    }
    return { to, wanted: undefined };
  }

  #add(entries: readonly Entry[], size: number): void {
    // The bytes are not from the shared pool: a small slice would keep the whole pool in memory.
    const bytes = Buffer.allocUnsafeSlow(size);
    const starts: number[] = [];
    let start = 0;
    const kept = entries.map(({ frame, ...entry }) => {
      starts.push(start);
      start += frame.copy(bytes, start);
      return entry;
    });
    const firstId = kept[0]?.id ?? 0;
    const lastId = kept.at(-1)?.id ?? 0;
    this.#blocks.push({
      bytes,
      entries: kept,
      starts,
      firstId,
      lastId,
      offset: this.#pushed,
      costBefore: this.#cost,
    });
    this.#pushed += size;
    this.#cost += size + blockCost + entryCost * kept.length;
    this.#last = lastId;
  }

  #blockAfter(id: number): number {
    return lowest(this.#blocks.length, (index) => (this.#blocks[index]?.lastId ?? 0) > id);
  }
}

/** A block from an entry on, without a copy. */
function rest(block: Block, from: number): Chunk["wanted"] {
  return { bytes: block.bytes.subarray(block.starts[from]), lastId: block.lastId };
}

function pick(block: Block, from: number, wants: (entry: AboutEntry) => boolean): Chunk["wanted"] {
  const frames: Buffer[] = [];
  let lastId = 0;
  for (let index = from; index < block.entries.length; index++) {
    const entry = block.entries[index];
    if (entry === undefined || !wants(entry)) continue;
    frames.push(block.bytes.subarray(block.starts[index], block.starts[index + 1]));
    lastId = entry.id;
  }
  const [first] = frames;
  if (first === undefined) return undefined;
  if (frames.length === block.entries.length - from) return rest(block, from);
  return { bytes: frames.length === 1 ? first : Buffer.concat(frames), lastId };
}

function entryAfter(block: Block, id: number): number {
  if (id < block.firstId) return 0;
  return lowest(block.entries.length, (index) => (block.entries[index]?.id ?? 0) > id);
}

/**
 * Binary search: the lowest index for which `isTrue` holds, given that it holds for all higher
 * ones.
 */
function lowest(length: number, isTrue: (index: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isTrue(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * An event as a server-sent event. It is encoded once for all clients. JSON escapes line breaks, so
 * only the fields are separated by them.
 */
export function eventFrame(event: StoredEvent): Buffer {
  const data = JSON.stringify(tellEvent(event));
  return Buffer.from(`id: ${event.seq}\nevent: ${event.type}\ndata: ${data}\n\n`);
}

export function inboxFrame(item: InboxItem): Buffer {
  return Buffer.from(`id: ${item.id}\nevent: inbox\ndata: ${JSON.stringify(item)}\n\n`);
}

/** Without an id: deltas are not stored, so a client cannot continue after one. */
export function deltaFrame(runId: string, delegationId: string, text: string): Buffer {
  const data = JSON.stringify({ run_id: runId, sub_agent_id: delegationId, text });
  return Buffer.from(`event: delta\ndata: ${data}\n\n`);
}

/** Moves the position from which a client would continue, without an event. */
export function placeFrame(id: number): Buffer {
  return Buffer.from(`id: ${id}\n\n`);
}

/** The first bytes of a stream: the delay before a reconnect, and the position. */
export function openingFrame(id: number): Buffer {
  return Buffer.from(`retry: 1000\nid: ${id}\n\n`);
}

/** Keeps proxies from closing a quiet stream. */
export const heartbeatFrame: Buffer = Buffer.from(": still here\n\n");
