import { DatabaseSync } from "node:sqlite";
import { numberOf, runIdOf, runNumberOf } from "../../ports/identity.ts";
import { fillInbox } from "../../stores/sqlite/open-database.ts";
import type { NewEvent, StoredEvent } from "../event.ts";
import { canonical, genesis, link, sha256 } from "../hash-chain.ts";
import { applyToRun, emptyRun, type RunState } from "../run-state.ts";
import { summarize } from "../summarize.ts";

/** An event without what the store adds; `seq` is only there to be found by. */
export type LooseEvent = NewEvent & { readonly at: number };

/**
 * A database as a runtime with a certain bug would have written it: its events are changed, and
 * hashes, numbers and stored state are made to fit again, so that nothing but the bug is wrong.
 */
export class ForgedLog {
  readonly database: DatabaseSync;

  constructor(path: string) {
    this.database = new DatabaseSync(path);
  }

  close(): void {
    this.database.close();
  }

  eventsOf(runId: string): LooseEvent[] {
    const rows = this.database
      .prepare("SELECT events FROM event_batches WHERE run = ? ORDER BY first_seq")
      .all(runNumberOf(runId) ?? -1);
    return rows.flatMap((row) => (JSON.parse(String(row["events"])) as Row[]).map(toEvent));
  }

  /** Changes the events of one run; the rows of its delegations follow from what is left. */
  rewrite(runId: string, change: (events: LooseEvent[]) => LooseEvent[]): void {
    const runs = this.database.prepare("SELECT DISTINCT run FROM event_batches ORDER BY run").all();
    const logs = runs.map((row) => {
      const id = runIdOf(Number(row["run"]));
      return { id, events: id === runId ? change(this.eventsOf(id)) : this.eventsOf(id) };
    });
    this.database.exec(
      "DELETE FROM event_batches; DELETE FROM run_index; DELETE FROM meta WHERE key = 'indexed_seq'",
    );
    let seq = 1;
    for (const { id, events } of logs) {
      this.#write(id, events, seq);
      seq += events.length;
    }
    this.#project(runId);
    this.database.exec("BEGIN; DELETE FROM inbox");
    fillInbox(this.database);
    this.database.exec("COMMIT");
  }

  /** Another contract for a delegation, with every hash of it made to fit. */
  replaceContract(runId: string, id: string, change: (contract: Loose) => void): void {
    const row = this.database
      .prepare("SELECT context_json FROM sub_agents WHERE number = ?")
      .get(numberOf(id) ?? -1);
    const contract = JSON.parse(String(row?.["context_json"])) as Loose;
    change(contract);
    const json = JSON.stringify(contract);
    this.database
      .prepare("UPDATE sub_agents SET context_json = ?, contract_hash = ? WHERE number = ?")
      .run(json, sha256(json), numberOf(id) ?? -1);
    if (contract.parent.sub_agent_id === null) {
      this.database
        .prepare("UPDATE runs SET profile = ? WHERE number = ?")
        .run(contract.profile.id, runNumberOf(runId) ?? -1);
    }
    this.rewrite(runId, (events) =>
      events.map((event) =>
        event.type === "agent.subagent_created" && event.sub_agent_id === id
          ? { ...event, payload: { ...event.payload, contract_hash: sha256(json) } }
          : event,
      ),
    );
  }

  #write(runId: string, events: readonly LooseEvent[], firstSeq: number): void {
    const insert = this.database.prepare("INSERT INTO event_batches VALUES (?, ?, ?, ?, ?, ?)");
    let head = genesis(runId);
    for (let index = 0; index < events.length; index += batchSize) {
      const texts = events
        .slice(index, index + batchSize)
        .map((event) => canonical(event, event.at, summarize(event)));
      head = texts.reduce(link, head);
      const run = runNumberOf(runId) ?? 0;
      insert.run(firstSeq + index, run, index + 1, texts.length, head, `[${texts.join(",")}]`);
    }
  }

  #project(runId: string): void {
    const run = foldLegal(runId, this.eventsOf(runId));
    const move = this.database.prepare(
      "UPDATE sub_agents SET status = ?, close_reason = ? WHERE number = ?",
    );
    let tokens = 0;
    for (const delegation of run.delegations.values()) {
      const reason = delegation.status === "closed" ? delegation.closeReason : null;
      move.run(delegation.status, reason, numberOf(delegation.id) ?? -1);
      tokens += delegation.usage.prompt + delegation.usage.completion;
    }
    this.database
      .prepare(
        "UPDATE runs SET outcome = ?, delegations = ?, tokens = ?, worker = ?, fence = ? WHERE number = ?",
      )
      .run(
        run.outcome,
        run.delegations.size,
        tokens,
        run.worker,
        run.fence,
        runNumberOf(runId) ?? -1,
      );
  }
}

// biome-ignore lint/suspicious/noExplicitAny: a contract that is about to be broken has no type.
type Loose = any;
type Row = [
  type: string,
  subAgentId: string | null,
  at: number,
  payload: unknown,
  summary?: string,
];

const batchSize = 32;

function toEvent([type, subAgentId, at, payload]: Row): LooseEvent {
  const about = subAgentId === null ? {} : { sub_agent_id: subAgentId };
  return { type, ...about, at, payload } as LooseEvent;
}

function foldLegal(runId: string, events: readonly LooseEvent[]): RunState {
  const run = emptyRun(runId);
  for (const [index, event] of events.entries()) {
    const numbers = { seq: index + 1, run_seq: index + 1, run_id: runId, hash: "" };
    try {
      applyToRun(run, { ...event, ...numbers } as StoredEvent);
    } catch {
      // The runtime's own table refuses it; a store with the bug would have kept the rest.
    }
  }
  return run;
}
