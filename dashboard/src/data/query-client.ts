import { type Query, QueryClient } from "@tanstack/react-query";
import type { FollowedEvent } from "../../../src/surfaces/client/mandate-client.ts";
import type { LiveListener } from "./live.ts";

declare module "@tanstack/react-query" {
  interface Register {
    queryMeta: {
      /** Events after which the server would answer differently. */
      readonly changedBy?: (event: FollowedEvent) => boolean;
      /** Refreshes the query without loading the whole answer again. */
      readonly refresh?: () => Promise<void>;
    };
  }
}

/** Answers that no event changes are asked for again when a component needs them after this time. */
const unfollowedMs = 5000;
/** Events come in bursts: one request is for all of them. */
const restMs = 300;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // The client repeats requests itself, and the stream says when the server answers again.
      retry: false,
      networkMode: "always",
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
      staleTime: ({ meta }) => (meta?.changedBy ? Number.POSITIVE_INFINITY : unfollowedMs),
    },
  },
});

/**
 * The only place where events make answers stale. An answer that is shown is loaded again, one that
 * is not shown when it is shown next. A request that runs is not cut short: what came while it ran
 * is asked for after it.
 */
export function followLive(
  client: QueryClient,
  live: { listen(listener: LiveListener): () => void },
): () => void {
  const cache = client.getQueryCache();
  const due = new Set<Query>();
  const refreshing = new Set<Query>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const mark = (isChanged: (query: Query) => boolean | undefined): void => {
    for (const query of cache.getAll()) if (isChanged(query)) due.add(query);
    if (due.size > 0) timer ??= setTimeout(flush, restMs);
  };
  const flush = (): void => {
    timer = undefined;
    for (const query of due) {
      if (refreshing.has(query) || query.state.fetchStatus === "fetching") continue;
      due.delete(query);
      void refresh(query);
    }
    if (due.size > 0) timer = setTimeout(flush, restMs);
  };
  const refresh = async (query: Query): Promise<void> => {
    const { refresh: own } = query.meta ?? {};
    if (!query.isActive() || own === undefined || query.state.data === undefined) {
      await client.invalidateQueries({ queryKey: query.queryKey, exact: true });
      return;
    }
    refreshing.add(query);
    // What failed is asked for again with the next event, or when the server answers again.
    await own().catch(() => query.invalidate());
    refreshing.delete(query);
  };
  const stop = live.listen({
    onEvents: (events) => mark(({ meta }) => meta?.changedBy && events.some(meta.changedBy)),
    onGap: () => mark(() => true),
    onBack: () => mark(({ state }) => state.status === "error" || state.isInvalidated),
  });
  return () => {
    clearTimeout(timer);
    stop();
  };
}
