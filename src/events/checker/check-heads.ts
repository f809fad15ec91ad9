import { basename } from "node:path";
import type { LogHead } from "../../ports/inspection.ts";
import type { Report } from "./check-report.ts";

/** An event that the log must have, and how to say where that is known from. */
export interface ExpectedEvent extends LogHead {
  readonly missing: string;
}

export const acknowledged = "It was acknowledged, and is not in the log as it was.";

export function keptInFile(path: string): string {
  return `The log does not have it as ${basename(path)} beside the database does: events were removed or changed, or the database was restored from an older copy. If you restored it, delete that file.`;
}

export const inCheckpoint = "The log does not have it as the checkpoint does.";

/** I8: nothing that was acknowledged, noted as an end or put into a checkpoint is missing. */
export class HeadsCheck {
  readonly #expected: Map<number, ExpectedEvent[]>;
  #events = 0;

  constructor(expected: readonly ExpectedEvent[]) {
    this.#expected = Map.groupBy(expected, ({ seq }) => seq);
  }

  see({ hash, seq }: Pick<LogHead, "hash" | "seq">): void {
    this.#events++;
    const here = this.#expected.get(seq);
    if (here === undefined) return;
    const others = here.filter((one) => one.hash !== hash);
    if (others.length > 0) this.#expected.set(seq, others);
    else this.#expected.delete(seq);
  }

  /** Of each place that knows better, the last event that is missing stands for those before it. */
  end(report: Report): void {
    const missing = [...this.#expected.values()].flat();
    for (const [what, events] of Map.groupBy(missing, (one) => one.missing)) {
      const seqs = what === acknowledged ? events.map(({ seq }) => seq) : [lastOf(events)];
      const whole = this.#events === 0 && what !== acknowledged ? "The run is missing. " : "";
      for (const seq of seqs) report("I8", `${whole}${what}`, { seq });
    }
  }
}

function lastOf(events: readonly ExpectedEvent[]): number {
  return Math.max(...events.map(({ seq }) => seq));
}
