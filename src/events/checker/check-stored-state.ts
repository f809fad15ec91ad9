import type { Delegation } from "../delegation.ts";
import type { StoredEvent } from "../event.ts";
import { applyToRun, emptyRun, type RunState } from "../run-state.ts";
import { InboxCheck } from "./check-inbox.ts";
import type { CheckedRun, RunCheck } from "./checked-run.ts";

/** I7: what is stored of runs, delegations, questions and the inbox is the fold of the events. */
export class StoredStateCheck implements RunCheck {
  readonly fold: RunState;
  /** How many events the fold took. */
  folded = 0;
  readonly #run: CheckedRun;
  readonly #asked = new Map<string, boolean>();
  readonly #inbox: InboxCheck;

  constructor(run: CheckedRun) {
    this.#run = run;
    this.fold = emptyRun(run.id);
    this.#inbox = new InboxCheck(run);
  }

  see(event: StoredEvent): void {
    const before = this.fold.delegations.get(event.sub_agent_id ?? "");
    try {
      applyToRun(this.fold, event);
      this.folded++;
      this.#inbox.see(event, this.fold, before);
    } catch (error) {
      this.#refused(event, error);
    }
    if (event.type === "agent.asked") this.#asked.set(event.payload.ask_id, false);
    else if (event.type === "agent.answered") this.#asked.set(event.payload.ask_id, true);
  }

  end(): void {
    const { rows, report } = this.#run;
    for (const [id, delegation] of this.fold.delegations) {
      const problem = this.#delegationProblem(delegation);
      if (problem) report("I7", problem, { delegationId: id });
    }
    const stored = new Map(rows.asks.map(({ id, answered }) => [id, answered]));
    for (const id of new Set([...stored.keys(), ...this.#asked.keys()])) {
      if (stored.get(id) === this.#asked.get(id)) continue;
      report("I7", `Question ${id} is stored otherwise than the log has it.`);
    }
    this.#inbox.end();
    const problem = this.#runProblem();
    if (problem) report("I7", problem);
  }

  /** The checks have their own grammar; where the runtime's is stricter, this is where it shows. */
  #refused({ seq, sub_agent_id: id, type }: StoredEvent, error: unknown): void {
    const known = id === undefined ? undefined : this.#run.delegations.get(id);
    if (this.fold.outcome !== null || known === undefined) return;
    // What is wrong with a claim is told by I9.
    if (type === "agent.claimed") return;
    const why = error instanceof Error ? error.message : String(error);
    const message = `${type} is refused by the lifecycle: ${why}`;
    this.#run.report("I4", message, { delegationId: known.id, seq });
    known.isBroken = true;
  }

  #delegationProblem(delegation: Delegation): string | undefined {
    const row = this.#run.rowOf(delegation.id);
    if (row === undefined) return "The log has it, and it is not stored.";
    if (row.status !== delegation.status) {
      return `It is stored as ${row.status}; by its events it is ${delegation.status}.`;
    }
    const reason = delegation.status === "closed" ? delegation.closeReason : null;
    if (row.closeReason === reason) return undefined;
    return `It is stored with close reason ${row.closeReason}; by its events it is ${reason}.`;
  }

  #runProblem(): string | undefined {
    const { outcome, worker, fence, delegations } = this.fold;
    const row = this.#run.rows.run;
    if (this.fold.lastRunSeq === 0) {
      return row === undefined ? undefined : "The run is stored, and the log does not have it.";
    }
    if (row === undefined) return "The log has the run, and it is not stored.";
    if (row.outcome !== outcome) {
      return `The run is stored as ${row.outcome ?? "open"}; by its events it is ${outcome ?? "open"}.`;
    }
    if (row.worker !== worker || row.fence !== fence) {
      return "The run is stored with another owner than the log gives it.";
    }
    // The sums are written when a run ends; before that they are behind.
    if (outcome === null) return undefined;
    let tokens = 0;
    let cost = 0;
    for (const { usage } of delegations.values()) {
      tokens += usage.prompt + usage.completion;
      cost += usage.cost;
    }
    const isSame =
      row.delegations === delegations.size &&
      row.tokens === tokens &&
      Math.abs(row.cost - cost) < 1e-6;
    return isSame ? undefined : "The run's stored sums are not those of its events.";
  }
}
