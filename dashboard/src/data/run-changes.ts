import type { UseQueryResult } from "@tanstack/react-query";
import type { Operations } from "../../../src/surfaces/client/mandate-client.ts";
import { client } from "./client.ts";
import { useLiveQuery } from "./use-live-query.ts";

export type RunChanges = Operations["getRunChanges"]["reply"];

const news = ["agent.subagent_closed", "agent.worktree_merged", "run.finished", "run.resumed"];

/** The files that a run changed over all its agents, and what was kept and not merged. */
export function useRunChanges(runId: string): UseQueryResult<RunChanges> {
  return useLiveQuery({
    key: ["run-changes", runId],
    load: (signal) => client.getRunChanges({ runId }, { signal }),
    changedBy: (event) => {
      // A person decides about kept changes on any surface.
      if (event.type === "command.executed")
        return /^(?:merge|discard) /.test(event.payload.command);
      return event.run_id === runId && news.includes(event.type);
    },
  });
}
