import type { Delegation } from "../delegation.ts";
import type { StoredEvent } from "../event.ts";
import { inboxChangeOf } from "../inbox-change.ts";
import type { InboxItem } from "../inbox-item.ts";
import { touchesInbox } from "../inbox-types.ts";
import type { RunState } from "../run-state.ts";
import type { CheckedRun } from "./checked-run.ts";

/** I7: the stored inbox is the fold of the events, and which asks are open is as well. */
export class InboxCheck {
  readonly #run: CheckedRun;
  readonly #items = new Map<number, InboxItem>();
  readonly #openAsks = new Map<string, number>();

  constructor(run: CheckedRun) {
    this.#run = run;
  }

  /** Called with every legal event: the delegation before it, the run after it. */
  see(event: StoredEvent, fold: RunState, before: Delegation | undefined): void {
    if (!touchesInbox(event.type)) return;
    const { closes, item } = inboxChangeOf(event, fold, before);
    const closed = this.#items.get(this.#openAsks.get(closes ?? "") ?? -1);
    if (closed) this.#items.set(closed.id, { ...closed, isOpen: false });
    if (item === undefined) return;
    this.#items.set(item.id, item);
    if (item.ask) this.#openAsks.set(item.ask.id, item.id);
  }

  end(): void {
    const stored = new Map(this.#run.rows.inbox.map((item) => [item.id, item]));
    for (const seq of new Set([...stored.keys(), ...this.#items.keys()])) {
      const [row, told] = [stored.get(seq), this.#items.get(seq)];
      const problem = problemOf(row, told);
      if (problem === undefined) continue;
      const delegationId = told?.delegationId ?? row?.delegationId;
      this.#run.report("I7", problem, { seq, ...(delegationId && { delegationId }) });
    }
  }
}

function problemOf(row: InboxItem | undefined, told: InboxItem | undefined): string | undefined {
  if (told === undefined) return "It is in the inbox, and the log does not have it.";
  if (row === undefined) return "The log has it for the inbox, and it is not stored there.";
  if (textOf(row) === textOf(told)) return undefined;
  return row.isOpen === told.isOpen
    ? "It is stored in the inbox otherwise than the log has it."
    : `Its question is stored as ${row.isOpen ? "open" : "closed"}; by the log it is not.`;
}

function textOf({ ask, at, delegationId, isOpen, kind, severity, text, title }: InboxItem): string {
  const asked = ask && [ask.id, ask.deadlineAt, ask.default];
  return JSON.stringify([delegationId, at, kind, severity, title, text, isOpen, asked]);
}
