import { StatementSync } from "node:sqlite";
import pg from "pg";
import type { Death } from "./job.ts";

/**
 * Counts the commits of this process and, when asked to, ends it at one of them. In the database
 * drivers and not in the stores: these have no idea that it will happen.
 */
export function countCommits(death: Death | undefined): () => number {
  let begun = 0;
  let commits = 0;
  const isAt = (side: Death["side"]): boolean => death?.side === side && commits === death.commit;
  StatementSync.prototype.run = new Proxy(StatementSync.prototype.run, {
    apply(run, statement: StatementSync, parameters) {
      const { sourceSQL: sql } = statement;
      if (sql.startsWith("BEGIN")) begun += 1;
      if (sql === "COMMIT") commits += 1;
      if (sql === "COMMIT" && isAt("before")) die();
      const done = Reflect.apply(run, statement, parameters);
      if (sql === "COMMIT" && isAt("after")) die();
      // The events are written, and what follows from them is not.
      if (death?.side === "inside" && begun === death.commit && isEventInsert(sql)) die();
      return done;
    },
  });
  pg.Client.prototype.query = new Proxy(pg.Client.prototype.query, {
    apply(query, client, parameters) {
      const sql = textOf(parameters[0]);
      const isCommit = sql.endsWith("COMMIT") && !sql.startsWith("BEGIN");
      if (isEventInsert(sql)) begun += 1;
      if (isCommit) commits += 1;
      if (isCommit && isAt("before")) die();
      const done: unknown = Reflect.apply(query, client, parameters);
      if (isCommit && isAt("sent")) setImmediate(die);
      if (isCommit && isAt("after")) void (done as Promise<unknown>).then(die, die);
      if (death?.side === "inside" && begun === death.commit && isEventInsert(sql)) {
        // Time for it to get there; what follows it in the same breath does too, now and then.
        setImmediate(die);
      }
      return done;
    },
  });
  return () => commits;
}

function textOf(query: unknown): string {
  if (typeof query === "string") return query;
  const text = (query as { readonly text?: unknown } | null)?.text;
  return typeof text === "string" ? text : "";
}

function isEventInsert(sql: string): boolean {
  return /INSERT INTO (?:"\w+"\.)?event_batches/.test(sql);
}

function die(): void {
  process.kill(process.pid, "SIGKILL");
}
