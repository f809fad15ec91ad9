import type { Contract } from "../contracts/contract.ts";
import type { RunGrant } from "../contracts/run-grant.ts";
import type { Cause } from "../events/cause.ts";
import { type Delegation, openAskOf } from "../events/delegation.ts";
import type { ArtifactReference, EventPayloads, NewEvent, StoredEvent } from "../events/event.ts";
import { describeLateCause, type LateCause } from "../events/run-cause.ts";
import type { RunState } from "../events/run-state.ts";
import type { Clock } from "../ports/clock.ts";
import type { AskOutcome, CancelOutcome } from "../ports/delegator.ts";
import type { Append, Ownership } from "../ports/store.ts";
import type { SessionChildren } from "../sessions/session-children.ts";
import type { WorkingCopies } from "../workspaces/git/copies/working-copies.ts";
import type { WorkingCopy } from "../workspaces/git/copies/working-copy.ts";
import type { ReceivedChanges } from "../workspaces/git/travel/receive-changes.ts";
import { Budget } from "./budget.ts";
import type { EngineParts } from "./engine-parts.ts";
import { type LiveDelegation, outcomeOf } from "./live-delegation.ts";

/** Takes the copies that children work in to other machines and back, through the store. */
interface CopyTransport {
  /** Stores what a fresh copy holds, before any worker can claim the delegation that works in it. */
  packStart(copy: FreshCopy): Promise<ArtifactReference | undefined>;
  /** Stores what was changed in a copy, before the work is handed in. */
  packWork(live: LiveDelegation): Promise<ArtifactReference | undefined>;
  /** Takes what a child did on another machine into its copy here; undefined: it worked here. */
  receiveWork(live: LiveDelegation, copy: WorkingCopy): Promise<ReceivedChanges | undefined>;
}

export interface FreshCopy {
  readonly run: LiveRun;
  readonly caller: LiveDelegation | null;
  readonly copies: WorkingCopies;
  readonly copy: WorkingCopy;
}

/** A run that this process works on. */
export class LiveRun {
  readonly id: string;
  readonly parts: EngineParts;
  readonly settings: RunSettings;
  readonly execution: Execution;
  /** The amount that the whole run may spend. */
  readonly budget: Budget;
  readonly delegations = new LiveDelegations();
  readonly history = new RunHistory();
  /** Questions that wait for an answer, by id. */
  readonly asks = new Map<string, (outcome: AskOutcome) => void>();
  /** A delegation has closed, has handed in its output, or is suspended. */
  readonly changed = new Notifier();
  /** A request was settled, in this process or another: its reservation may be free. */
  readonly funds = new Notifier();
  finished = false;
  /** The root waits until other goals have ended. */
  isHeld = false;
  /** Another process owns the run now: this process may write nothing more. */
  lost = false;
  /** After an interrupt: until the children that continue have closed. */
  settling: Promise<void> | null = null;

  constructor(parts: EngineParts, settings: RunSettings, execution: Execution) {
    this.id = settings.id;
    this.parts = parts;
    this.settings = settings;
    this.execution = execution;
    this.budget = new Budget(null, settings.tokens, null, { id: null, execution });
  }

  append(
    events: readonly NewEvent[],
    extra?: Pick<Append, "contracts" | "root">,
  ): Promise<readonly StoredEvent[]> {
    const { id: runId, ownership: by } = this.settings;
    return this.parts.store.append({ runId, by, events, ...extra });
  }
}

export interface RunSettings {
  readonly id: string;
  readonly task: string;
  readonly workspace: string | null;
  readonly tokens: number;
  readonly ownership: Ownership;
  readonly grant: RunGrant;
  readonly readOnly: boolean;
  /** A person approves every change before it reaches the workspace; the contracts say it as well. */
  readonly isReviewed?: boolean;
}

/** The delegations of one run that this process knows. */
class LiveDelegations {
  root: LiveDelegation | null = null;
  readonly byId = new Map<string, LiveDelegation>();
  /** Children by the call that made them: those of plans, and all of a recovered run. */
  readonly byCall = new Map<string, LiveDelegation>();
  /** Without a parent: the root, watchers, and what an agent of another program delegated. */
  readonly topLevel: LiveDelegation[] = [];
  /** Children whose own call waits for them: no others need to. */
  readonly joining = new Set<string>();
  /** Delegations whose end could not be written: by the log they are open, and no process works on them. */
  readonly abandoned: LiveDelegation[] = [];
  /** The index of the next delegation that is no step of a plan: the root has the first. */
  nextStep = 0;
  /** Delegations that are being made and have no row yet. */
  starting = 0;

  add(live: LiveDelegation): void {
    this.byId.set(live.id, live);
    if (live.parent === null) this.topLevel.push(live);
    else live.parent.process.addChild(live);
  }

  /** Adds a delegation that the log already has. */
  addStored(live: LiveDelegation, { callId, depth, parentId }: Delegation): void {
    this.add(live);
    if (parentId === null && depth === 0) this.root = live;
    if (callId !== null) this.byCall.set(`${parentId} ${callId}`, live);
  }

  /** Removes a delegation whose creation the store refused. */
  remove({ id, parent }: LiveDelegation): void {
    this.byId.delete(id);
    this.joining.delete(id);
    if (parent === null) return;
    parent.process.children = parent.process.children.filter((child) => child.id !== id);
  }
}

