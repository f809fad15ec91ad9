import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Delegation } from "../../events/delegation.ts";
import type { StoredEvent } from "../../events/event.ts";
import { sha256 } from "../../events/hash-chain.ts";
import { noRootFacts, type RootFacts } from "../../events/root-facts.ts";
import type { RunState } from "../../events/run-state.ts";
import { askNumberOf, numberOf, runNumberOf } from "../../ports/identity.ts";
import { isTrusted, TamperedContract } from "../shared/store-calls.ts";
import { runTotals } from "../shared/stored-rows.ts";
import type { Transaction } from "../shared/transaction.ts";
import type { Settlement } from "../shared/usage-sql.ts";

/**
 * The stored state of runs, delegations and asks: written with the events that it is derived from.
 */
export class Projections {
  readonly #insertRun: StatementSync;
  readonly #moveRun: StatementSync;
  readonly #nameRoot: StatementSync;
  readonly #insertDelegation: StatementSync;
  readonly #moveDelegation: StatementSync;
  readonly #moveAndShow: StatementSync;
  readonly #dataVersion: StatementSync;
  readonly #versionAtStart: unknown;
  readonly #insertAsk: StatementSync;
  readonly #answerAsk: StatementSync;

  constructor(database: DatabaseSync) {
    this.#insertRun = database.prepare(
      "INSERT INTO runs (number, task, application, workspace, worker, fence, started_at, profile, model, started_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    );
    this.#moveRun = database.prepare(
      "UPDATE runs SET worker = ?, fence = ?, outcome = ?, finished_at = ?, delegations = ?, tokens = ?, cost = ? WHERE number = ?",
    );
    this.#nameRoot = database.prepare(
      "UPDATE runs SET profile = ?, model = ?, started_by = ? WHERE number = ?",
    );
    this.#insertDelegation = database.prepare(
      "INSERT INTO sub_agents (number, run, id, status, close_reason, contract_hash, context_json) VALUES (?, ?, ?, ?, ?, ?, ?)",
    );
    const move = "UPDATE sub_agents SET status = ?, close_reason = ? WHERE number = ?";
    this.#moveDelegation = database.prepare(move);
    this.#moveAndShow = database.prepare(`${move} RETURNING context_json`);
    this.#dataVersion = database.prepare("PRAGMA data_version");
    this.#versionAtStart = this.#dataVersion.get()?.["data_version"];
    this.#insertAsk = database.prepare(
      "INSERT INTO asks (number, run, sub_agent_id) VALUES (?, ?, ?)",
    );
    this.#answerAsk = database.prepare("UPDATE asks SET answered = 1 WHERE number = ?");
  }

  /** `root`: set when the transaction creates the root of the run. */
  writeRun(run: RunState, isNew: boolean, root = noRootFacts): void {
    const number = runNumberOf(run.id) ?? 0;
    if (isNew) {
      const { model, profile, startedBy } = root;
      this.#insertRun.run(
        number,
        run.task,
        run.application,
        run.workspace,
        run.worker,
        run.fence,
        run.startedAt,
        profile,
        model,
        startedBy,
      );
      if (run.outcome === null) return;
    }
    const { tokens, cost } = runTotals(run);
    const { worker, fence, outcome, finishedAt, delegations } = run;
    this.#moveRun.run(worker, fence, outcome, finishedAt, delegations.size, tokens, cost, number);
  }

  /** Writes the facts of a root that is created later than its run. */
  writeRoot(run: RunState, { model, profile, startedBy }: RootFacts): void {
    this.#nameRoot.run(profile, model, startedBy, runNumberOf(run.id) ?? 0);
  }

  /**
   * Inserts new delegations with their contracts. Updates others after checking their contracts
   * again.
   */
  writeDelegations(moved: Transaction["movedDelegations"]): void {
    let isUntouched: boolean | undefined;
    for (const [id, { run, contract }] of moved) {
      const delegation = run.delegations.get(id);
      if (delegation === undefined) continue;
      if (contract !== undefined) {
        this.#insert(run, delegation, contract);
        continue;
      }
      // As long as no other connection committed, the contracts are those that this process wrote.
      isUntouched ??= this.#dataVersion.get()?.["data_version"] === this.#versionAtStart;
      this.#move(delegation, isUntouched);
    }
  }

  #insert(run: RunState, delegation: Delegation, contract: string): void {
    this.#insertDelegation.run(
      numberOf(delegation.id) ?? 0,
      runNumberOf(run.id) ?? 0,
      delegation.id,
      delegation.status,
      closeReasonOf(delegation),
      delegation.contractHash,
      contract,
    );
  }

  #move(delegation: Delegation, isUntouched: boolean): void {
    const number = numberOf(delegation.id) ?? 0;
    const closeReason = closeReasonOf(delegation);
    if (isUntouched) {
      this.#moveDelegation.run(delegation.status, closeReason, number);
      return;
    }
    const row = this.#moveAndShow.get(delegation.status, closeReason, number);
    if (
      !isTrusted(delegation) &&
      sha256(String(row?.["context_json"])) !== delegation.contractHash
    ) {
      throw new TamperedContract(delegation.id);
    }
  }

  writeAsk(run: RunState, event: StoredEvent<"agent.asked">): void {
    this.#insertAsk.run(
      askNumberOf(event.payload.ask_id) ?? 0,
      runNumberOf(run.id) ?? 0,
      event.sub_agent_id ?? "",
    );
  }

  answerAsk(event: StoredEvent<"agent.answered">): void {
    this.#answerAsk.run(askNumberOf(event.payload.ask_id) ?? 0);
  }
}

