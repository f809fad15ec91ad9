import type { Cause } from "../events/cause.ts";
import type { Delegation } from "../events/delegation.ts";
import type { NewEvent } from "../events/event.ts";
import type { DelegationResult } from "../ports/delegator.ts";
import type { Tool } from "../tools/tool.ts";
import type { OfferedTools } from "../tools/toolbox.ts";
import type { ProgramAtWork } from "./agent-programs.ts";
import type { Estimate, Used } from "./budget.ts";
import type { MergeOrder } from "./changes/merge-order.ts";
import { Stopped, Suspended } from "./ends/ending.ts";
import type { LiveDelegation } from "./live-delegation.ts";
import { WorkingTime } from "./working-time.ts";

/** What a living process has of a delegation, and no log. */
export class DelegationProcess {
  readonly time: WorkingTime;
  readonly appends = new UnsettledAppends();
  readonly end: DelegationEnd;
  readonly request: RequestUnderWay = { received: 0, promptBound: 0, estimates: null };
  /** The next step index. Children, and the steps of plans, have lower ones. */
  nextStep = 1;
  /** The children, in the order of their steps. */
  children: readonly LiveDelegation[] = none;
  /** Children that are being created; null until the first. */
  making: Set<Promise<unknown>> | null = null;
  /** What each request of another program has used if it is cut now, by number; null until the first. */
  cuts: Map<number, () => Used> | null = null;
  /** The order in which its children's work is merged; null until the first copy. */
  merges: MergeOrder | null = null;
  /** The agent program that works on it; null: none runs, or our own loop works. */
  program: ProgramAtWork | null = null;
  /** Questions of its own that wait for an answer. */
  asksOpen = 0;
  /** Questions are asked one at a time, and messages sent in order: the latest of each. */
  readonly inOrder = { asking: settled, sending: settled };
  readonly tools: LiveTools = { offered: null, ofServers: null };
  /** Commands or servers of it may run, and are ended before it closes. */
  holdsProcesses = false;
  lastActivity = 0;
  /** How often it had to start from its log again because others wrote. */
  reconciliations = 0;
  /** How far the log of its run had come then. */
  reconciledAt = -1;

  constructor(live: LiveDelegation) {
    this.time = new WorkingTime(live);
    this.end = new DelegationEnd(live);
  }

  /** By step index: a child that needs a copy is created later than those after it. */
  addChild(child: LiveDelegation): void {
    const index = child.contract.parent.step_idx;
    const after = this.children.findLastIndex((one) => one.contract.parent.step_idx <= index);
    const children = this.children === none ? [] : (this.children as LiveDelegation[]);
    children.splice(after + 1, 0, child);
    this.children = children;
  }
}

interface LiveTools {
  /** What its model is shown: the same list every turn but the last. */
  offered: OfferedTools | null;
  /** The tools of its MCP servers, by name; null until the servers were opened. */
  ofServers: ReadonlyMap<string, Tool> | null;
}

interface RequestUnderWay {
  /** Bytes of its answer that have arrived; null: another process had sent it. */
  received: number | null;
  /** The bound on the tokens of the delegation's prompt. */
  promptBound: number;
  /** Requests that this process settled as estimates, by number, and can still correct; null: none. */
  estimates: Map<number, Estimate> | null;
}

const settled: Promise<unknown> = Promise.resolve();
const none: readonly never[] = Object.freeze([]);

export function findTool({ process, run }: LiveDelegation, name: string): Tool | undefined {
  return run.parts.toolbox.get(name) ?? process.tools.ofServers?.get(name);
}

/** How a delegation ends in this process: its waiters, and the merge that is under way. */
export class DelegationEnd {
  result: DelegationResult | null = null;
  /** The closing events are being written, or another process owns the delegation: no more work is written. */
  isEnding = false;
  closing: Promise<unknown> | null = null;
  /** Set while the work is being merged, which cannot be stopped half-way. */
  merging: PromiseWithResolvers<void> | null = null;
  /** The changes are in the parent's folder, and the log could not say so. */
  wasMerged = false;
  /** Called just before this child closes. Returns events of its waiting parent for the same transaction. */
  deliver: ((result: DelegationResult) => readonly NewEvent[]) | null = null;
  readonly #live: LiveDelegation;
  #close: PromiseWithResolvers<DelegationResult> | null = null;
  #answer: PromiseWithResolvers<DelegationResult> | null = null;
  #before: Delegation | null = null;

