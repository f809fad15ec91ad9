import type { Operations } from "../../../src/surfaces/client/mandate-client.ts";
import { client } from "./client.ts";
import { useLiveQuery } from "./use-live-query.ts";

export type Me = Operations["getMe"]["reply"];

/** Who looks at this page. The server decides all the same; this is for not offering what it refuses. */
export function useMe(): Me | undefined {
  return useLiveQuery({ key: ["me"], load: (signal) => client.getMe({}, { signal }) }).data;
}

export function isOperator(me: Me | undefined): boolean {
  return me !== undefined && me.role !== "viewer";
}
