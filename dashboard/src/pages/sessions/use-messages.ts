import type { UseQueryResult } from "@tanstack/react-query";
import type { SessionEntry } from "../../../../src/sessions/session-entry.ts";
import { client } from "../../data/client.ts";
import { useLiveQuery } from "../../data/use-live-query.ts";

export interface Messages {
  readonly entries: readonly SessionEntry[];
  /** There is more than a page can sensibly show: exporting gives all of it. */
  readonly isCut: boolean;
}

const mostPages = 10;

/** The messages of a session, live. */
export function useMessages(
  sessionId: string,
  runIds: readonly string[],
): UseQueryResult<Messages> {
  return useLiveQuery({
    key: ["messages", sessionId],
    load: (signal) => loadMessages(sessionId, signal),
    changedBy: (event) => event.sub_agent_id === sessionId || runIds.includes(event.run_id),
  });
}

async function loadMessages(delegationId: string, signal: AbortSignal): Promise<Messages> {
  const entries: SessionEntry[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < mostPages; page += 1) {
    const { items, nextCursor } = await client.listMessages(
      { delegationId, limit: 200, cursor },
      { signal },
    );
    entries.push(...items);
    if (nextCursor === null) return { entries, isCut: false };
    cursor = nextCursor;
  }
  return { entries, isCut: true };
}
