import type { Cause } from "../../events/cause.ts";
import { owns } from "../../events/check-owner.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { retireCopy } from "../changes/take-over.ts";
import type { LiveDelegation } from "../live-delegation.ts";
import { cancelStored } from "./cancel-stored.ts";
import { isBelow, noteLateMerge } from "./close.ts";

const firstWaitMs = 250;
const longestWaitMs = 5000;

/**
 * Closes that could not be written (a full disk, an unreachable database): callers in this process got
 * the failure, and by the log the delegations are open. Each close is written with the same cause, once,
 * as soon as the store takes it. Until then one of them is retried, and the others wait for that one.
 * Closes that are still unwritten when the process ends are left to recovery.
 */
export class UnwrittenEnds {
  readonly #ends = new Map<LiveDelegation, Cause>();
  #waitMs = firstWaitMs;
  #next: NodeJS.Timeout | null = null;
  #isClosed = false;

  /** The topmost delegation of an abandoned tree, and the cause that its callers were given. */
  add(live: LiveDelegation, cause: Cause): void {
    this.#ends.set(live, cause);
    this.#tryLater();
  }

  close(): void {
    this.#isClosed = true;
    if (this.#next !== null) clearTimeout(this.#next);
  }

  #tryLater(): void {
    if (this.#next !== null || this.#isClosed) return;
    // A process that has nothing else to do may exit.
    this.#next = setTimeout(() => void this.#tryAll(), this.#waitMs).unref();
  }

  async #tryAll(): Promise<void> {
    for (const [live, cause] of this.#ends) {
      const outcome = await writeEnd(live, cause).then(() => "written" as const, judgeFailure);
      if (outcome === "later") {
        this.#waitMs = Math.min(this.#waitMs * 2, longestWaitMs);
        break;
      }
      this.#ends.delete(live);
      if (outcome === "written") this.#waitMs = firstWaitMs;
    }
    this.#next = null;
    if (this.#ends.size > 0) this.#tryLater();
  }
}

const passing: ReadonlySet<string> = new Set(["storage-full", "database-unusable"]);

/** "never": the store works, and the close was refused: waiting does not help. */
function judgeFailure(error: unknown): "later" | "never" {
  return error instanceof MandateError && passing.has(error.code) ? "later" : "never";
}

async function writeEnd(live: LiveDelegation, cause: Cause): Promise<void> {
  const { run } = live;
  const { store } = run.parts;
  const all = [...run.delegations.byId.values()];
  // As before every close, no process of the delegation runs, and merges under way are completed.
  await Promise.all(all.map(({ process }) => process.end.merging?.promise));
  const holding = all.filter(({ process }) => process.holdsProcesses);
  await Promise.all(holding.map(({ id }) => run.parts.release(id).catch(() => undefined)));
  // Another process may have recovered the run since; then that process closes it.
  const state = await store.readRun(run.id);
  if (state === undefined || !owns(run.settings.ownership, state, live.id)) return;
  const outcome = await cancelStored(run.parts, run.id, live.id, cause);
  // Another process closed the delegation, or its creation was never written.
  if (outcome !== "cancelled") return;
  for (const one of [...run.delegations.abandoned]) {
    if (one !== live && live !== run.delegations.root && !isBelow(one, live)) continue;
    run.delegations.abandoned.splice(run.delegations.abandoned.indexOf(one), 1);
    if (one.process.end.wasMerged) noteLateMerge(one);
    retireCopy(one);
  }
}
