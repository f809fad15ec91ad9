import type { UseQueryResult } from "@tanstack/react-query";
import type { Operations } from "../../../src/surfaces/client/mandate-client.ts";
import { client } from "./client.ts";
import { useLiveQuery } from "./use-live-query.ts";

export type AskDetail = Operations["getAsk"]["reply"];

/** A question with the change or the call that it is about. It stays the same until it is answered. */
export function useAskDetail(askId: string): UseQueryResult<AskDetail> {
  return useLiveQuery({
    key: ["ask", askId],
    load: (signal) => client.getAsk({ askId }, { signal }),
    staleMs: Number.POSITIVE_INFINITY,
  });
}
