import { StatementSync } from "node:sqlite";
import type { Death } from "./job.ts";

/**
 * Counts the commits of this process and, when asked to, ends it at one of them. In the database
 * driver and not in the store: the store has no idea that it will happen.
 */
export function countCommits(death: Death | undefined): () => number {
  let commits = 0;
  StatementSync.prototype.run = new Proxy(StatementSync.prototype.run, {
    apply(run, statement: StatementSync, parameters) {
      if (statement.sourceSQL !== "COMMIT") return Reflect.apply(run, statement, parameters);
      commits += 1;
      const isLast = commits === death?.commit;
      if (isLast && death.side === "before") die();
      const done = Reflect.apply(run, statement, parameters);
      if (isLast) die();
      return done;
    },
  });
  return () => commits;
}

function die(): void {
  process.kill(process.pid, "SIGKILL");
}
