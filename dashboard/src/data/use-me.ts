import type { Operations } from "../../../src/surfaces/client/mandate-client.ts";
import { client } from "./client.ts";
import { useResource } from "./use-resource.ts";

export type Me = Operations["getMe"]["reply"];

/** Who looks at this page. The server decides all the same; this is for not offering what it refuses. */
export function useMe(): Me | undefined {
  return useResource("me", (signal) => client.getMe({}, { signal })).value;
}

export function isOperator(me: Me | undefined): boolean {
  return me !== undefined && me.role !== "viewer";
}
