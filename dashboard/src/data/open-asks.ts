import type { UseQueryResult } from "@tanstack/react-query";
import type { Operations } from "../../../src/surfaces/client/mandate-client.ts";
import { client } from "./client.ts";
import { useLiveQuery } from "./use-live-query.ts";

export type OpenAsks = Operations["listInbox"]["reply"];

const most = 100;
const askingEvents = ["agent.asked", "agent.answered", "agent.subagent_closed", "run.finished"];

/** What waits for an answer, the latest first: of all runs, or of one. */
export function useOpenAsks(runId?: string): UseQueryResult<OpenAsks> {
  return useLiveQuery({
    key: ["open-asks", runId ?? ""],
    load: (signal) => client.listInbox({ openOnly: true, limit: most, runId }, { signal }),
    changedBy: ({ run_id: of, type }) =>
      askingEvents.includes(type) && (runId === undefined || runId === of),
  });
}

/** The runs in which an agent waits for an answer. */
export function useAskingRuns(): ReadonlySet<string> {
  const { data } = useOpenAsks();
  return new Set(data?.items.map(({ runId }) => runId));
}