  constructor(live: LiveDelegation) {
    this.#live = live;
  }

  /** Resolves to the final answer; where background children still run, long before the close. */
  whenAnswered(): Promise<DelegationResult> {
    this.#answer ??= Promise.withResolvers();
    return Promise.race([this.#answer.promise, this.whenClosed()]);
  }

  answered(answer: DelegationResult): void {
    this.#answer ??= Promise.withResolvers();
    this.#answer.resolve(answer);
  }

  whenClosed(): Promise<DelegationResult> {
    if (this.result !== null) return Promise.resolve(this.result);
    this.#close ??= Promise.withResolvers();
    return this.#close.promise;
  }

  /** Notes that the closing events are on their way to the log. */
  begin(closing: readonly NewEvent[]): void {
    this.isEnding = true;
    this.#before = this.#live.state;
    this.#live.follow(closing);
  }

  closed(result: DelegationResult): void {
    if (this.result !== null) return;
    const { contract, parent, process, run, work } = this.#live;
    this.result = result;
    process.time.end();
    this.#close?.resolve(result);
    this.#close = null;
    work.forgetListeners();
    this.deliver = null;
    parent?.process.merges?.leave(contract.parent.step_idx);
    run.changed.notify();
  }

  /** The log did not take its end: it is open, and its parent was given no result. */
  reopen(): void {
    const { id, run } = this.#live;
    this.isEnding = false;
    this.closing = null;
    this.result = null;
    if (this.#before !== null) this.#live.adopt(this.#before);
    this.#before = null;
    run.history.delivered.delete(id);
    if (run.delegations.root === this.#live) run.finished = false;
  }
}

/** The appends that a delegation depends on and that have not settled yet. */
class UnsettledAppends {
  /** How many there were so far. */
  count = 0;
  /** Why one of them was refused; null: none was. */
  refusal: unknown = null;
  /** Something is on disk, so other processes may know the delegation. */
  isKnown = false;
  #open = 0;
  /** Null: none. Nearly always one, and a thousand where as many children report at once. */
  #unsettled: Promise<unknown>[] | null = null;
  #settling: Promise<unknown> = settled;

  add(append: Promise<unknown>): void {
    this.count++;
    this.#open++;
    if (this.#unsettled === null) this.#unsettled = [append];
    else this.#unsettled.push(append);
    // Closures that live as long as the append: a delegation may wait for an hour after it.
    append.then(
      () => this.#written(),
      (error: unknown) => {
        this.#open--;
        this.breakOff(error);
      },
    );
  }

  /** What follows from an append that was refused must not be written either. */
  throwIfRefused(): void {
    if (this.refusal !== null) throw this.refusal;
  }

  /** Every append has settled, accepted or not. */
  async quiet(): Promise<void> {
    await Promise.allSettled([...(this.#unsettled ?? none), this.#settling]);
  }

  /** Everything so far is on disk; rejects when some of it was refused. */
  durable(): Promise<unknown> {
    const unsettled = this.#unsettled;
    if (unsettled !== null) {
      const [first] = unsettled;
      this.#unsettled = null;
      this.#settling = first && unsettled.length === 1 ? first : Promise.all(unsettled);
    }
    return this.#settling;
  }

  #written(): void {
    this.isKnown = true;
    this.#open--;
    // Written events are not kept in memory by what waited for them.
    if (this.#open === 0 && this.refusal === null) this.#forget();
  }

  #forget(): void {
    this.#unsettled = null;
    this.#settling = settled;
  }

  /** The delegation's own work writes nothing more; its close is still written. */
  breakOff(error: unknown): void {
    this.refusal ??= error;
  }

  /** The delegation starts from its log again, which has nothing of what was refused. */
  startOver(): void {
    this.refusal = null;
    this.#forget();
  }
}

/**
 * Work that can be stopped, cut or suspended. An interruption ends what the work waits for at that
 * moment; what it does between two waits is never torn apart.
 */
export class Interruptible {
  stopReason: Stopped | null = null;
  /** What ended the attempt that is under way, though another one may follow. */
  cut: Stopped | null;
  readonly #live: LiveDelegation;
  #listeners: Set<(reason: Stopped) => void> | null = null;

  constructor(live: LiveDelegation, suspension: Suspended | null) {
    this.#live = live;
    this.cut = suspension;
  }

  /** Stops the delegation. If it is stopped again, the first reason counts. */
  stop(cause: Cause): void {
    if (this.stopReason !== null || this.#isOver) return;
    this.stopReason = new Stopped(cause);
    this.#interrupt(this.stopReason);
  }

  /** The time of its attempt is over: another one follows, unless others still work for this one. */
  endAttempt(cause: Cause): void {
    const { contract, state } = this.#live;
    const mayRetry = state.attempt <= contract.execution.max_retries;
    if (mayRetry && !hasOthersAtWork(this.#live)) this.cutAttempt(cause);
    else this.stop(cause);
  }

  cutAttempt(cause: Cause): void {
    if (this.interruption !== null || this.#isOver) return;
    this.cut = new Stopped(cause);
    this.#interrupt(this.cut);
  }

  /** Suspended work can still be stopped. */
  suspend(reason: Suspended): void {
    if (this.stopReason !== null || this.#isOver) return;
    this.cut = reason;
    this.#interrupt(reason);
  }

  /** Set while it is suspended, or is about to be. */
  get suspension(): Suspended | null {
    return this.cut instanceof Suspended && this.stopReason === null ? this.cut : null;
  }

  /** Suspended, and its work has stopped: it writes nothing more. */
  get isParked(): boolean {
    return this.cut instanceof Suspended && this.cut.isAtRest;
  }

  /** Whether the delegation was interrupted: it closes when the children that continue have closed. */
  get isInterrupted(): boolean {
    return (this.suspension?.closesAs ?? null) !== null;
  }

  /** Why the delegation does not continue at this moment. */
  get interruption(): Stopped | null {
    return this.stopReason ?? this.cut;
  }

  throwIfStopped(): void {
    if (this.interruption !== null) throw this.interruption;
  }

  /** Waits for something outside until it is interrupted. */
  interruptible<Value>(waiting: Promise<Value>): Promise<Value> {
    if (this.interruption !== null) {
      // What was begun may still fail, and nothing waits for it any more.
      waiting.catch(() => undefined);
      return Promise.reject(this.interruption);
    }
    return new Promise((resolve, reject) => {
      const forget = this.onStop(reject);
      waiting.then(
        (value) => {
          forget();
          resolve(value);
        },
        (error: unknown) => {
          forget();
          reject(error);
        },
      );
    });
  }

  onStop(listener: (reason: Stopped) => void): () => void {
    if (this.interruption !== null) listener(this.interruption);
    this.#listeners ??= new Set();
    const listeners = this.#listeners;
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  async sleep(ms: number): Promise<void> {
    this.throwIfStopped();
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = this.#live.run.parts.clock.after(ms, resolve);
    await this.interruptible(promise).finally(() => timer.cancel());
  }

  forgetListeners(): void {
    this.#listeners = null;
  }

  get #isOver(): boolean {
    return this.#live.process.end.result !== null;
  }

  #interrupt(reason: Stopped): void {
    const listeners = this.#listeners;
    this.#listeners = null;
    this.#live.process.time.watched?.abort(reason);
    for (const listener of listeners ?? []) listener(reason);
  }
}

function hasOthersAtWork(live: LiveDelegation): boolean {
  const { asksOpen, children } = live.process;
  if (asksOpen > 0 || children.some(({ process }) => process.end.result === null)) return true;
  return [...live.said.openCalls.values()].some(({ tool }) => findTool(live, tool)?.waits === true);
}
