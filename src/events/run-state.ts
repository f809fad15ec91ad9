import { controlRunId } from "../ports/identity.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { RunOutcome } from "./close-reason.ts";
import { type Delegation, isOpen } from "./delegation.ts";
import type { EventType, StoredEvent } from "./event.ts";
import { genesis } from "./hash-chain.ts";
import { apply, create } from "./lifecycle.ts";
import { followSpending, requireFunds, type SpendingTotals } from "./spending.ts";

/**
 * The state of a run: the fold of its events. The object is mutable, because runs with a thousand children
 * are folded in place; each `Delegation` in it is immutable and replaced.
 */
export interface RunState {
  readonly id: string;
  task: string;
  application: string;
  workspace: string | null;
  budgetTokens: number;
  /** Set for a goal. `behind`: the last goal before it, if it had to wait. */
  goal: { readonly behind: string | null } | null;
  session: StoredEvent<"run.started">["payload"]["session"] | null;
  /** Set for a distributed run. */
  spread: NonNullable<StoredEvent<"run.started">["payload"]["spread"]> | null;
  worker: string;
  fence: number;
  startedAt: number;
  outcome: RunOutcome | null;
  finishedAt: number | null;
  readonly delegations: Delegations;
  lastRunSeq: number;
  head: string;
  /** Only of a distributed run: what each subtree has spent; absent: not computed yet. */
  totals?: SpendingTotals | undefined;
}

/** The delegations of a run by id, in the order of their creation, with the children of each. */
export class Delegations extends Map<string, Delegation> {
  readonly #children = new Map<string | null, string[]>();
  /** The highest index that a delegation ever had; -1: there was no delegation. */
  highestStep = -1;

  override set(id: string, delegation: Delegation): this {
    if (!this.has(id)) {
      const siblings = this.#children.get(delegation.parentId);
      if (siblings) siblings.push(id);
      else this.#children.set(delegation.parentId, [id]);
      this.highestStep = Math.max(this.highestStep, delegation.stepIdx);
    }
    return super.set(id, delegation);
  }

  override delete(id: string): boolean {
    const siblings = this.#children.get(this.get(id)?.parentId ?? null) ?? [];
    // Only a creation that was refused is taken back, so it is one of the last.
    const place = siblings.lastIndexOf(id);
    if (place >= 0) siblings.splice(place, 1);
    return super.delete(id);
  }

