import type { Cause } from "../events/cause.ts";
import type { Delegation } from "../events/delegation.ts";
import type { NewEvent } from "../events/event.ts";
import type { Timer } from "../ports/clock.ts";
import type { DelegationResult } from "../ports/delegator.ts";
import type { Tool } from "../tools/tool.ts";
import type { OfferedTools } from "../tools/toolbox.ts";
import type { MergeOrder } from "./changes/merge-order.ts";
import { Stopped, Suspended } from "./ends/ending.ts";
import type { LiveDelegation } from "./live-delegation.ts";
import type { Estimate } from "./turns/correct-request.ts";
import { UnsettledAppends } from "./unsettled-appends.ts";
import { WorkingTime } from "./working-time.ts";

/** What a living process has of a delegation, and no log. */
export class DelegationProcess {
  readonly time: WorkingTime;
  /** The appends that it depends on. */
  readonly appends = new UnsettledAppends();
  readonly end: DelegationEnd;
  readonly request: RequestUnderWay = { received: 0, promptBound: 0, estimates: new Map() };
  /** All its children, and the steps of its plans, have a lower index. */
  nextStep = 1;
  /** In the order of their steps. */
  children: readonly LiveDelegation[] = none;
  /** Children that are being made at this moment; null until it has some. */
  making: Set<Promise<unknown>> | null = null;
  /** The order in which its children's work is merged; null until it has some. */
  merges: MergeOrder | null = null;
  /** Questions of its own that wait for an answer. */
  asksOpen = 0;
  /** One question at a time: a person cannot answer two at once. Messages arrive in order as well. */
  readonly inOrder = { asking: nothingYet, sending: nothingYet };
  readonly tools: LiveTools = { offered: null, ofServers: null };
  /** It may have left something running that has to end before it does. */
  holdsProcesses = false;
  lastActivity = 0;
  /** How often it had to start from its log again because others wrote. */
  reconciliations = 0;

  constructor(live: LiveDelegation) {
    this.time = new WorkingTime(live);
    this.end = new DelegationEnd(live);
  }

  /** A child that needs a copy takes longer to be made, and is no later child for that. */
  addChild(child: LiveDelegation): void {
    const children = this.children === none ? [] : (this.children as LiveDelegation[]);
    let place = children.length;
    while (place > 0 && stepOf(children[place - 1]) > stepOf(child)) place--;
    children.splice(place, 0, child);
    this.children = children;
  }
}

function stepOf(live: LiveDelegation | undefined): number {
  return live?.contract.parent.step_idx ?? 0;
}

interface LiveTools {
  /** What its model is shown; the same list every turn but the last. */
  offered: OfferedTools | null;
  /** The tools of its MCP servers, by name; null until they were asked. */
  ofServers: ReadonlyMap<string, Tool> | null;
}

interface RequestUnderWay {
  /** Bytes of its answer that have arrived; null: another process had sent it. */
  received: number | null;
  /** The bound on its prompt. */
  promptBound: number;
  /** Requests that this process settled as estimates, by number: they can still be corrected. */
  readonly estimates: Map<number, Estimate>;
}

/** How a delegation ends in this process: its waiters, and the merge that is under way. */
export class DelegationEnd {
  result: DelegationResult | null = null;
  /** Its closing events are being written, or another process writes about it: this one does not. */
  isEnding = false;
  closing: Promise<unknown> | null = null;
  /** Its work is being merged at this moment, and cannot be stopped half-way. */
  merging: PromiseWithResolvers<void> | null = null;
  /** Its changes are in its caller's folder, and the log could not say so. */
  wasMerged = false;
  /** Asked just before it closes: what the waiting parent wants written in the same transaction. */
  deliver: ((result: DelegationResult) => readonly NewEvent[]) | null = null;
  readonly #live: LiveDelegation;
  #waiters: ((result: DelegationResult) => void)[] | null = null;
  #before: Delegation | null = null;
  #answers: PromiseWithResolvers<DelegationResult> | null = null;

  constructor(live: LiveDelegation) {
    this.#live = live;
  }

