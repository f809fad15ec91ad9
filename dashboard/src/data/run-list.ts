import { closeReasonOf } from "../../../src/events/cause.ts";
import { isOfRoot } from "../../../src/events/run-cause.ts";
import type { FollowedEvent, Operations } from "../../../src/surfaces/client/mandate-client.ts";
import { client } from "./client.ts";
import { live } from "./live.ts";
import type { ListPages } from "./merge-first-page.ts";
import { queryClient } from "./query-client.ts";
import { type LiveList, useLiveList } from "./use-live-list.ts";

export type RunRow = Operations["listRuns"]["reply"]["items"][number];
export type RunQuery = Omit<Operations["listRuns"]["input"], "cursor" | "limit">;

const pageSize = 100;
/** Between these, a row is kept up to date by adding what events say. */
const listEvents = ["run.started", "run.resumed", "run.finished"];

/** Runs that fit a query, the newest first. The server decides which fit. */
export function useRunList(query: RunQuery): LiveList<RunRow> {
  return useLiveList({
    key: ["runs", query],
    load: (cursor, signal) => client.listRuns({ limit: pageSize, cursor, ...query }, { signal }),
    changedBy: ({ type }) => listEvents.includes(type),
    idOf: ({ runId }) => runId,
    placeOf: ({ startedAt }) => startedAt,
  });
}

live.onEvents((events) => {
  for (const query of queryClient.getQueryCache().findAll({ queryKey: ["runs"], type: "active" })) {
    // What arrives while a page is read may be counted in it already.
    const isLoading = query.state.fetchStatus === "fetching";
    queryClient.setQueryData<ListPages<RunRow>>(query.queryKey, (list) =>
      list === undefined ? list : changeRows(list, events, isLoading),
    );
  }
});

function changeRows(
  list: ListPages<RunRow>,
  events: readonly FollowedEvent[],
  isLoading: boolean,
): ListPages<RunRow> {
  const byRun = Map.groupBy(events, (event) => event.run_id);
  let hasChanged = false;
  const pages = list.pages.map(({ items, nextCursor }) => ({
    items: items.map((row) => {
      const own = byRun.get(row.runId) ?? [];
      const next = own.reduce((before, event) => changeRow(before, event, isLoading), row);
      hasChanged ||= next !== row;
      return next;
    }),
    nextCursor,
  }));
  return hasChanged ? { ...list, pages } : list;
}

/** Updates the row of a run after an event of the run. */
function changeRow(row: RunRow, event: FollowedEvent, isLoading: boolean): RunRow {
  switch (event.type) {
    case "run.resumed":
      return { ...row, state: "running" };
    case "run.finished": {
      const { cause, outcome: state } = event.payload;
      const closeReason = isOfRoot(cause) ? closeReasonOf(cause) : null;
      return { ...row, state, closeReason, finishedAt: event.at };
    }
    case "agent.subagent_created":
      return isLoading ? row : { ...row, delegations: row.delegations + 1 };
    case "agent.budget_settled": {
      if (isLoading) return row;
      const { completion, cost, estimated, prompt } = event.payload;
      const tokens = row.tokens + prompt + completion;
      return { ...row, tokens, cost: row.cost + cost, ...(estimated && { estimated }) };
    }
    case "agent.budget_corrected": {
      if (isLoading) return row;
      const { completion, cost, prompt, replaces } = event.payload;
      const tokens = row.tokens + prompt + completion - replaces.prompt - replaces.completion;
      // Whether another estimate is left is known when the list is asked for again.
      return { ...row, tokens, cost: row.cost + cost - replaces.cost };
    }
    default:
      return row;
  }
}
