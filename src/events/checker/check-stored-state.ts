import type { Delegation } from "../delegation.ts";
import type { StoredEvent } from "../event.ts";
import { inboxChangeOf } from "../inbox-change.ts";
import { type InboxItem, touchesInbox } from "../inbox-item.ts";
import { noRootFacts, readRootFacts, rootIdOf } from "../root-facts.ts";
import { applyToRun, emptyRun, type RunState } from "../run-state.ts";
import { earlierInboxWords } from "../upcast.ts";
import type { CheckedRun, RunCheck } from "./checked-run.ts";

/** I7: the stored rows of runs, delegations, asks and the inbox are the fold of the events. */
export class StoredStateCheck implements RunCheck {
  readonly fold: RunState;
  /** The number of folded events. */
  folded = 0;
  readonly #run: CheckedRun;
  readonly #asked = new Map<string, { delegationId: string | undefined; answered: boolean }>();
  /**
   * The sums that the row of an open run can have. They are zero at its start, and are updated when the
   * run is claimed: at the end of that transaction, whose events have the same time.
   */
  #written: Sums[] = [noSums];
  #writtenAt = 0;
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
    if (event.type === "run.resumed") {
      if (event.at !== this.fold.startedAt) this.#written = [];
      this.#writtenAt = event.at;
    }
    if (event.at === this.#writtenAt) this.#written.push(sumsOf(this.fold));
    if (event.type === "agent.asked") {
      const { sub_agent_id: delegationId } = event;
      this.#asked.set(event.payload.ask_id, { delegationId, answered: false });
    } else if (event.type === "agent.answered") {
      const ask = this.#asked.get(event.payload.ask_id);
      if (ask) ask.answered = true;
    }
  }

  end(): void {
    const { rows, report } = this.#run;
    for (const [id, delegation] of this.fold.delegations) {
      const problem = this.#delegationProblem(delegation);
      if (problem) report("I7", problem, { delegationId: id });
    }
    const stored = new Map(rows.asks.map((ask) => [ask.id, ask]));
    for (const id of new Set([...stored.keys(), ...this.#asked.keys()])) {
      const [row, told] = [stored.get(id), this.#asked.get(id)];
      const isSame = row?.answered === told?.answered && row?.delegationId === told?.delegationId;
      if (isSame) continue;
      report("I7", `The stored question ${id} differs from the log.`);
    }
    this.#inbox.end();
    const problem = this.#runProblem();
    if (problem) report("I7", problem);
  }

  /** An event that the runtime's fold refuses, although the checker's own table allows it. */
  #refused({ seq, sub_agent_id: id, type }: StoredEvent, error: unknown): void {
    const known = id === undefined ? undefined : this.#run.delegations.get(id);
    if (this.fold.outcome !== null || known === undefined) return;
    // I9 reports illegal claims.
    if (type === "agent.claimed") return;
    const why = error instanceof Error ? error.message : String(error);
    const message = `${type} is refused by the lifecycle: ${why}`;
    this.#run.report("I4", message, { delegationId: known.id, seq });
    known.isBroken = true;
  }

  #delegationProblem(delegation: Delegation): string | undefined {
    const row = this.#run.rowOf(delegation.id);
    if (row === undefined) return "It is in the log, but not stored.";
    if (row.status !== delegation.status) {
      return `It is stored as ${row.status}; by its events it is ${delegation.status}.`;
    }
    const reason = delegation.status === "closed" ? delegation.closeReason : null;
    if (row.closeReason === reason) return undefined;
    return `It is stored with close reason ${row.closeReason}; by its events it is ${reason}.`;
  }

  #runProblem(): string | undefined {
    const { outcome, worker, fence } = this.fold;
    const row = this.#run.rows.run;
    if (this.fold.lastRunSeq === 0) {
      return row === undefined ? undefined : "The run is stored, but not in the log.";
    }
    if (row === undefined) return "The run is in the log, but not stored.";
    if (row.outcome !== outcome) {
      return `The run is stored as ${row.outcome ?? "open"}; by its events it is ${outcome ?? "open"}.`;
    }
    if (row.worker !== worker || row.fence !== fence) {
      return "The stored owner of the run differs from the log.";
    }
    const { application, finishedAt, startedAt, task, workspace } = this.fold;
    const isSameStart =
      isSameText(row.task, task) &&
      isSameText(row.application, application) &&
      isSameText(row.workspace, workspace);
    if (!isSameStart) {
      return "The run's stored task, application or workspace differs from the log.";
    }
    const root = rootIdOf(this.fold);
    const contract = root && this.#run.rowOf(root)?.contextJson;
    const facts = contract ? readRootFacts(contract) : noRootFacts;
    const isSameRoot =
      isSameText(row.profile, facts.profile) &&
      isSameText(row.model, facts.model) &&
      isSameText(row.startedBy, facts.startedBy);
    if (!isSameRoot) return "What is stored of the run's root differs from its contract.";
    if (row.startedAt !== startedAt || row.finishedAt !== finishedAt) {
      return "The stored start or end of the run differs from the log.";
    }
    const expected = outcome === null ? this.#written : [sumsOf(this.fold)];
    return expected.some((sums) => areSame(sums, row))
      ? undefined
      : "The run's stored sums are not those of its events.";
  }
}

