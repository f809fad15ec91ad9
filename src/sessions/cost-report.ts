import { MandateError } from "../ports/mandate-error.ts";
import type { RunRow, Store } from "../ports/store.ts";
import { StoreMemory } from "./store-memory.ts";

export const costGroups = ["run", "profile", "model", "day"] as const;

export type CostGroup = (typeof costGroups)[number];

export interface CostQuery {
  readonly by: CostGroup;
  /** Milliseconds since 1970: runs that started then or later. */
  readonly since?: number | undefined;
  /** How many groups at most. */
  readonly limit: number;
}

export interface CostLine {
  /** A run's id, a profile's name, `provider/model`, or a day in universal time. */
  readonly key: string;
  readonly prompt: number;
  readonly completion: number;
  readonly cost: number;
}

export interface CostReport {
  /** The dearest first; days the latest first. */
  readonly lines: readonly CostLine[];
  /** Of everything that was looked at, also of what is not in the lines. */
  readonly total: Omit<CostLine, "key">;
  /** How many runs were looked at, the newest first. */
  readonly runs: number;
  /** False: older runs were left out, since nobody reads every log there is for one answer. */
  readonly isComplete: boolean;
}

/** What one run spent, by everything that anybody asks for. */
interface Spending {
  readonly profile: string;
  readonly model: string;
  readonly day: string;
  prompt: number;
  completion: number;
  cost: number;
}

const mostRuns = 1000;
const mostDelegations = 10_000;

/** A run that has finished spends nothing more. */
const finished = new StoreMemory<readonly Spending[]>(10_000);

export async function costReport(store: Store, query: CostQuery): Promise<CostReport> {
  const { by, limit, since = 0 } = query;
  const rows = await store.listRuns({ limit: mostRuns + 1 });
  const lines = new Map<string, CostLine>();
  let total: Omit<CostLine, "key"> = { prompt: 0, completion: 0, cost: 0 };
  let [runs, delegations, isComplete] = [0, 0, true];
  for (const row of rows) {
    if (row.startedAt < since) break;
    if (runs === mostRuns || delegations >= mostDelegations) {
      isComplete = false;
      break;
    }
    for (const spent of await spendingsOf(store, row)) {
      const key = by === "run" ? row.id : spent[by];
      lines.set(key, { key, ...sum(lines.get(key) ?? nothing, spent) });
      total = sum(total, spent);
    }
    runs++;
    delegations += row.delegations;
  }
  const sorted = [...lines.values()].sort(by === "day" ? byKey : byCost);
  return { lines: sorted.slice(0, limit), total, runs, isComplete };
}

const nothing = { prompt: 0, completion: 0, cost: 0 };

async function spendingsOf(store: Store, row: RunRow): Promise<readonly Spending[]> {
  const known = finished.get(store, row.id);
  if (known !== undefined) return known;
  const spendings = new Map<string, Spending>();
  const profiles = new Map<string, string>();
  const models = new Map<string, string>();
  try {
    for await (const event of store.readEvents({ runId: row.id })) {
      const { sub_agent_id: id = "" } = event;
      if (event.type === "agent.subagent_created") profiles.set(id, event.payload.profile);
      // A turn is settled right after it was made; what failed is the one's that was asked last.
      if (event.type === "agent.model_turn") models.set(id, event.payload.requested);
      if (event.type !== "agent.budget_settled") continue;
      const { completion, cost, prompt } = event.payload;
      const profile = profiles.get(id) ?? "";
      const model = models.get(id) ?? "unknown";
      const day = new Date(event.at).toISOString().slice(0, 10);
      const key = JSON.stringify([profile, model, day]);
      const so = spendings.get(key) ?? { profile, model, day, ...nothing };
      spendings.set(key, { ...so, ...sum(so, { completion, cost, prompt }) });
    }
  } catch (error) {
    // A log that is damaged says nothing about what it cost.
    if (error instanceof MandateError && error.code === "closed") throw error;
    return [];
  }
  const spent = [...spendings.values()];
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
  };
}

function byCost(one: CostLine, other: CostLine): number {
  return other.cost - one.cost || other.prompt + other.completion - one.prompt - one.completion;
}

function byKey(one: CostLine, other: CostLine): number {
  return one.key < other.key ? 1 : -1;
}
