import { StatementSync } from "node:sqlite";
import type { Death } from "./job.ts";

/**
 * Counts the commits of this process and, when asked to, ends it at one of them. In the database
 * driver and not in the store: the store has no idea that it will happen.
 */
export function countCommits(death: Death | undefined): () => number {
  let commits = 0;
  const run = StatementSync.prototype.run;
  StatementSync.prototype.run = function (this: StatementSync, ...parameters: never[]) {
    if (this.sourceSQL !== "COMMIT") return run.apply(this, parameters);
    commits += 1;
    const isLast = commits === death?.commit;
    if (isLast && death.side === "before") die();
    const done = run.apply(this, parameters);
    if (isLast) die();
    return done;
  };
  return () => commits;
}

function die(): void {
  process.kill(process.pid, "SIGKILL");
}
