import type { UseQueryResult } from "@tanstack/react-query";
import type { Operations } from "../../../../../src/surfaces/client/mandate-client.ts";
import { client } from "../../../data/client.ts";
import { useLiveQuery } from "../../../data/use-live-query.ts";

export type ModelRequest = Operations["listModelRequests"]["reply"]["items"][number];
export type ModelRequestDetail = Operations["getModelRequest"]["reply"];

export interface ModelRequests {
  readonly items: readonly ModelRequest[];
  /** There are more than a page shows. */
  readonly isCut: boolean;
}

const perPage = 200;
const mostPages = 10;
const news: ReadonlySet<string> = new Set([
  "agent.budget_reserved",
  "agent.budget_settled",
  "agent.budget_corrected",
  "agent.model_turn",
  "agent.retried",
]);

export function useModelRequests(delegationId: string): UseQueryResult<ModelRequests> {
  return useLiveQuery({
    key: ["delegation", delegationId, "requests"],
    load: async (signal) => {
      const items: ModelRequest[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < mostPages; page += 1) {
        const about = { delegationId, limit: perPage, cursor };
        const read = await client.listModelRequests(about, { signal });
        items.push(...read.items);
        if (read.nextCursor === null) return { items, isCut: false };
        cursor = read.nextCursor;
      }
      return { items, isCut: true };
    },
    changedBy: ({ sub_agent_id: of, type }) => of === delegationId && news.has(type),
  });
}

/** A request that was answered does not change any more. */
export function useModelRequest(
  delegationId: string,
  { endedAt, request }: Pick<ModelRequest, "endedAt" | "request">,
): UseQueryResult<ModelRequestDetail> {
  return useLiveQuery({
    key: ["delegation", delegationId, "request", request, endedAt],
    load: (signal) => client.getModelRequest({ delegationId, request }, { signal }),
    staleMs: Number.POSITIVE_INFINITY,
  });
}
