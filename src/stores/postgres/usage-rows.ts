import type { Client } from "pg";
import {
  type Admission,
  decideAdmission,
  type LimitScope,
  type ScopeUsage,
  type UsageLimit,
} from "../../contracts/usage-limit.ts";
import type { StoredEvent } from "../../events/event.ts";
import { numberOf } from "../../ports/identity.ts";
import type { LimitedRequest, UsageStore } from "../../ports/usage-store.ts";
import { type Settlement, usageOfRow, usageQuery, usedOf } from "../shared/usage-sql.ts";
import { type Database, type Row, run, runAll, type Statement } from "./database.ts";
import { retry } from "./retry.ts";
import { encodeText } from "./stored-text.ts";
import { WriteLine, type WriteStatement } from "./write-line.ts";

const second = "floor(extract(epoch FROM pg_catalog.clock_timestamp()))::bigint";

/**
 * What model requests use of their limits, as rows. Admissions of one tenant wait for each other
 * under a lock of their own, on a connection of their own; settling is part of the append.
 */
export class UsageRows implements UsageStore {
  readonly #database: Database;
  readonly #line: WriteLine;
  #isLimited: boolean;

  /** `isLimited`: limits are stored, or something is held under former ones. */
  constructor(database: Database, isLimited: boolean) {
    this.#database = database;
    this.#line = new WriteLine(database);
    this.#isLimited = isLimited;
  }

