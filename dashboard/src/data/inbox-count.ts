import { client } from "./client.ts";
import { type Resource, useResource } from "./use-resource.ts";

export interface InboxCount {
  /** Questions that wait for an answer. */
  readonly open: number;
  readonly unread: number;
}

const mostCounted = 100;

/** For the badge; everything else about the inbox is for its page. */
export function useInboxCount(): Resource<InboxCount> {
  return useResource(
    "inbox-count",
    async (signal) => {
      const { items, unread } = await client.listInbox(
        { openOnly: true, limit: mostCounted },
        { signal },
      );
      return { open: items.length, unread };
    },
    {
      refreshOn: ({ type }) =>
        ["agent.asked", "agent.answered", "agent.subagent_closed", "run.finished"].includes(type),
    },
  );
}