/** SQLite replaces lone surrogates; the log keeps them. */
function isSameText(stored: string | null, told: string | null): boolean {
  return stored === told || stored === told?.toWellFormed();
}

interface Sums {
  readonly delegations: number;
  readonly tokens: number;
  readonly cost: number;
}

const noSums: Sums = { delegations: 0, tokens: 0, cost: 0 };

function sumsOf({ delegations }: RunState): Sums {
  let tokens = 0;
  let cost = 0;
  for (const { usage } of delegations.values()) {
    tokens += usage.prompt + usage.completion;
    cost += usage.cost;
  }
  return { delegations: delegations.size, tokens, cost };
}

function areSame(left: Sums, right: Sums): boolean {
  const { cost, delegations, tokens } = left;
  const isSameCost = Math.abs(cost - right.cost) < 1e-6;
  return delegations === right.delegations && tokens === right.tokens && isSameCost;
}

/** I7: the stored inbox and its open asks are the fold of the events. */
class InboxCheck {
  readonly #run: CheckedRun;
  readonly #items = new Map<number, InboxItem>();
  /** The items in the words of earlier versions, where these differ. */
  readonly #earlier = new Map<number, InboxItem>();
  readonly #openAsks = new Map<string, number>();

  constructor(run: CheckedRun) {
    this.#run = run;
  }

  /** Called with every legal event, the delegation before it and the run after it. */
  see(event: StoredEvent, fold: RunState, before: Delegation | undefined): void {
    if (!touchesInbox(event.type)) return;
    const { closes, item } = inboxChangeOf(event, fold, before);
    const closed = this.#items.get(this.#openAsks.get(closes ?? "") ?? -1);
    if (closed) this.#items.set(closed.id, { ...closed, isOpen: false });
    const { item: earlier } = inboxChangeOf(event, fold, before, earlierInboxWords);
    if (earlier !== undefined && earlier.title !== item?.title)
      this.#earlier.set(event.seq, earlier);
    if (item === undefined) return;
    this.#items.set(item.id, item);
    if (item.ask) this.#openAsks.set(item.ask.id, item.id);
  }

  end(): void {
    const stored = new Map(this.#run.rows.inbox.map((item) => [item.id, item]));
    for (const seq of new Set([...stored.keys(), ...this.#items.keys()])) {
      const [row, told] = [stored.get(seq), this.#items.get(seq)];
      const earlier = this.#earlier.get(seq);
      if (row !== undefined && earlier !== undefined && textOf(row) === textOf(earlier)) continue;
      const problem = problemOf(row, told);
      if (problem === undefined) continue;
      const delegationId = told?.delegationId ?? row?.delegationId;
      this.#run.report("I7", problem, { seq, ...(delegationId && { delegationId }) });
    }
  }
}

function problemOf(row: InboxItem | undefined, told: InboxItem | undefined): string | undefined {
  if (told === undefined) return "It is in the inbox, but not in the log.";
  if (row === undefined) return "By the log it is in the inbox, but it is not stored there.";
  if (textOf(row) === textOf(told)) return undefined;
  return row.isOpen === told.isOpen
    ? "The stored inbox item differs from the log."
    : `Its question is stored as ${row.isOpen ? "open" : "closed"}; by the log it is not.`;
}

function textOf({ ask, at, delegationId, isOpen, kind, severity, text, title }: InboxItem): string {
  const asked = ask && [ask.id, ask.deadlineAt, ask.default];
  return JSON.stringify([delegationId, at, kind, severity, title, text, isOpen, asked]);
}
