import { useCallback, useEffect, useRef, useState } from "react";
import type { InboxKind } from "../../../../src/events/inbox-item.ts";
import { MandateApiError } from "../../../../src/surfaces/client/mandate-client.ts";
import { client } from "../../data/client.ts";
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

const batchMs = 100;
const pauseMs = 3000;

/** What people should know, the latest first: the newest page, what comes after it, older pages. */
export function useInbox(kind: InboxKind | "all"): Inbox {
  const kinds = kind === "all" ? undefined : [kind];
  const [loaded, setLoaded] = useState<Loaded>();
  const [error, setError] = useState<unknown>();
  const latest = useRef({ kinds, loaded });
  latest.current = { kinds, loaded };

  useEffect(() => {
    const ending = new AbortController();
    setLoaded(undefined);
    void follow(kind === "all" ? undefined : [kind], ending.signal, {
      onPage: (page) => {
        setLoaded(page);
        setError(undefined);
      },
      onItems: (items) =>
        setLoaded((now) => now && { ...now, items: mergeItems(now.items, items) }),
      onError: setError,
    });
    return () => ending.abort();
  }, [kind]);

  const isLoadingMore = useRef(false);
  const loadMore = useCallback(async () => {
    const { kinds: of, loaded: from } = latest.current;
    if (isLoadingMore.current || from === undefined || from.cursor === null) return;
    isLoadingMore.current = true;
    try {
      const { items, nextCursor } = await client.listInbox({ kinds: of, cursor: from.cursor });
      setLoaded((now) => {
        // Another kind was chosen meanwhile.
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

interface Listener {
  readonly onPage: (page: Loaded) => void;
  readonly onItems: (items: readonly ShownItem[]) => void;
  readonly onError: (error: unknown) => void;
}

async function follow(
  kinds: readonly InboxKind[] | undefined,
  signal: AbortSignal,
  { onPage, onItems, onError }: Listener,
): Promise<void> {
  let waiting: ShownItem[] = [];
  const flush = (): void => {
    const items = waiting;
    waiting = [];
    if (!signal.aborted) onItems(items);
  };
  while (!signal.aborted) {
    try {
      const { items, nextCursor, seen } = await client.listInbox({ kinds }, { signal });
      if (signal.aborted) return;
      onPage({ items, cursor: nextCursor, seen });
      const after = items[0]?.id ?? 0;
      for await (const item of client.inboxEvents({ kinds, after, signal })) {
        waiting.push(item);
        if (waiting.length === 1) setTimeout(flush, batchMs);
      }
    } catch (error) {
      if (signal.aborted) return;
      onError(error);
      // Signed out: the page says so, and begins anew when that is over.
      if (error instanceof MandateApiError && error.status === 401) return;
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
