import {
  type QueryKey,
  type UseQueryOptions,
  type UseQueryResult,
  useQuery,
} from "@tanstack/react-query";
import type { FollowedEvent } from "../../../src/surfaces/client/mandate-client.ts";
import { live } from "./live.ts";

export interface LiveQuery<Value> {
  /** Names what is loaded: the same key is loaded once for all components. */
  readonly key: QueryKey;
  readonly load: (signal: AbortSignal) => Promise<Value>;
  /** Events after which the answer is another one. */
  readonly changedBy?: (event: FollowedEvent) => boolean;
  /** For changes that no event tells, such as the death of a worker: while the page is visible. */
  readonly everyMs?: number;
  readonly staleMs?: number;
}

/**
 * What the server answers, kept up to date by the events.
 * @example const { data, error, refetch } = useLiveQuery({ key: ["pins"], load: (signal) => client.listPins({}, { signal }), changedBy: isRecordChange });
 */
export function useLiveQuery<Value>(query: LiveQuery<Value>): UseQueryResult<Value> {
  const { changedBy, everyMs, key, load, staleMs } = query;
  const options: UseQueryOptions<Value> = {
    queryKey: key,
    queryFn: async ({ signal }) => {
      // An event between the answer and the first event of the stream would be missed.
      await live.opened;
      return await load(signal);
    },
    meta: changedBy ? { changedBy } : {},
  };
  return useQuery({
    ...options,
    ...(everyMs !== undefined && { refetchInterval: everyMs }),
    ...(staleMs !== undefined && { staleTime: staleMs }),
  });
}
