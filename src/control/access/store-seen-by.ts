import { setImmediate as nextTurn } from "node:timers/promises";
import type { Contract } from "../../contracts/contract.ts";
import type { StoredEvent } from "../../events/event.ts";
import type { InboxItem } from "../../events/inbox-item.ts";
import type { RunState } from "../../events/run-state.ts";
import { controlRunId } from "../../ports/identity.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Memory, MemoryQuery, MemoryStore } from "../../ports/memory-store.ts";
import type { ControlRecord, RecordChange } from "../../ports/record-store.ts";
import {
  type Append,
  type EventQuery,
  type IdempotencyStore,
  type InboxQuery,
  mostInboxItems,
  type Ownership,
  type RunQuery,
  type RunRow,
  type Store,
} from "../../ports/store.ts";
import type { ExecutorStore, WorkerRow } from "../../ports/workers.ts";
import { maySee, type Principal, seesAllRuns } from "../records/principal.ts";
import { type RunOwners, runOwnersOf } from "./run-owners.ts";

const mostViews = 1000;
const views = new WeakMap<Store, Map<string, Store>>();

/**
 * The store as a principal may see it: without the runs of others and all that belongs to them. The
 * same object for the same principal, so that caches by store are separate.
 */
export function storeSeenBy(store: Store, principal: Principal): Store {
  if (seesAllRuns(principal)) return store;
  const known = views.get(store) ?? new Map<string, Store>();
  views.set(store, known);
  const view = known.get(principal.id) ?? new SeenStore(store, principal);
  if (known.size >= mostViews) known.clear();
  known.set(principal.id, view);
  return view;
}

/** The rows of one read. Other work gets a turn after each, since hidden rows are skipped. */
const portion = 500;

/**
 * Every method filters by principal. A method that cannot, such as `inspect` and `prune`, is absent
 * and cannot be called.
 */
class SeenStore implements Store {
  readonly #store: Store;
  readonly #principal: Principal;
  readonly #owners: RunOwners;
  readonly executors?: ExecutorStore;
  readonly workers?: () => Promise<readonly WorkerRow[]>;

  constructor(store: Store, principal: Principal) {
    this.#store = store;
    this.#principal = principal;
    this.#owners = runOwnersOf(store);
    if (store.executors) this.executors = store.executors;
    if (store.workers) this.workers = store.workers.bind(store);
  }

  get ownership(): Ownership {
    return this.#store.ownership;
  }

  get idempotency(): IdempotencyStore {
    return this.#store.idempotency;
  }

  get memories(): MemoryStore {
    const { memories } = this.#store;
    return {
      save: (memory, most) => memories.save(memory, most),
      read: async (id) => {
        const memory = await memories.read(id);
        return memory && this.#seenMemory(memory);
      },
      find: (query) => this.#findMemories(query),
    };
  }

  newDelegationId(): string {
    return this.#store.newDelegationId();
  }

  newRunId(): string {
    return this.#store.newRunId();
  }

  newAskId(): string {
    return this.#store.newAskId();
  }

