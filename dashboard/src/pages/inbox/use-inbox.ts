import { useCallback, useEffect, useRef, useState } from "react";
import { type InboxKind, touchesInbox } from "../../../../src/events/inbox-item.ts";
import { client } from "../../data/client.ts";
import { live } from "../../data/live.ts";
import { mergeItems, type ShownItem } from "./inbox-item.ts";

export interface Inbox {
  readonly items: readonly ShownItem[];
  readonly isLoaded: boolean;
  readonly hasMore: boolean;
  readonly error: unknown;
  /** You have seen everything up to this item. */
  readonly seen: number;
  loadMore(): void;
  markRead(upTo: number): Promise<void>;
}

interface Loaded {
  readonly items: readonly ShownItem[];
  readonly cursor: string | null;
  readonly seen: number;
}

/** Events come in bursts: one request is for all of them. */
const restMs = 150;

/** What people should know, the latest first: the newest page, what comes after it, older pages. */
export function useInbox(kind: InboxKind | "all"): Inbox {
  const kinds = kind === "all" ? undefined : [kind];
  const [loaded, setLoaded] = useState<Loaded>();
  const [error, setError] = useState<unknown>();
  const latest = useRef({ kinds, loaded });
  latest.current = { kinds, loaded };

  useEffect(() => {
    const ending = new AbortController();
    const { signal } = ending;
    const of = kind === "all" ? undefined : [kind];
    let newest = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    setLoaded(undefined);
    const read = async (): Promise<void> => {
      try {
        await live.opened;
        const page = await loadNewer(of, newest, signal);
        if (signal.aborted) return;
        setLoaded((now) =>
          now === undefined ? page : { ...now, items: mergeItems(now.items, page.items) },
        );
        newest = Math.max(page.items[0]?.id ?? 0, newest);
        setError(undefined);
      } catch (failure) {
        if (!signal.aborted) setError(failure);
      }
    };
    const readSoon = (): void => {
      timer ??= setTimeout(() => {
        // Before it is read: later changes are read next time.
        timer = undefined;
        void read();
      }, restMs);
    };
    void read();
    // The page has one stream: whatever can become an item is among its events.
    const stop = live.listen({
      onEvents: (events) => {
        if (events.some(({ type }) => touchesInbox(type))) readSoon();
      },
      onGap: readSoon,
      onBack: readSoon,
    });
    return () => {
      ending.abort();
      clearTimeout(timer);
      stop();
    };
  }, [kind]);

  const isLoadingMore = useRef(false);
  const loadMore = useCallback(async () => {
    const { kinds: of, loaded: from } = latest.current;
    if (isLoadingMore.current || from === undefined || from.cursor === null) return;
    isLoadingMore.current = true;
    try {
      const { items, nextCursor } = await client.listInbox({ kinds: of, cursor: from.cursor });
      setLoaded((now) => {
        // Another kind was chosen in between.
        if (now?.cursor !== from.cursor) return now;
        return { ...now, items: mergeItems(items, now.items), cursor: nextCursor };
      });
    } catch (failure) {
      setError(failure);
    } finally {
      isLoadingMore.current = false;
    }
  }, []);

  const markRead = async (upTo: number): Promise<void> => {
    const { seen } = await client.markInboxRead({ upTo });
    setLoaded((now) => now && { ...now, seen });
  };

  return {
    items: loaded?.items ?? [],
    isLoaded: loaded !== undefined,
    hasMore: loaded?.cursor != null,
    error,
    seen: loaded?.seen ?? Number.MAX_SAFE_INTEGER,
    loadMore: () => void loadMore(),
    markRead,
  };
}

/** What is newer than what is known, all of it: the newest pages until one meets that. */
async function loadNewer(
  kinds: readonly InboxKind[] | undefined,
  newest: number,
  signal: AbortSignal,
): Promise<Loaded> {
  const found: ShownItem[] = [];
  let cursor: string | undefined;
  for (;;) {
    const page = await client.listInbox({ kinds, cursor }, { signal });
    found.push(...page.items);
    const hasMet = page.items.some(({ id }) => id <= newest);
    if (newest === 0 || hasMet || page.nextCursor === null) {
      return { items: found, cursor: page.nextCursor, seen: page.seen };
    }
    cursor = page.nextCursor;
  }
}
