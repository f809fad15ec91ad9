import type { DatabaseSync, StatementSync } from "node:sqlite";
import {
  type Admission,
  decideAdmission,
  type LimitScope,
  type ScopeUsage,
  type UsageLimit,
} from "../../contracts/usage-limit.ts";
import type { Clock } from "../../ports/clock.ts";
import { numberOf } from "../../ports/identity.ts";
import type { LimitedRequest, UsageStore } from "../../ports/usage-store.ts";
import { dayOf, usageOfRow, usageQuery, usedOf } from "../shared/usage-sql.ts";
import { changeNow } from "./group-commit.ts";

/** What model requests use of their limits, as rows. */
export class UsageRows implements UsageStore {
  readonly #database: DatabaseSync;
  readonly #clock: Clock;
  readonly #requireOpen: () => void;
  readonly #usage: StatementSync;
  readonly #hold: StatementSync;
  readonly #count: StatementSync;
  readonly #forget: StatementSync;

  constructor(database: DatabaseSync, clock: Clock, requireOpen: () => void) {
    this.#database = database;
    this.#clock = clock;
    this.#requireOpen = requireOpen;
    this.#usage = database.prepare(
      usageQuery({
        // Numbers are bound as floating-point numbers, and days are whole.
        ...{
          schema: "",
          second: "CAST($second AS INTEGER)",
          delegation: "$delegation",
          request: "$request",
        },
        scopes: "(SELECT value AS scope FROM json_each($scopes))",
      }),
    );
    this.#hold = database.prepare(
      "INSERT OR REPLACE INTO limit_holds VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    );
    this.#count = database.prepare(
      `INSERT INTO limit_seconds VALUES (?, ?, ?, 1, ?) ON CONFLICT (second, provider, queue)
       DO UPDATE SET requests = requests + 1, tokens = tokens + excluded.tokens`,
    );
    this.#forget = database.prepare("DELETE FROM limit_seconds WHERE second < ?");
  }

  admit(request: LimitedRequest, limits: readonly UsageLimit[]): Promise<Admission> {
    return changeNow(this.#database, () => this.#admit(request, limits), this.#requireOpen);
  }

  #admit(request: LimitedRequest, limits: readonly UsageLimit[]): Admission {
    const number = numberOf(request.delegationId) ?? -1;
    const second = Math.floor(this.#clock.now() / 1000);
    const scopes = limits.map(({ scope }) => scope);
    const used = this.#read(scopes, second, number, request.request);
    const admission = decideAdmission(request, usedOf(limits, used));
    if (admission.is === "admitted") {
      const { provider, queue, tokens } = request;
      const cost = request.cost ?? 0;
      const day = dayOf(second * 1000);
      this.#hold.run(number, request.request, day, second, provider, queue, tokens, cost);
      this.#count.run(second, provider, queue, tokens);
      this.#forget.run(second - 120);
    }
    return admission;
  }

  async usageOf(scopes: readonly LimitScope[]): Promise<ReadonlyMap<LimitScope, ScopeUsage>> {
    return this.#read(scopes, Math.floor(this.#clock.now() / 1000), -1, -1);
  }

  #read(
    scopes: readonly LimitScope[],
    second: number,
    delegation: number,
    request: number,
  ): ReadonlyMap<LimitScope, ScopeUsage> {
    const rows = this.#usage.all({ scopes: JSON.stringify(scopes), second, delegation, request });
    return new Map(rows.map(usageOfRow));
  }
}