function closeReasonOf(delegation: Delegation): string | null {
  return delegation.status === "closed" ? delegation.closeReason : null;
}

/** Releases what settled requests hold: written with the events that say so. */
export class SettlementRows {
  readonly #any: StatementSync;
  readonly #read: StatementSync;
  readonly #release: StatementSync;
  readonly #releaseAll: StatementSync;
  readonly #spend: StatementSync;
  readonly #correct: StatementSync;

  constructor(database: DatabaseSync) {
    const isHold = "sub_agent = ? AND request = ?";
    this.#any = database.prepare("SELECT 1 FROM limit_holds LIMIT 1");
    this.#read = database.prepare(`SELECT * FROM limit_holds WHERE ${isHold}`);
    this.#release = database.prepare(`DELETE FROM limit_holds WHERE ${isHold}`);
    this.#releaseAll = database.prepare("DELETE FROM limit_holds WHERE sub_agent = ?");
    this.#spend = database.prepare(
      "INSERT INTO limit_days VALUES (?, ?) ON CONFLICT (day) DO UPDATE SET cost = cost + excluded.cost",
    );
    this.#correct = database.prepare(
      "UPDATE limit_seconds SET tokens = tokens - ? WHERE second = ? AND provider = ? AND queue = ?",
    );
  }

  write(settlements: readonly Settlement[]): void {
    if (settlements.length === 0) return;
    // Without stored limits no request holds anything, and a transaction may settle hundreds.
    const mayHold = this.#any.get() !== undefined;
    for (const settlement of settlements) this.#write(settlement, mayHold);
  }

  #write({ cost, day, delegation, request, tokens }: Settlement, mayHold: boolean): void {
    if (request === null) {
      if (mayHold) this.#releaseAll.run(delegation);
      return;
    }
    const hold = mayHold ? this.#read.get(delegation, request) : undefined;
    if (hold !== undefined) {
      const { provider, queue, second } = hold;
      const unused = Number(hold["tokens"]) - tokens;
      this.#correct.run(unused, Number(second), String(provider), String(queue));
      this.#release.run(delegation, request);
    }
    if (cost !== 0) this.#spend.run(hold === undefined ? day : Number(hold["day"]), cost);
  }
}