  get #answer(): PromiseWithResolvers<DelegationResult> {
    this.#answers ??= Promise.withResolvers();
    return this.#answers;
  }

  /** Its final answer; where background children still run, long before it closes. */
  whenAnswered(): Promise<DelegationResult> {
    return Promise.race([this.#answer.promise, this.whenClosed()]);
  }

  answered(answer: DelegationResult): void {
    this.#answer.resolve(answer);
  }

  whenClosed(): Promise<DelegationResult> {
    if (this.result !== null) return Promise.resolve(this.result);
    return new Promise((resolve) => {
      if (this.#waiters === null) this.#waiters = [resolve];
      else this.#waiters.push(resolve);
    });
  }

  /** Its closing events are on their way to the log. */
  begin(closing: readonly NewEvent[]): void {
    this.isEnding = true;
    this.#before = this.#live.state;
    this.#live.follow(closing);
  }

  closed(result: DelegationResult): void {
    if (this.result !== null) return;
    const { contract, parent, process, run } = this.#live;
    this.result = result;
    process.time.end();
    for (const resume of this.#waiters ?? []) resume(result);
    this.#waiters = null;
    this.#live.work.forgetListeners();
    this.deliver = null;
    parent?.process.merges?.leave(contract.parent.step_idx);
    run.changed.notify();
  }

  /** Its end was not accepted: it has not ended, and no caller was given its result. */
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

/**
 * Work that others may end, cut short or have rest. Whatever it waits for is given up at that
 * moment; what it does between two waits is never torn apart.
 */
export class Interruptible {
  stopReason: Stopped | null = null;
  /** What ended the attempt that is under way, though another one may follow. */
  cut: Stopped | null = null;
  readonly #live: LiveDelegation;
  #listeners: Set<(reason: Stopped) => void> | null = null;

  constructor(live: LiveDelegation, suspension: Suspended | null) {
    this.#live = live;
    this.cut = suspension;
  }

  /** Ends its work at the next moment it waits for anything. The first reason counts. */
  stop(cause: Cause): void {
    if (this.stopReason !== null || this.#isOver) return;
    this.stopReason = new Stopped(cause);
    this.#interrupt(this.stopReason);
  }

  /** The time of its attempt is over: another one follows, unless others still work for this one. */
  endAttempt(cause: Cause): void {
    if (this.#mayRetry) this.cutAttempt(cause);
    else this.stop(cause);
  }

  /** Ends what the attempt is doing, at the next moment it waits for anything. */
  cutAttempt(cause: Cause): void {
    if (this.interruption !== null || this.#isOver) return;
    this.cut = new Stopped(cause);
    this.#interrupt(this.cut);
  }

  /** Has it rest at the next moment it waits for anything. It can still be stopped. */
  suspend(reason: Suspended): void {
    if (this.stopReason !== null || this.#isOver) return;
    this.cut = reason;
    this.#interrupt(reason);
  }

  /** Set while it rests, or is about to. */
  get suspension(): Suspended | null {
    return this.cut instanceof Suspended && this.stopReason === null ? this.cut : null;
  }

  /** It was suspended and has come to rest: nothing more is written of it by its own work. */
  get isParked(): boolean {
    return this.cut instanceof Suspended && this.cut.isAtRest;
  }

  /** Its caller stopped, and it ends when those below it have. */
  get isInterrupted(): boolean {
    return (this.suspension?.closesAs ?? null) !== null;
  }

  /** Why nothing goes on at this moment: it was stopped, its attempt was cut, or it rests. */
  get interruption(): Stopped | null {
    return this.stopReason ?? this.cut;
  }

  throwIfStopped(): void {
    if (this.interruption !== null) throw this.interruption;
  }

  /** Waits for something outside, but not beyond being stopped. */
  interruptible<Value>(waiting: Promise<Value>): Promise<Value> {
    if (this.interruption !== null) return Promise.reject(this.interruption);
    this.#listeners ??= new Set();
    const listeners = this.#listeners;
    return new Promise((resolve, reject) => {
      listeners.add(reject);
      waiting.then(
        (value) => {
          listeners.delete(reject);
          resolve(value);
        },
        (error: unknown) => {
          listeners.delete(reject);
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
    let timer: Timer | undefined;
    try {
      await this.interruptible(
        new Promise<void>((resolve) => {
          timer = this.#live.run.parts.clock.after(ms, resolve);
        }),
      );
    } finally {
      timer?.cancel();
    }
  }

  /** It is over: nobody has to hear of an interruption any more. */
  forgetListeners(): void {
    this.#listeners = null;
  }

  get #mayRetry(): boolean {
    const { contract, state } = this.#live;
    return state.attempt <= contract.execution.max_retries && !hasOthersAtWork(this.#live);
  }

  get #isOver(): boolean {
    return this.#live.process.end.result !== null;
  }

  #interrupt(reason: Stopped): void {
    const listeners = this.#listeners;
    this.#listeners = null;
    for (const listener of listeners ?? []) listener(reason);
  }
}

const none: readonly LiveDelegation[] = Object.freeze([]);
const nothingYet: Promise<unknown> = Promise.resolve();

export function findTool({ process, run }: LiveDelegation, name: string): Tool | undefined {
  return run.parts.toolbox.get(name) ?? process.tools.ofServers?.get(name);
}

function hasOthersAtWork(live: LiveDelegation): boolean {
  const { asksOpen, children } = live.process;
  if (asksOpen > 0 || children.some(({ process }) => process.end.result === null)) return true;
  return [...live.said.openCalls.values()].some(({ tool }) => findTool(live, tool)?.waits === true);
}
