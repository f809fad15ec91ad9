import type { Operations } from "../../../src/surfaces/client/mandate-client.ts";
import { client } from "./client.ts";
import { type Resource, useResource } from "./use-resource.ts";

export type OpenAsks = Operations["listInbox"]["reply"];

const most = 100;
const askingEvents = ["agent.asked", "agent.answered", "agent.subagent_closed", "run.finished"];

/** What waits for an answer, the latest first: of all runs, or of one. */
export function useOpenAsks(runId?: string): Resource<OpenAsks> {
  return useResource(
    `open-asks ${runId ?? ""}`,
    (signal) => client.listInbox({ openOnly: true, limit: most, runId }, { signal }),
    {
      refreshOn: ({ run_id: of, type }) =>
        askingEvents.includes(type) && (runId === undefined || runId === of),
    },
  );
}

/** The runs in which an agent waits for an answer. */
export function useAskingRuns(): ReadonlySet<string> {
  const { value } = useOpenAsks();
  return new Set(value?.items.map(({ runId }) => runId));
}
