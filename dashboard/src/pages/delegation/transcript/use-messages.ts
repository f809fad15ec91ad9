import { useCallback, useEffect, useRef, useState } from "react";
import type { SessionEntry } from "../../../../../src/sessions/session-entry.ts";
import { client } from "../../../data/client.ts";
import { live } from "../../../data/live.ts";
import { useDelegationNews } from "../delegation-feed.ts";
import { firstStalePage, type MessagePage } from "./message-pages.ts";

const perPage = 100;
const restMs = 500;

export interface Messages {
  readonly entries: readonly SessionEntry[];
  readonly hasMore: boolean;
  readonly isLoaded: boolean;
  readonly error: unknown;
  loadMore(): void;
}

/** What was said, by pages; those that can have changed are read again when something happens. */
export function useMessages(delegationId: string): Messages {
  const [pages, setPages] = useState<readonly MessagePage[]>([]);
  const [error, setError] = useState<unknown>();
  const current = useRef<readonly MessagePage[]>([]);
  const isBusy = useRef(false);
  const isWanted = useRef(false);

  const read = useCallback(
    async (from: number, count: number): Promise<void> => {
      if (isBusy.current) {
        isWanted.current = true;
        return;
      }
      isBusy.current = true;
      try {
        await live.opened;
        const read: MessagePage[] = current.current.slice(0, from);
        for (let place = from; place < from + count; place += 1) {
          const before = read.at(-1);
          if (before?.next === null) break;
          const cursor = before?.next ?? undefined;
          const page = await client.listMessages({ delegationId, limit: perPage, cursor });
          read.push({ cursor, items: page.items, next: page.nextCursor });
        }
        current.current = read;
        setPages(read);
        setError(undefined);
      } catch (failure) {
        setError(failure);
      } finally {
        isBusy.current = false;
      }
    },
    [delegationId],
  );

  useEffect(() => {
    current.current = [];
    setPages([]);
    void read(0, 1);
  }, [read]);

  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const refresh = useCallback(() => {
    timer.current ??= setTimeout(async () => {
      timer.current = undefined;
      isWanted.current = false;
      const from = firstStalePage(current.current);
      await read(from, Math.max(current.current.length - from, 1));
      if (isWanted.current) refresh();
    }, restMs);
  }, [read]);
  useEffect(() => () => clearTimeout(timer.current), []);
  useDelegationNews(delegationId, refresh);

  const next = pages.at(-1)?.next ?? null;
  return {
    entries: pages.flatMap(({ items }) => items),
    hasMore: next !== null,
    isLoaded: pages.length > 0,
    error,
    loadMore: () => void read(current.current.length, 1),
  };
}
