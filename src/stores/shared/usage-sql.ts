import type { LimitScope, ScopeUsage, UsageLimit } from "../../contracts/usage-limit.ts";
import type { StoredEvent } from "../../events/event.ts";
import { billionths } from "../../ports/dollars.ts";
import { numberOf } from "../../ports/identity.ts";
import type { Row } from "./stored-rows.ts";

/** What the events of a transaction release of what model requests hold. */
export interface Settlement {
  readonly delegation: number;
  /** Null: the delegation closed, and holds nothing any more. */
  readonly request: number | null;
  readonly tokens: number;
  /** The cost in billionths of a dollar. */
  readonly cost: number;
  /** The day on which it counts when nothing was held for it. */
  readonly day: number;
}

const secondsInDay = 86_400;

export function dayOf(at: number): number {
  return Math.floor(at / 1000 / secondsInDay);
}

/** The settlement in an event; undefined: the event releases nothing. */
export function settlementOf(event: StoredEvent): Settlement | undefined {
  const delegation = numberOf(event.sub_agent_id ?? "");
  if (delegation === undefined) return undefined;
  const day = dayOf(event.at);
  switch (event.type) {
    case "agent.budget_settled": {
      const { completion, cost, prompt, request } = event.payload;
      return { delegation, request, tokens: prompt + completion, cost: billionths(cost), day };
    }
    case "agent.budget_corrected": {
      const { cost, replaces, request } = event.payload;
      const more = billionths(cost) - billionths(replaces.cost);
      return { delegation, request, tokens: 0, cost: more, day };
    }
    case "agent.subagent_closed":
      return { delegation, request: null, tokens: 0, cost: 0, day };
    default:
      return undefined;
  }
}

/**
 * What is used of each scope, without one request that may be admitted again. `scopes` is a table
 * with the column `scope`; `second` is the present one.
 */
export function usageQuery(names: {
  readonly schema: string;
  readonly scopes: string;
  readonly second: string;
  readonly delegation: string;
  readonly request: string;
}): string {
  const { delegation, request, schema, scopes, second } = names;
  const isOf = (row: string): string =>
    `(s.scope = 'tenant' OR s.scope = 'queue/' || ${row}.queue OR s.scope = 'provider/' || ${row}.provider)`;
  const isOther = `NOT (h.sub_agent = ${delegation} AND h.request = ${request})`;
  const sum = (what: string, from: string): string =>
    `CAST((SELECT coalesce(sum(${what}), 0) FROM ${schema}${from}) AS BIGINT)`;
  const recent = `limit_seconds l WHERE l.second > ${second} - 61 AND ${isOf("l")}`;
  const today = `day = ${second} / ${secondsInDay}`;
  return `SELECT s.scope AS scope, ${second} AS second,
    ${sum("1", `limit_holds h WHERE ${isOther} AND ${isOf("h")}`)} AS open,
    ${sum("l.requests", recent)} AS requests, ${sum("l.tokens", recent)} AS tokens,
    ${sum("d.cost", `limit_days d WHERE d.${today}`)} AS spent,
    ${sum("h.cost", `limit_holds h WHERE ${isOther} AND h.${today}`)} AS held
    FROM ${scopes} s`;
}

/** Each limit with what is used of it. */
export function usedOf(
  limits: readonly UsageLimit[],
  used: ReadonlyMap<LimitScope, ScopeUsage>,
): readonly (readonly [UsageLimit, ScopeUsage])[] {
  return limits.flatMap((limit) => {
    const usage = used.get(limit.scope);
    return usage === undefined ? [] : [[limit, usage] as const];
  });
}

export function usageOfRow(row: Row): readonly [LimitScope, ScopeUsage] {
  const count = (name: string): number => Number(row[name]);
  return [
    String(row["scope"]) as LimitScope,
    {
      open: count("open"),
      requests: count("requests"),
      tokens: Math.max(0, count("tokens")),
      spent: count("spent"),
      held: count("held"),
    },
  ];
}