  async append(append: Append): Promise<readonly StoredEvent[]> {
    if (await this.#sees(append.runId)) return this.#store.append(append);
    throw new MandateError("unknown-run", `There is no run ${append.runId}.`);
  }

  noteCommand(command: string, actor: string, outcome: string): Promise<void> {
    return this.#store.noteCommand(command, actor, outcome);
  }

  async readRun(runId: string): Promise<RunState | undefined> {
    return (await this.#sees(runId)) ? this.#store.readRun(runId) : undefined;
  }

  async *readEvents(query: EventQuery): AsyncIterable<StoredEvent> {
    const { delegationId, runId } = query;
    const named = delegationId === undefined ? runId : await this.#store.findRun(delegationId);
    if (named !== undefined && named !== controlRunId) {
      if (await this.#sees(named)) yield* this.#store.readEvents(query);
      return;
    }
    if (delegationId !== undefined) return;
    let hidden = 0;
    for await (const event of this.#store.readEvents(query)) {
      if (await this.#seesEvent(event)) yield event;
      else if (++hidden % portion === 0) await nextTurn();
    }
  }

  async readContract(delegationId: string): Promise<Contract> {
    if ((await this.findRun(delegationId)) !== undefined) {
      return this.#store.readContract(delegationId);
    }
    throw new MandateError("unknown-delegation", `There is no delegation ${delegationId}.`);
  }

  async findRun(id: string): Promise<string | undefined> {
    const runId = await this.#store.findRun(id);
    return runId !== undefined && (await this.#sees(runId)) ? runId : undefined;
  }

  async listRuns(query: RunQuery): Promise<readonly RunRow[]> {
    const { limit = 50 } = query;
    let { before } = query;
    // A run that the principal may not see is no valid position.
    if (before !== undefined && !(await this.#sees(before))) return [];
    const found: RunRow[] = [];
    for (;;) {
      const place = before === undefined ? {} : { before };
      const rows = await this.#store.listRuns({ ...query, ...place, limit: portion });
      for (const row of rows) {
        if (found.length >= limit) return found;
        if (await this.#sees(row.id)) found.push(row);
      }
      before = rows.at(-1)?.id;
      if (rows.length < portion) return found.slice(0, limit);
      await nextTurn();
    }
  }

  async readInbox(query: InboxQuery): Promise<readonly InboxItem[]> {
    const limit = Math.min(query.limit, mostInboxItems);
    const isForward = query.after !== undefined;
    const found: InboxItem[] = [];
    for (let place: Partial<InboxQuery> = {}; ; ) {
      const items = await this.#store.readInbox({ ...query, ...place, limit: portion });
      for (const item of isForward ? items : items.toReversed()) {
        if (found.length < limit && (await this.#sees(item.runId))) found.push(item);
      }
      const [first] = items;
      const last = items.at(-1);
      if (first === undefined || last === undefined) break;
      if (found.length === limit || items.length < portion) break;
      place = isForward ? { after: last.id } : { before: first.id };
      await nextTurn();
    }
    return isForward ? found : found.reverse();
  }

  readCursor(reader: string): Promise<number> {
    return this.#store.readCursor(reader);
  }

  /** Limited to the last visible item: the limit of the store would reveal the items of others. */
  async moveCursor(reader: string, to: number): Promise<number> {
    const [last] = await this.readInbox({ limit: 1 });
    return this.#store.moveCursor(reader, Math.min(to, last?.id ?? 0));
  }

  async unreadCount(reader: string): Promise<number> {
    const after = await this.readCursor(reader);
    return (await this.readInbox({ after, limit: mostInboxItems })).length;
  }

  readRecord(resourceType: string, resourceId: string): Promise<ControlRecord | undefined> {
    return this.#store.readRecord(resourceType, resourceId);
  }

  listRecords(resourceType: string, prefix?: string): Promise<readonly ControlRecord[]> {
    return this.#store.listRecords(resourceType, prefix);
  }

  changeRecords(
    changes: readonly RecordChange[],
    actor: string,
  ): Promise<readonly (ControlRecord | null)[]> {
    return this.#store.changeRecords(changes, actor);
  }

  keepText(text: string): string {
    return this.#store.keepText(text);
  }

  /** By a hash that only the log of a run contains. */
  readText(hash: string): Promise<string | undefined> {
    return this.#store.readText(hash);
  }

  keepArtifact(body: string): Promise<{ readonly hash: string; readonly bytes: number }> {
    return this.#store.keepArtifact(body);
  }

  /** By a hash that only the log of a run contains. */
  readArtifact(hash: string): Promise<string | undefined> {
    return this.#store.readArtifact(hash);
  }

  async claimRun(runId: string): Promise<Ownership | undefined> {
    return (await this.#sees(runId)) ? this.#store.claimRun(runId) : undefined;
  }

  isWorkerAlive(worker: string): Promise<boolean> {
    return this.#store.isWorkerAlive(worker);
  }

  /** Delivered after the commit, because an owner may have to be read; still in order. */
  subscribe(listener: (events: readonly StoredEvent[]) => void): () => void {
    let isWanted = true;
    let before = Promise.resolve();
    const pass = async (events: readonly StoredEvent[]): Promise<void> => {
      const seen: StoredEvent[] = [];
      for (const event of events) if (await this.#seesEvent(event)) seen.push(event);
      if (isWanted && seen.length > 0) listener(seen);
    };
    const unsubscribe = this.#store.subscribe((events) => {
      // The store was closed or a listener failed; neither may fail the commit.
      before = before.then(() => pass(events)).catch(() => undefined);
    });
    return () => {
      isWanted = false;
      unsubscribe();
    };
  }

  /** The owner of the store closes it. */
  async close(): Promise<void> {}

  async #findMemories(query: MemoryQuery): Promise<readonly Memory[]> {
    const { limit, offset = 0 } = query;
    const found: Memory[] = [];
    for (let place = 0; ; place += portion) {
      const page = { ...query, limit: portion, offset: place };
      const memories = await this.#store.memories.find(page);
      for (const memory of memories) {
        if (found.length === offset + limit) break;
        const seen = await this.#seenMemory(memory);
        if (seen !== undefined) found.push(seen);
      }
      const isLast = memories.length < portion || found.length === offset + limit;
      if (isLast) return found.slice(offset);
      await nextTurn();
    }
  }

  /** A memory can replace one of another principal, whose id is hidden. */
  async #seenMemory(memory: Memory): Promise<Memory | undefined> {
    if (!(await this.#sees(memory.runId))) return undefined;
    if (memory.supersedes === null) return memory;
    const former = await this.#store.memories.read(memory.supersedes);
    const isSeen = former !== undefined && (await this.#sees(former.runId));
    return isSeen ? memory : { ...memory, supersedes: null };
  }

  async #sees(runId: string): Promise<boolean> {
    return maySee(this.#principal, await this.#owners.of(runId));
  }

  async #seesEvent(event: StoredEvent): Promise<boolean> {
    return maySee(this.#principal, await this.#owners.ofEvent(event));
  }
}

const holders = new WeakMap<Store, WeakMap<object, object>>();

/** An object that has a store, such as a runtime, with the store as a principal may see it. */
export function seenBy<Holder extends { readonly store: Store }>(
  holder: Holder,
  principal: Principal,
): Holder {
  const store = storeSeenBy(holder.store, principal);
  if (store === holder.store) return holder;
  const known = holders.get(store) ?? new WeakMap<object, object>();
  holders.set(store, known);
  const seen = (known.get(holder) as Holder | undefined) ?? { ...holder, store };
  known.set(holder, seen);
  return seen;
}
