import { type QueryKey, useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { FollowedEvent } from "../../../src/surfaces/client/mandate-client.ts";
import { live } from "./live.ts";
import {
  type ItemOrder,
  type ListPage,
  type ListPages,
  mergeFirstPage,
} from "./merge-first-page.ts";
import { queryClient } from "./query-client.ts";

export interface LiveListQuery<Item> extends ItemOrder<Item> {
  readonly key: QueryKey;
  readonly load: (cursor: string | undefined, signal?: AbortSignal) => Promise<ListPage<Item>>;
  /** Events after which the first page is another one. */
  readonly changedBy: (event: FollowedEvent) => boolean;
}

export interface LiveList<Item> {
  /** The newest first. */
  readonly items: readonly Item[];
  readonly hasMore: boolean;
  readonly isLoaded: boolean;
  readonly error: Error | null;
  loadMore(): void;
}

/** A long list, read by pages; only its first page is read again when something happens. */
export function useLiveList<Item>(query: LiveListQuery<Item>): LiveList<Item> {
  const { changedBy, key, load } = query;
  const { data, error, fetchNextPage, hasNextPage, isFetching } = useInfiniteQuery({
    queryKey: key,
    queryFn: async ({
      pageParam,
      signal,
    }: {
      pageParam: string | undefined;
      signal: AbortSignal;
    }) => {
      await live.opened;
      return await load(pageParam, signal);
    },
    initialPageParam: undefined,
    getNextPageParam: ({ nextCursor }: ListPage<Item>) => nextCursor ?? undefined,
    meta: {
      changedBy,
      refresh: async () => {
        const first = await load(undefined);
        queryClient.setQueryData<ListPages<Item>>(
          key,
          (list) => list && mergeFirstPage(list, first, query),
        );
      },
    },
  });
  const items = useMemo(() => data?.pages.flatMap((page) => page.items) ?? [], [data]);
  return {
    items,
    hasMore: hasNextPage,
    isLoaded: data !== undefined,
    error,
    loadMore: () => {
      if (hasNextPage && !isFetching) void fetchNextPage();
    },
  };
}
