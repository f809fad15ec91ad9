import type { EventType } from "../../../../src/events/event.ts";
import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";
import { client } from "../../data/client.ts";
import { type Resource, useResource } from "../../data/use-resource.ts";

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

export function useDelegationDetail(delegationId: string): Resource<DelegationDetail> {
  return useResource(
    `delegation ${delegationId}`,
    (signal) => client.getDelegation({ delegationId }, { signal }),
    {
      refreshOn: (event) => {
        if (event.type === "run.resumed" || event.type === "run.finished") return true;
        if (event.sub_agent_id !== delegationId) return false;
        const isLarge =
          event.type === "agent.tool_completed" && event.payload.artifact !== undefined;
        return isLarge || news.has(event.type);
      },
    },
  );
}

export type DelegationDiff = Operations["diffDelegation"]["reply"];

/** What it changed in its own copy. Who has none is not asked for it: null. */
export function useDelegationDiff(
  delegationId: string,
  detail: DelegationDetail | undefined,
): Resource<DelegationDiff | null> {
  const hasCopy = detail?.contract?.workspace.copy !== undefined;
  return useResource(
    `diff ${delegationId} ${hasCopy} ${detail?.status ?? ""}`,
    (signal) =>
      hasCopy ? client.diffDelegation({ delegationId }, { signal }) : Promise.resolve(null),
    {
      refreshOn: (event) =>
        event.type === "command.executed" &&
        /^(?:merge|discard) /.test(event.payload.command) &&
        event.payload.command.includes(delegationId),
    },
  );
}
