import { storeSeenBy } from "../../../control/access/store-seen-by.ts";
import type { StoredEvent } from "../../../events/event.ts";
import type { EventQuery, Store } from "../../../ports/store.ts";
import type { StoredFrame } from "./sse-client.ts";
import type { StoredLog, StreamFilter } from "./sse-feed.ts";
import { eventFrame, inboxFrame } from "./sse-frame.ts";

type EventReader = Pick<Store, "readEvents" | "readInbox">;

/** The log of events, as a stream reads what is over. */
export function storedEvents(store: Store): StoredLog {
  return {
    findEnd: () => findLastSeq(store),
    async *read(after, filter) {
      const { delegationId, runId } = filter;
      // Where only one of them is asked for, those of all others are not even passed.
      const query: EventQuery = {
        after,
        ...(runId !== undefined && { runId }),
        ...(delegationId !== undefined && { delegationId }),
      };
      for await (const event of storeSeenBy(store, filter.principal).readEvents(query)) {
        yield { id: event.seq, frame: wants(filter, event) ? eventFrame(event) : null };
      }
    },
  };
}

function wants({ runId, delegationId, types }: StreamFilter, event: StoredEvent): boolean {
  return (
    (runId === undefined || event.run_id === runId) &&
    (delegationId === undefined || event.sub_agent_id === delegationId) &&
    (types === undefined || types.has(event.type))
  );
}

/**
 * The number of the last event. A store is not asked for that, so it is searched for: from the last
 * item of the inbox on, which mostly is near the end, in steps that grow and then halve.
 */
async function findLastSeq(store: EventReader): Promise<number> {
  const [item] = await store.readInbox({ limit: 1 });
  let known = item?.id ?? 0;
  let step = 64;
  for (let next = await firstAfter(store, known + step); next !== undefined; step *= 2) {
    known = next;
    next = await firstAfter(store, known + step * 2);
  }
  let bound = known + step;
  while (known < bound) {
    const middle = Math.floor((known + bound) / 2);
    const next = await firstAfter(store, middle);
    if (next === undefined) bound = middle;
    else known = next;
  }
  return known;
}

/** The number of the first event after another one; undefined: there is none. */
export async function firstAfter(store: EventReader, seq: number): Promise<number | undefined> {
  for await (const event of store.readEvents({ after: seq })) return event.seq;
  return undefined;
}

const pageSize = 200;

/** The inbox, whose items are in order like events and are fewer. */
export function storedInbox(store: Store): StoredLog {
  return {
    async findEnd() {
      const [item] = await store.readInbox({ limit: 1 });
      return item?.id ?? 0;
    },
    async *read(after, filter): AsyncIterable<StoredFrame> {
      const { principal, runId } = filter;
      const seen = storeSeenBy(store, principal);
      for (let place = after; ; ) {
        const items = await seen.readInbox({
          after: place,
          limit: pageSize,
          ...(runId !== undefined && { runId }),
        });
        for (const item of items) {
          const isWanted = filter.types === undefined || filter.types.has(item.kind);
          yield { id: item.id, frame: isWanted ? inboxFrame(item) : null };
          place = item.id;
        }
        if (items.length < pageSize) return;
      }
    },
  };
}
