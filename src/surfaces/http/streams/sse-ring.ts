import type { Owner } from "../../../control/records/principal.ts";
import type { StoredEvent } from "../../../events/event.ts";
import type { InboxItem } from "../../../events/inbox-item.ts";
import { tellEvent } from "../../../events/summarize.ts";

/** What happened, by which a client can tell whether it wants to hear of it, and may. */
export interface AboutEntry {
  /** Grows from entry to entry. */
  readonly id: number;
  readonly runId: string;
  readonly delegationId: string | undefined;
  readonly type: string;
  readonly owner: Owner;
}

/** Something that happened, and how it is told to all who want to hear of it. */
export interface Entry extends AboutEntry {
  readonly frame: Buffer;
}

/** Consecutive frames of a ring. */
export interface Chunk {
  /** The last entry that was passed, wanted or not. */
  readonly to: number;
  /** Undefined: none of what was passed was wanted. */
  readonly wanted: { readonly bytes: Buffer; readonly lastId: number } | undefined;
}

/** Entries that came together, in one piece of memory. */
interface Block {
  readonly bytes: Buffer;
  /** Without their frames: those are in `bytes`, and a view of each would be as large as they are. */
  readonly entries: readonly AboutEntry[];
  /** Where each of them begins. */
  readonly starts: readonly number[];
  readonly firstId: number;
  readonly lastId: number;
  /** How many bytes were ever pushed before it. */
  readonly offset: number;
  /** The same of what they cost. */
  readonly costBefore: number;
}

/** A block of more is one frame that is larger. */
const blockBytes = 64 * 1024;

/** What is kept beside the bytes, more or less: of a short frame that comes alone it is the most. */
const blockCost = 500;
const entryCost = 100;

/**
 * The latest entries, by size. What clients have not taken yet is here once for all of them: a
 * client is a place in it and is sent pieces of it, so that being slow costs no memory.
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

  /** Everything with a greater id is here; undefined before anything is known. */
  get floor(): number | undefined {
    return this.#floor;
  }

  /** The greatest id that was heard of. */
  get last(): number | undefined {
    return this.#last;
  }

  /** Forgets everything: what comes after `id` is kept from now on. */
  reset(id: number): void {
    this.#blocks = [];
    this.#floor = id;
    this.#last = id;
  }

  push(entries: readonly Entry[]): void {
    const [first] = entries;
    if (first !== undefined && this.#last === undefined) this.reset(first.id - 1);
    // Some may have been read from the store before we heard of them.
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

  /** How much a client that is there has not taken yet. */
  bytesAfter(id: number): number {
    if (this.#floor === undefined || id < this.#floor) return Number.POSITIVE_INFINITY;
    const block = this.#blocks[this.#blockAfter(id)];
    if (block === undefined) return 0;
    return this.#pushed - block.offset - (block.starts[entryAfter(block, id)] ?? 0);
  }

  /** What comes next; undefined when that is not here any more. */
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
    // Memory of its own: a small piece of the pool that all buffers share would keep the whole pool
    // from being freed, for as long as it is here.
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

/** All of a block from an entry on: no copy, whoever gets it. */
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

/** The lowest index for which it is true, when it is true for all after it. */
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
 * One thing of a stream as it goes over the wire. It is made once, however many clients get it, and
 * never contains a line break but those between its fields: JSON escapes them.
 */
export function eventFrame(event: StoredEvent): Buffer {
  const data = JSON.stringify(tellEvent(event));
  return Buffer.from(`id: ${event.seq}\nevent: ${event.type}\ndata: ${data}\n\n`);
}

export function inboxFrame(item: InboxItem): Buffer {
  return Buffer.from(`id: ${item.id}\nevent: inbox\ndata: ${JSON.stringify(item)}\n\n`);
}

/** Without an id: what is not in the log is no place to go on from. */
export function deltaFrame(runId: string, delegationId: string, text: string): Buffer {
  const data = JSON.stringify({ run_id: runId, sub_agent_id: delegationId, text });
  return Buffer.from(`event: delta\ndata: ${data}\n\n`);
}

/** Moves the place from which a client would go on, without telling it anything. */
export function placeFrame(id: number): Buffer {
  return Buffer.from(`id: ${id}\n\n`);
}

/** The first bytes: when to come back after a cut, and from where. */
export function openingFrame(id: number): Buffer {
  return Buffer.from(`retry: 1000\nid: ${id}\n\n`);
}

/** Keeps proxies from taking a quiet stream for a dead one. */
export const heartbeatFrame: Buffer = Buffer.from(": still here\n\n");
