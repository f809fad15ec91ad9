import type { UseQueryResult } from "@tanstack/react-query";
import type { EventType } from "../../../../src/events/event.ts";
import {
  type FollowedEvent,
  MandateApiError,
  type Operations,
} from "../../../../src/surfaces/client/mandate-client.ts";
import { client } from "../../data/client.ts";
import { queryClient } from "../../data/query-client.ts";
import { useLiveQuery } from "../../data/use-live-query.ts";

export type DelegationDetail = Operations["getDelegation"]["reply"];

/** What turns and calls change is folded from them; these change what only the server knows. */
const news: ReadonlySet<EventType> = new Set<EventType>([
  "agent.subagent_started",
  "agent.asked",
  "agent.answered",
  "agent.subagent_waiting_for_merge",
  "agent.worktree_merged",
  "agent.subagent_closed",
  "agent.resumed",
  "agent.paused",
  "agent.interrupted",
]);

export function useDelegationDetail(delegationId: string): UseQueryResult<DelegationDetail> {
  return useLiveQuery({
    key: ["delegation", delegationId],
    load: (signal) => client.getDelegation({ delegationId }, { signal }),
    changedBy: (event) => {
      if (isDecisionAbout(event, delegationId)) return true;
      if (event.type === "run.resumed" || event.type === "run.finished") return true;
      if (event.sub_agent_id !== delegationId) return false;
      const isLarge = event.type === "agent.tool_completed" && event.payload.artifact !== undefined;
      return isLarge || news.has(event.type);
    },
  });
}

export type DelegationDiff = Operations["diffDelegation"]["reply"];

export interface DelegationChanges {
  /** What it changed in its own copy; null: there is no copy, or no copy any more. */
  readonly diff: DelegationDiff | null;
  /** Why there is no diff of a copy that it had; empty otherwise. */
  readonly why: string;
}

/** A person can decide about the changes on any surface: the control log tells of each decision. */
export function useDelegationDiff(
  delegationId: string,
  detail: DelegationDetail | undefined,
): UseQueryResult<DelegationChanges> {
  const hasCopy = detail?.contract?.workspace.copy !== undefined;
  return useLiveQuery({
    key: ["delegation", delegationId, "diff", hasCopy, detail?.status ?? ""],
    load: async (signal) => {
      if (!hasCopy) return { diff: null, why: "" };
      try {
        return { diff: await client.diffDelegation({ delegationId }, { signal }), why: "" };
      } catch (error) {
        if (!(error instanceof MandateApiError) || error.code !== "no-kept-work") throw error;
        return { diff: null, why: error.problem.detail };
      }
    },
    changedBy: (event) => isDecisionAbout(event, delegationId),
  });
}

function isDecisionAbout(event: FollowedEvent, delegationId: string): boolean {
  if (event.type !== "command.executed") return false;
  const [verb = "", id] = event.payload.command.split(" ");
  return (verb === "merge" || verb === "discard") && id === delegationId;
}

/** After a person's decision: everything that shows the delegation, its run, or lists of runs. */
export async function reloadDelegation(delegationId: string): Promise<void> {
  const keys = [["delegation", delegationId], ["run-changes"], ["runs"]];
  await Promise.all(keys.map((queryKey) => queryClient.invalidateQueries({ queryKey })));
}
