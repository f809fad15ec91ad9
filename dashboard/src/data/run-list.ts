import { useSyncExternalStore } from "react";
import { closeReasonOf } from "../../../src/events/cause.ts";
import { isOfRoot } from "../../../src/events/run-cause.ts";
import type { FollowedEvent, Operations } from "../../../src/surfaces/client/mandate-client.ts";
import { client } from "./client.ts";
import { live } from "./live.ts";

export type RunRow = Operations["listRuns"]["reply"]["items"][number];

export interface RunListSnapshot {
  /** The newest first. */
  readonly rows: readonly RunRow[];
  readonly hasMore: boolean;
  readonly isLoaded: boolean;
  readonly error: unknown;
}

type RunQuery = Pick<Operations["listRuns"]["input"], "open" | "outcome">;

const pageSize = 100;
const restMs = 500;

/**
 * The runs, as far as they were asked for, kept up to date by the events. What arrives while a page
 * is being loaded may be in it already, so it is not counted twice; when a run ends it is asked for
 * once more, and then it is exact.
 */
class RunList {
  #snapshot: RunListSnapshot = { rows: [], hasMore: false, isLoaded: false, error: undefined };
  readonly #rows = new Map<string, RunRow>();
  readonly #query: RunQuery;
  readonly #listeners = new Set<() => void>();
  #cursor: string | null | undefined;
  #loading: Promise<void> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #stop: () => void = () => undefined;

  constructor(query: RunQuery) {
    this.#query = query;
  }

  readonly getSnapshot = (): RunListSnapshot => this.#snapshot;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) {
      this.#stop = live.listen({
        onEvents: (events) => this.#hear(events),
        onGap: () => void this.refresh(),
        onBack: () => {
          if (this.#snapshot.error !== undefined) void this.refresh();
        },
      });
      void this.refresh();
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#stop();
      clearTimeout(this.#timer);
      this.#timer = undefined;
    };
  };

  /** The first page again; what was loaded beyond it stays. */
  readonly refresh = (): Promise<void> => this.#load(undefined);

  readonly loadMore = (): void => {
    if (typeof this.#cursor === "string" && !this.#loading) void this.#load(this.#cursor);
  };

  async #load(cursor: string | undefined): Promise<void> {
    await this.#loading;
    this.#loading = this.#request(cursor);
    await this.#loading;
    this.#loading = undefined;
  }

  async #request(cursor: string | undefined): Promise<void> {
    let error: unknown;
    try {
      await live.opened;
      const page = await client.listRuns({ limit: pageSize, cursor, ...this.#query });
      for (const row of page.items) this.#rows.set(row.runId, row);
      if (cursor === undefined && this.#query.open) this.#dropEnded(page.items);
      if (cursor !== undefined || this.#cursor === undefined) this.#cursor = page.nextCursor;
    } catch (problem) {
      error = problem;
    }
    this.#publish(error);
  }

  /** What is not among the open ones any more has ended. */
  #dropEnded(items: readonly RunRow[]): void {
    const oldest = items.at(-1)?.startedAt ?? 0;
    const open = new Set(items.map(({ runId }) => runId));
    for (const [runId, { startedAt }] of this.#rows) {
      if (startedAt >= oldest && !open.has(runId)) this.#rows.delete(runId);
    }
  }

  #hear(events: readonly FollowedEvent[]): void {
    let hasChanged = false;
    for (const event of events) {
      const row = this.#rows.get(event.run_id);
      const next = changeRow(row, event, this.#loading !== undefined);
      if (next === undefined || next === row) continue;
      this.#rows.set(event.run_id, next);
      hasChanged = true;
      if (event.type === "run.finished") this.#refreshSoon();
    }
    if (hasChanged) this.#publish(undefined);
  }

  #refreshSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.refresh();
    }, restMs);
  }

  #publish(error: unknown): void {
    const rows = [...this.#rows.values()].sort((one, other) => other.startedAt - one.startedAt);
    const hasMore = typeof this.#cursor === "string";
    const isLoaded = this.#snapshot.isLoaded || error === undefined;
    this.#snapshot = { rows, hasMore, isLoaded, error };
    for (const listener of [...this.#listeners]) listener();
  }
}

/** A row after an event; undefined when it is no run that is listed here. */
function changeRow(
  row: RunRow | undefined,
  event: FollowedEvent,
  isLoading: boolean,
): RunRow | undefined {
  if (event.type === "run.started") {
    const { application, task, workspace } = event.payload;
    return (
      row ?? {
        runId: event.run_id,
        title: task.slice(0, 300),
        application,
        workspace,
        state: "running",
        closeReason: null,
        startedAt: event.at,
        finishedAt: null,
        delegations: 0,
        tokens: 0,
        cost: 0,
      }
    );
  }
  if (row === undefined) return undefined;
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

const lists = {
  all: new RunList({}),
  open: new RunList({ open: true }),
  failed: new RunList({ outcome: "failed" }),
  cancelled: new RunList({ outcome: "cancelled" }),
};

export type RunFilter = keyof typeof lists;

export function useRunList(filter: RunFilter): RunListSnapshot & Pick<RunList, "loadMore"> {
  const list = lists[filter];
  const snapshot = useSyncExternalStore(list.subscribe, list.getSnapshot);
  return { ...snapshot, loadMore: list.loadMore };
}
