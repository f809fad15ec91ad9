import { readPrunedRuns } from "../events/pruned-runs.ts";
import { type SpentLine, SpentLines } from "../events/spent.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { RunRow, Store } from "../ports/store.ts";
import { StoreMemory } from "./read-run.ts";

export const costGroups = ["run", "profile", "model", "day", "workspace", "person"] as const;

export type CostGroup = (typeof costGroups)[number];

export interface CostQuery {
  readonly by: CostGroup;
  /** Milliseconds since 1970: runs that started then or later. */
  readonly since?: number | undefined;
  /** The most groups. */
  readonly limit: number;
  /** Reports also what each group spent on each day. */
  readonly daily?: boolean | undefined;
}

export interface CostLine {
  /**
   * A run id, a profile, `provider/model`, a day in UTC, a folder or the name of a token. Empty: not
   * known, as of a pruned run.
   */
  readonly key: string;
  readonly prompt: number;
  readonly completion: number;
  readonly cost: number;
  /** Part of it is an estimate: the real amount is at most this. */
  readonly estimated?: true;
}

export interface CostReport {
  /** Most expensive first; days latest first. */
  readonly lines: readonly CostLine[];
  /** The days of the groups that are shown, latest first; empty unless they were asked for. */
  readonly days: readonly (CostLine & { readonly day: string })[];
  /** The sum over all runs that were read, including groups beyond `limit`. */
  readonly total: Omit<CostLine, "key">;
  /** The number of runs that were read, newest first. */
  readonly runs: number;
  /** False: older runs were left out, to bound the time. */
  readonly isComplete: boolean;
}

const mostRuns = 1000;
const mostDelegations = 10_000;

/** Amounts of finished runs, which do not change. */
const finished = new StoreMemory<readonly SpentLine[]>(10_000);

export async function costReport(store: Store, query: CostQuery): Promise<CostReport> {
  const { by, daily = false, limit, since = 0 } = query;
  const rows = await store.listRuns({ limit: mostRuns + 1 });
  const lines = new Map<string, CostLine>();
  const days = new Map<string, CostLine & { readonly day: string }>();
  let total: Omit<CostLine, "key"> = { prompt: 0, completion: 0, cost: 0 };
  let [runs, delegations, isComplete] = [0, 0, true];
  const add = (run: CostedRun, spendings: readonly SpentLine[]): void => {
    for (const spent of spendings) {
      const key = keyOf(by, run, spent);
      lines.set(key, { key, ...sum(lines.get(key) ?? nothing, spent) });
      if (daily) {
        const { day } = spent;
        const place = JSON.stringify([day, key]);
        days.set(place, { key, day, ...sum(days.get(place) ?? nothing, spent) });
      }
      total = sum(total, spent);
    }
    runs++;
  };
  for (const row of rows) {
    if (row.startedAt < since) break;
    if (runs === mostRuns || delegations >= mostDelegations) {
      isComplete = false;
      break;
    }
    add(row, await spendingsOf(store, row));
    delegations += row.delegations;
  }
  // Pruned runs count by their receipts.
  for (const { payload } of (await readPrunedRuns(store)).all()) {
    const run = { id: payload.run, workspace: null, startedBy: null };
    if (payload.started_at >= since) add(run, payload.spent);
  }
  const sorted = [...lines.values()].sort(by === "day" ? byKey : byCost).slice(0, limit);
  const shown = new Set(sorted.map(({ key }) => key));
  const ofShown = [...days.values()].filter(({ key }) => shown.has(key));
  ofShown.sort((one, other) => (one.day < other.day ? 1 : one.day > other.day ? -1 : 0));
  return { lines: sorted, days: ofShown, total, runs, isComplete };
}

type CostedRun = Pick<RunRow, "id" | "startedBy" | "workspace">;

function keyOf(by: CostGroup, run: CostedRun, spent: SpentLine): string {
  switch (by) {
    case "run":
      return run.id;
    case "workspace":
      return run.workspace ?? "";
    case "person":
      return run.startedBy ?? "";
    default:
      return spent[by];
  }
}

const nothing = { prompt: 0, completion: 0, cost: 0 };

async function spendingsOf(store: Store, row: RunRow): Promise<readonly SpentLine[]> {
  const known = finished.get(store, row.id);
  if (known !== undefined) return known;
  const lines = new SpentLines();
  try {
    for await (const event of store.readEvents({ runId: row.id })) lines.see(event);
  } catch (error) {
    // A damaged log does not count.
    if (error instanceof MandateError && error.code === "closed") throw error;
    return [];
  }
  const spent = lines.all();
  if (row.outcome !== null) finished.keep(store, row.id, spent);
  return spent;
}

function sum<Amounts extends Omit<CostLine, "key">>(
  one: Amounts,
  other: Omit<CostLine, "key">,
): Omit<CostLine, "key"> {
  return {
    prompt: one.prompt + other.prompt,
    completion: one.completion + other.completion,
    cost: one.cost + other.cost,
    ...((one.estimated || other.estimated) && { estimated: true }),
  };
}

function byCost(one: CostLine, other: CostLine): number {
  return other.cost - one.cost || other.prompt + other.completion - one.prompt - one.completion;
}

function byKey(one: CostLine, other: CostLine): number {
  return one.key < other.key ? 1 : -1;
}