  /** In the order of their creation. */
  childrenOf(parentId: string | null): Delegation[] {
    return (this.#children.get(parentId) ?? []).flatMap((id) => this.get(id) ?? []);
  }
}

export function emptyRun(id: string): RunState {
  return {
    id,
    task: "",
    application: "",
    workspace: null,
    budgetTokens: 0,
    goal: null,
    session: null,
    spread: null,
    worker: "",
    fence: 0,
    startedAt: 0,
    outcome: null,
    finishedAt: null,
    delegations: new Delegations(),
    lastRunSeq: 0,
    head: genesis(id),
  };
}

/**
 * Folds one event into the run. Throws "illegal-transition" without changing anything.
 * @example for (const event of events) applyToRun(run, event);
 */
export function applyToRun(run: RunState, event: StoredEvent): void {
  if (run.outcome !== null) {
    throw new MandateError(
      "illegal-transition",
      `Run ${run.id} is finished: it takes no ${event.type}.`,
    );
  }
  const isControlLog = run.id === controlRunId;
  if (isControlLog !== isControlEvent(event.type)) {
    const log = isControlLog ? "The control log" : `Run ${run.id}`;
    throw new MandateError("illegal-transition", `${log} takes no ${event.type}.`);
  }
  // A run starts once, with its first event. The control log has no start.
  if (!isControlLog && (run.lastRunSeq === 0) !== (event.type === "run.started")) {
    const state = run.lastRunSeq === 0 ? "has not started" : "has started already";
    throw new MandateError(
      "illegal-transition",
      `Run ${run.id} ${state}: it takes no ${event.type}.`,
    );
  }
  switch (event.type) {
    case "run.started":
      run.task = event.payload.task;
      run.application = event.payload.application;
      run.workspace = event.payload.workspace;
      run.budgetTokens = event.payload.budget.tokens;
      run.goal = event.payload.goal ?? null;
      run.session = event.payload.session ?? null;
      run.spread = event.payload.spread ?? null;
      run.worker = event.payload.worker;
      run.fence = event.payload.fence;
      run.startedAt = event.at;
      break;
    case "run.resumed":
      run.worker = event.payload.worker;
      run.fence = event.payload.fence;
      break;
    case "run.finished":
      run.outcome = event.payload.outcome;
      run.finishedAt = event.at;
      break;
    case "agent.subagent_created": {
      const delegation = create(event);
      if (run.delegations.has(delegation.id)) {
        throw new MandateError(
          "illegal-transition",
          `Delegation ${delegation.id} was already created.`,
        );
      }
      if (run.spread !== null && run.delegations.size >= run.spread.delegations) {
        const limit = `the run already has ${run.spread.delegations} delegations, which is its limit`;
        throw new MandateError("refused-by-policy", limit);
      }
      run.delegations.set(delegation.id, delegation);
      break;
    }
    default:
      if (event.sub_agent_id !== undefined) {
        const delegation = run.delegations.get(event.sub_agent_id);
        if (delegation === undefined) {
          throw new MandateError(
            "unknown-delegation",
            `Run ${run.id} has no delegation ${event.sub_agent_id}.`,
          );
        }
        // Several workers spend from one budget: only the log knows how much is left.
        if (run.spread !== null && event.type === "agent.budget_reserved") requireFunds(run, event);
        const next = apply(delegation, event);
        run.delegations.set(delegation.id, next);
        if (run.totals !== undefined) followSpending(run, delegation, next);
      }
  }
  run.lastRunSeq = event.run_seq;
  run.head = event.hash;
}

export function foldRun(id: string, events: Iterable<StoredEvent>): RunState {
  const run = emptyRun(id);
  for (const event of events) applyToRun(run, event);
  return run;
}

/** Whether a run is suspended until a person resumes it: no process recovers it by itself. */
export function isPaused({ delegations, outcome }: RunState): boolean {
  const [root] = delegations.values();
  if (outcome !== null || root === undefined) return false;
  if (root.status === "waiting_for_merge") return root.isPaused === true;
  return root.status === "running" && root.waitingOn.on === "paused";
}

/**
 * The background children that still run below a delegation that has answered: it closes after them.
 * Empty: it has not answered yet, or none runs.
 */
export function childrenAfterAnswer(run: RunState, delegation: Delegation): readonly Delegation[] {
  if (delegation.status !== "waiting_for_merge") return [];
  return (delegation.output.running ?? []).flatMap((id) => {
    const child = run.delegations.get(id);
    return child === undefined || !isOpen(child) ? [] : [child];
  });
}

export function childrenOf(run: RunState, parentId: string | null): readonly Delegation[] {
  const children = run.delegations.childrenOf(parentId);
  return children.length > 1 ? children.sort(byStep) : children;
}

/** The children of every delegation, for callers that walk the whole tree. */
export function childrenByParent(run: RunState): ReadonlyMap<string | null, readonly Delegation[]> {
  return Map.groupBy([...run.delegations.values()].sort(byStep), ({ parentId }) => parentId);
}

/** By step index: a child that needed a working copy may have been created after later steps. */
function byStep(one: Delegation, other: Delegation): number {
  return one.stepIdx - other.stepIdx;
}

/** A delegation and its descendants, children before their parents. */
export function subtree(run: RunState, id: string): Delegation[] {
  const root = run.delegations.get(id);
  if (root === undefined) return [];
  const found: Delegation[] = [];
  const visit = (delegation: Delegation): void => {
    for (const child of childrenOf(run, delegation.id)) visit(child);
    found.push(delegation);
  };
  visit(root);
  return found;
}

export type ControlEventType = "control.record_changed" | "control.pruned" | "command.executed";

const controlEvents: ReadonlySet<EventType> = new Set<ControlEventType>([
  "control.record_changed",
  "control.pruned",
  "command.executed",
]);

/** Whether an event belongs to the control log, which contains no other types. */
export function isControlEvent(type: EventType): type is ControlEventType {
  return controlEvents.has(type);
}
