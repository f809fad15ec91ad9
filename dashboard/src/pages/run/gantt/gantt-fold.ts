import type { StoredEvent } from "../../../../../src/events/event.ts";
import { apply, create } from "../../../../../src/events/lifecycle.ts";
import { type BarKind, type Doing, doingOf, noteCall } from "./doing-of.ts";

export interface Bar {
  readonly kind: BarKind;
  readonly from: number;
  /** Null: still running. */
  to: number | null;
  /** The tool, the question: what exactly. */
  readonly detail: string | null;
}

export interface GanttRow {
  readonly id: string;
  readonly parentId: string | null;
  readonly depth: number;
  readonly callId: string | null;
  /** When its caller called for it: a copy may have to be made first. Null: not known. */
  readonly calledAt: number | null;
  /** A step of a plan: the calls of the steps that it had to wait for. */
  readonly dependsOn: readonly string[];
  /** The place in the run of the event that created the delegation. */
  readonly place: number;
  readonly from: number;
  /** Null: it has not ended. */
  to: number | null;
  /** One after the other, without gaps. */
  readonly bars: Bar[];
  outcome: "completed" | "failed" | null;
}

interface Working extends Doing {
  readonly row: GanttRow;
}

/**
 * Who did what when, folded event by event, so that a live run is not read again for each
 * of them. Which state follows from which event is for the lifecycle to say.
 */
export class GanttFold {
  readonly rows: GanttRow[] = [];
  startedAt = 0;
  /** The time of the last event. */
  lastAt = 0;
  readonly kinds = new Set<BarKind>(["slot", "model"]);
  readonly #working = new Map<string, Working>();
  /** By the call of a step: those before it. */
  readonly #dependencies = new Map<string, readonly string[]>();

  add(event: StoredEvent): void {
    if (this.rows.length === 0 && this.lastAt === 0) this.startedAt = event.at;
    // Clocks of two processes may disagree: no bar ends before it began.
    this.lastAt = Math.max(this.lastAt, event.at);
    if (event.type === "run.planned") this.#plan(event);
    else if (event.type === "agent.subagent_created") this.#begin(event);
    else if (event.sub_agent_id !== undefined) this.#go(event.sub_agent_id, event);
  }

  #plan({ payload: { call_id: call, steps } }: StoredEvent<"run.planned">): void {
    for (const { depends_on: before, key } of steps) {
      this.#dependencies.set(
        `${call}/${key}`,
        before.map((one) => `${call}/${one}`),
      );
    }
  }

  #begin(event: StoredEvent<"agent.subagent_created">): void {
    const delegation = create(event);
    const { callId, depth, id, parentId } = delegation;
    if (this.#working.has(id)) return;
    const from = this.lastAt;
    const calls = this.#working.get(parentId ?? "")?.calls;
    const call = calls?.get(callId ?? "") ?? calls?.get(callId?.split("/")[0] ?? "");
    const row: GanttRow = {
      ...{ id, parentId, depth, callId, from, to: null, outcome: null },
      place: event.run_seq,
      calledAt: call?.at ?? null,
      dependsOn: this.#dependencies.get(callId ?? "") ?? [],
      bars: [{ kind: "slot", from, to: null, detail: null }],
    };
    this.rows.push(row);
    this.#working.set(id, { row, delegation, calls: new Map() });
  }

  #go(id: string, event: StoredEvent): void {
    const working = this.#working.get(id);
    if (working === undefined) return;
    try {
      working.delegation = apply(working.delegation, event);
    } catch {
      // A log that was tampered with is shown as far as it makes sense.
      return;
    }
    noteCall(working, event);
    const { delegation, row } = working;
    const current = row.bars.at(-1);
    if (delegation.status === "closed") {
      if (current) current.to = this.lastAt;
      row.to = this.lastAt;
      row.outcome = delegation.finalStatus;
      this.#working.delete(id);
      return;
    }
    const next = doingOf(working);
    if (current?.kind === next.kind && current.detail === next.detail) return;
    if (current?.from === this.lastAt) row.bars.pop();
    else if (current) current.to = this.lastAt;
    this.kinds.add(next.kind);
    row.bars.push({ ...next, from: this.lastAt, to: null });
  }
}