/** What a run as a whole remembers of its events. */
class RunHistory {
  /** Delegations whose results have reached the parent that waited for them. */
  readonly delivered = new Set<string>();
  /** The plans of the run, in the order in which they were made. */
  readonly plans: EventPayloads["run.planned"][] = [];
  /** The children of earlier messages of its session; null until they are asked for. */
  earlier: SessionChildren | null = null;
  /** The remarks of each watcher, by the watcher's id. */
  readonly remarks = new Map<string, { readonly count: number; readonly last: string }>();

  see(event: NewEvent): void {
    if (event.type === "agent.tool_completed") {
      for (const id of event.payload.delivered ?? none) this.delivered.add(id);
    } else if (event.type === "run.planned") this.plans.push(event.payload);
    else if (event.type === "agent.interjected") this.#seeRemark(event.payload);
  }

  #seeRemark({ from, message }: EventPayloads["agent.interjected"]): void {
    if (!from.startsWith("watcher:")) return;
    const id = from.slice("watcher:".length);
    this.remarks.set(id, { count: (this.remarks.get(id)?.count ?? 0) + 1, last: message });
  }
}

const none: readonly string[] = Object.freeze([]);

/** Wakes what waits for the next change. */
class Notifier {
  #waiting = new Set<() => void>();

  /** `within`: resolves after so long without a change. */
  next(within?: { readonly clock: Clock; readonly ms: number }): Promise<void> {
    return new Promise((resolve) => {
      const timer = within?.clock.after(within.ms, () => resume());
      const resume = (): void => {
        timer?.cancel();
        this.#waiting.delete(resume);
        resolve();
      };
      this.#waiting.add(resume);
    });
  }

  notify(): void {
    for (const resume of [...this.#waiting]) resume();
  }
}

/** A delegation's budget, below its parent's. The root's dollars are those of the whole run. */
export function budgetFor(
  run: LiveRun,
  parent: LiveDelegation | null,
  { id, contract }: Pick<LiveDelegation, "id" | "contract">,
): Budget {
  const above = parent?.budget ?? run.budget;
  const { cost, tokens } = contract.budget;
  const own = new Budget(above, tokens, cost, { id, execution: run.execution });
  const { sub_agent_id: parentId, watches } = contract.parent;
  if (parentId === null && watches === undefined) run.budget.cost = own.cost;
  return own;
}

/** A question was answered, or its time is over. */
export function settleAsk(run: LiveRun, event: StoredEvent<"agent.answered">): void {
  const { answer, ask_id: askId, by } = event.payload;
  const live = run.delegations.byId.get(event.sub_agent_id ?? "");
  if (live !== undefined && openAskOf(live.state)?.id === askId) live.follow([event]);
  run.asks.get(askId)?.(outcomeOf(answer, by));
}

/** Another process works on the run now: what is in memory here no longer means anything. */
export function loseRun(run: LiveRun): void {
  run.lost = true;
  for (const { process, work } of run.delegations.byId.values()) {
    if (process.end.isEnding) continue;
    process.end.isEnding = true;
    work.stop({ code: "owned_elsewhere" });
  }
  run.changed.notify();
}

/**
 * How the delegations of a run are executed: all of them by the process that owns the run, or each by
 * the worker that claims it. No other code asks which of the two it is.
 */
export interface Execution {
  /** What the events that create the run and its delegations record about it. */
  readonly recorded: {
    run(
      maxChildren: number,
      outlivesProcess: boolean,
    ): Pick<EventPayloads["run.started"], "spread">;
    delegation(contract: Contract): Pick<EventPayloads["agent.subagent_created"], "budget">;
  };
  /** The run by its log, where other processes write to it; null: this process writes all of it. */
  readonly log: RunState | null;
  /** The delegation that this process has claimed; null: it owns the whole run, or no part of it. */
  readonly here: LiveDelegation | null;
  /** Starts work on a new delegation, here or anywhere; undefined: it waits for its slot here. */
  begin(
    live: LiveDelegation,
    created: Promise<unknown>,
  ): Promise<{ readonly rule: string; readonly reason: string } | undefined> | undefined;
  /** Cancels it with everything below it, whichever process works on it. */
  cancel(live: LiveDelegation, cause: Cause): Promise<CancelOutcome>;
  /** Another process works on it, or none does yet: this process knows it by the log alone. */
  isRemote(live: LiveDelegation): boolean;
  /** How working copies reach other machines; absent: they do not. */
  readonly transport?: CopyTransport;
  /** Before the run ends: loads what its outcome depends on and is not known here. */
  loadAll(root: LiveDelegation): Promise<void> | undefined;
}

/**
 * Something that a delegation no longer waits for came after all. It changes nothing; that it came
 * is noted on the run, since the delegation itself may be closed.
 */
export function noteLateResult(agent: LiveDelegation, cause: LateCause): void {
  const { run } = agent;
  if (run.finished || run.lost) return;
  // The run may end at this very moment; then there is nowhere left to note it.
  void run.append([lateResult(agent, cause)]).catch(() => undefined);
}

export function lateResult({ id }: LiveDelegation, cause: LateCause): NewEvent<"run.late_result"> {
  const detail = describeLateCause(cause);
  return { type: "run.late_result", payload: { sub_agent_id: id, cause, detail } };
}