  /** Hears of limits that other processes store. */
  notice(events: readonly StoredEvent[]): void {
    this.#isLimited ||= events.some(
      ({ payload, type }) =>
        type === "control.record_changed" &&
        String((payload as { readonly record?: unknown }).record).startsWith("limit/"),
    );
  }

  async admit(request: LimitedRequest, limits: readonly UsageLimit[]): Promise<Admission> {
    this.#isLimited = true;
    const { clock } = this.#database;
    try {
      return await retry(
        clock,
        () => this.#line.run((client) => this.#admit(client, request, limits)),
        () => this.#database.retryMs,
      );
    } catch (error) {
      throw this.#database.explain(error);
    }
  }

  async #admit(
    client: Client,
    request: LimitedRequest,
    limits: readonly UsageLimit[],
  ): Promise<Admission> {
    const { lock, quoted } = this.#database.schema;
    const number = numberOf(request.delegationId) ?? -1;
    const scopes = limits.map(({ scope }) => scope);
    const [, , rows] = await Promise.all([
      client.query("BEGIN ISOLATION LEVEL READ COMMITTED"),
      // The lock of appends is the number before it.
      client.query(`SELECT pg_catalog.pg_advisory_xact_lock('${lock}'::bigint # 1)`),
      run(client, this.#usage(scopes, number, request.request)),
    ]);
    const admission = decideAdmission(request, usedOf(limits, new Map(rows.map(usageOfRow))));
    if (admission.is === "admitted") {
      const { tokens } = request;
      const cost = request.cost ?? 0;
      const now = Number(rows[0]?.["second"]);
      const [provider, queue] = [encodeText(request.provider), encodeText(request.queue)];
      const day = Math.floor(now / 86_400);
      await run(client, {
        text: `INSERT INTO ${quoted}.limit_holds VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
               ON CONFLICT (sub_agent, request) DO UPDATE SET day = excluded.day, second = excluded.second,
                 provider = excluded.provider, queue = excluded.queue, tokens = excluded.tokens, cost = excluded.cost`,
        values: [number, request.request, day, now, provider, queue, tokens, cost],
      });
      await run(client, {
        text: `INSERT INTO ${quoted}.limit_seconds AS l VALUES ($1, $2, $3, 1, $4)
               ON CONFLICT (second, provider, queue)
               DO UPDATE SET requests = l.requests + 1, tokens = l.tokens + excluded.tokens`,
        values: [now, provider, queue, tokens],
      });
      await run(client, {
        text: `DELETE FROM ${quoted}.limit_seconds WHERE second < $1`,
        values: [now - 120],
      });
    }
    await runAll(client, ["COMMIT"]);
    return admission;
  }

  async usageOf(scopes: readonly LimitScope[]): Promise<ReadonlyMap<LimitScope, ScopeUsage>> {
    const rows: readonly Row[] = await this.#database.query(this.#usage(scopes, -1, -1));
    return new Map(rows.map(usageOfRow));
  }

  #usage(scopes: readonly LimitScope[], delegation: number, request: number): Statement {
    return {
      name: "limit-usage",
      text: usageQuery({
        schema: `${this.#database.schema.quoted}.`,
        scopes: `(SELECT scope, ${second} AS second FROM unnest($1::text[]) AS listed (scope))`,
        ...{ second: "s.second", delegation: "$2::bigint", request: "$3::integer" },
      }),
      values: [scopes.map(encodeText), delegation, request],
    };
  }

  /** Releases what settled requests hold: written with the events that say so. */
  write(statement: WriteStatement, settlements: readonly Settlement[]): void {
    const { quoted } = this.#database.schema;
    const settled = settlements.filter(({ request }) => request !== null);
    if (this.#isLimited) this.#release(statement, settlements, settled);
    const released = this.#isLimited && settled.length > 0;
    statement.add(
      "settled_days",
      settlementColumns,
      settled.filter(({ cost }) => cost !== 0).map(rowOf),
      (rows) =>
        `INSERT INTO ${quoted}.limit_days AS d
         SELECT ${released ? "coalesce(h.day, v.day)" : "v.day"} AS day, sum(v.cost)::bigint FROM ${rows}
         ${released ? "LEFT JOIN settled_holds h ON h.sub_agent = v.sub_agent AND h.request = v.request" : ""}
         GROUP BY 1 ON CONFLICT (day) DO UPDATE SET cost = d.cost + excluded.cost`,
    );
  }

  #release(
    statement: WriteStatement,
    all: readonly Settlement[],
    settled: readonly Settlement[],
  ): void {
    const { quoted } = this.#database.schema;
    statement.add(
      "settled_holds",
      settlementColumns,
      settled.map(rowOf),
      (rows) =>
        `DELETE FROM ${quoted}.limit_holds h USING ${rows}
         WHERE h.sub_agent = v.sub_agent AND h.request = v.request
         RETURNING h.*, v.tokens AS used`,
    );
    statement.add(
      "settled_seconds",
      // Each part of the statement needs a row of values.
      [["one", "integer"]],
      settled.length > 0 ? [[1]] : [],
      (rows) =>
        `UPDATE ${quoted}.limit_seconds l SET tokens = l.tokens - u.unused
         FROM (SELECT second, provider, queue, sum(tokens - used)::bigint AS unused
               FROM settled_holds, ${rows} GROUP BY 1, 2, 3) u
         WHERE l.second = u.second AND l.provider = u.provider AND l.queue = u.queue`,
    );
    // No row may be deleted by two parts. Of a delegation at most one request is held.
    const released = new Set(settled.map(({ delegation }) => delegation));
    statement.add(
      "closed_holds",
      [["sub_agent", "bigint"]],
      all
        .filter(({ delegation, request }) => request === null && !released.has(delegation))
        .map(({ delegation }) => [delegation]),
      (rows) => `DELETE FROM ${quoted}.limit_holds h USING ${rows} WHERE h.sub_agent = v.sub_agent`,
    );
  }

  close(): Promise<void> {
    return this.#line.close();
  }
}

const settlementColumns = [
  ["sub_agent", "bigint"],
  ["request", "integer"],
  ["tokens", "bigint"],
  ["cost", "bigint"],
  ["day", "bigint"],
] as const;

function rowOf({ cost, day, delegation, request, tokens }: Settlement) {
  return [delegation, request, tokens, cost, day];
}
