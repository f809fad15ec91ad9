import { StatementSync } from "node:sqlite";
import type { Death } from "./job.ts";

/**
 * Counts the commits of this process and, when asked to, ends it at one of them. In the database
 * driver and not in the store: the store has no idea that it will happen.
 */
export function countCommits(death: Death | undefined): () => number {
  let begun = 0;
  let commits = 0;
  StatementSync.prototype.run = new Proxy(StatementSync.prototype.run, {
    apply(run, statement: StatementSync, parameters) {
      const { sourceSQL: sql } = statement;
      if (sql.startsWith("BEGIN")) begun += 1;
      if (sql === "COMMIT") commits += 1;
      const isLast = sql === "COMMIT" && commits === death?.commit;
      if (isLast && death.side === "before") die();
      const done = Reflect.apply(run, statement, parameters);
      if (isLast && death.side === "after") die();
      // The events are written, and what follows from them is not.
      if (death?.side === "inside" && begun === death.commit && isEventInsert(sql)) die();
      return done;
    },
  });
  return () => commits;
}

function isEventInsert(sql: string): boolean {
  return sql.startsWith("INSERT INTO event_batches");
}

function die(): void {
  process.kill(process.pid, "SIGKILL");
}
