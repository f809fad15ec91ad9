import { controlRunId } from "../ports/identity.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { RunOutcome } from "./close-reason.ts";
import { type Delegation, isOpen } from "./delegation.ts";
import type { EventType, StoredEvent } from "./event.ts";
import { genesis } from "./hash-chain.ts";
import { apply, create } from "./lifecycle.ts";
import { followSpending, requireFunds, type SpendingTotals } from "./spending.ts";

/**
 * A run as its events tell it. The container is mutable, because a run of a thousand children is
 * folded in place; each `Delegation` in it is a value and is replaced, never changed.
 */
export interface RunState {
  readonly id: string;
  task: string;
  application: string;
  workspace: string | null;
  budgetTokens: number;
  /** Of a goal: which one was the last before it, if it had to wait. */
  goal: { readonly behind: string | null } | null;
  session: StoredEvent<"run.started">["payload"]["session"] | null;
  /** Each of its delegations is worked on by the worker that has claimed it. */
  spread: { readonly delegations: number } | null;
  worker: string;
  fence: number;
  startedAt: number;
  outcome: RunOutcome | null;
  finishedAt: number | null;
  readonly delegations: Map<string, Delegation>;
  lastRunSeq: number;
  head: string;
  /** Of a spread run: what subtrees have spent, kept while it is asked for; absent: not worked out. */
  totals?: SpendingTotals | undefined;
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
    delegations: new Map(),
    lastRunSeq: 0,
    head: genesis(id),
  };
}

/** Folds one event into the run. Throws, and changes nothing, when the event is not legal now. */
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
  // A run begins once, and nothing is before its beginning. The control log was always there.
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
        // Several workers spend from one budget: only what is written can tell what is left of it.
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

/** It is suspended until it is resumed: no process recovers it by itself, and none works on it. */
export function isPaused({ delegations, outcome }: RunState): boolean {
  const [root] = delegations.values();
  if (outcome !== null || root === undefined) return false;
  if (root.status === "waiting_for_merge") return root.isPaused === true;
  return root.status === "running" && root.waitingOn.on === "paused";
}

/**
 * Background children that still run below a delegation that has given its final answer: it closes
 * after them. Empty: it has not answered yet, or nothing runs any more.
 */
export function childrenAfterAnswer(run: RunState, delegation: Delegation): readonly Delegation[] {
  if (delegation.status !== "waiting_for_merge") return [];
  return (delegation.output.running ?? []).flatMap((id) => {
    const child = run.delegations.get(id);
    return child === undefined || !isOpen(child) ? [] : [child];
  });
}

export function childrenOf(run: RunState, parentId: string | null): readonly Delegation[] {
  const children: Delegation[] = [];
  for (const one of run.delegations.values()) if (one.parentId === parentId) children.push(one);
  return children.length > 1 ? children.sort(byStep) : children;
}

/** All of them at once, for callers that walk the whole tree. */
export function childrenByParent(run: RunState): ReadonlyMap<string | null, readonly Delegation[]> {
  return Map.groupBy([...run.delegations.values()].sort(byStep), ({ parentId }) => parentId);
}

/** Who needed a copy was made later than those after it, and is no later child for that. */
function byStep(one: Delegation, other: Delegation): number {
  return one.stepIdx - other.stepIdx;
}

/** Most delegations of a wide run are, and are asked about all the same. */
function isLeaf({ delegations }: RunState, id: string): boolean {
  for (const { parentId } of delegations.values()) if (parentId === id) return false;
  return true;
}

/** The delegation and everything below it, children before their parents. */
export function subtree(run: RunState, id: string): Delegation[] {
  const root = run.delegations.get(id);
  if (root === undefined) return [];
  if (isLeaf(run, id)) return [root];
  const children = childrenByParent(run);
  const found: Delegation[] = [];
  const visit = (delegation: Delegation): void => {
    for (const child of children.get(delegation.id) ?? []) visit(child);
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

/** Whether it belongs into the control log. Such events stand nowhere else, and no others there. */
export function isControlEvent(type: EventType): type is ControlEventType {
  return controlEvents.has(type);
}
