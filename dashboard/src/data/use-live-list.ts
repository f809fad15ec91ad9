import { type InfiniteData, type QueryKey, useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { FollowedEvent } from "../../../src/surfaces/client/mandate-client.ts";
import { live } from "./live.ts";
import { type ItemOrder, type ListPage, mergeFirstPage } from "./merge-first-page.ts";
import { queryClient } from "./query-client.ts";

type Pages<Page> = InfiniteData<Page, string | undefined>;

interface PagesQuery<Page> {
  readonly key: QueryKey;
  readonly load: (cursor: string | undefined, signal?: AbortSignal) => Promise<Page>;
  /** Events after which some of the pages are others. */
  readonly changedBy: (event: FollowedEvent) => boolean;
}

export interface LivePagesQuery<Page> extends PagesQuery<Page> {
  /** Reads again what can have changed, and says how the pages that are loaded then become. */
  readonly reread: (pages: readonly Page[]) => Promise<(now: Pages<Page>) => Pages<Page>>;
}

export interface LivePages<Page> {
  readonly pages: readonly Page[];
  readonly hasMore: boolean;
  readonly isLoaded: boolean;
  readonly error: Error | null;
  loadMore(): void;
}

const nothing: readonly never[] = [];

/** What comes by pages, kept up to date by the events. */
export function useLivePages<Page extends { readonly nextCursor: string | null }>(
  query: LivePagesQuery<Page>,
): LivePages<Page> {
  const { changedBy, key, load, reread } = query;
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
    getNextPageParam: ({ nextCursor }: Page) => nextCursor ?? undefined,
    meta: {
      changedBy,
      refresh: async () => {
        const update = await reread(queryClient.getQueryData<Pages<Page>>(key)?.pages ?? nothing);
        queryClient.setQueryData<Pages<Page>>(key, (now) => now && update(now));
      },
    },
  });
  return {
    pages: data?.pages ?? nothing,
    hasMore: hasNextPage,
    isLoaded: data !== undefined,
    error,
    loadMore: () => {
      if (hasNextPage && !isFetching) void fetchNextPage();
    },
  };
}

export type LiveListQuery<Item, Page extends ListPage<Item>> = PagesQuery<Page> & ItemOrder<Item>;

export interface LiveList<Item, Page = ListPage<Item>> extends LivePages<Page> {
  /** The newest first. */
  readonly items: readonly Item[];
}

/** A long list, the newest first; only its first page is read again when something happens. */
export function useLiveList<Item, Page extends ListPage<Item> = ListPage<Item>>(
  query: LiveListQuery<Item, Page>,
): LiveList<Item, Page> {
  const list = useLivePages({
    ...query,
    async reread() {
      const first = await query.load(undefined);
      return (now) => mergeFirstPage(now, first, query);
    },
  });
  const { pages } = list;
  return { ...list, items: useMemo(() => pages.flatMap(({ items }) => items), [pages]) };
}
