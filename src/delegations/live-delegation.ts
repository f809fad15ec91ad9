import { type Contract, externalProvider, modelName } from "../contracts/contract.ts";
import type { TokenPrice } from "../contracts/token-price.ts";
import type { Delegation } from "../events/delegation.ts";
import type { EventPayloads, NewEvent } from "../events/event.ts";
import { apply } from "../events/lifecycle.ts";
import type { DelegationResult } from "../ports/delegator.ts";
import { billionths } from "../ports/dollars.ts";
import type { Tool } from "../tools/tool.ts";
import type { OfferedTools } from "../tools/toolbox.ts";
import type { WorkingCopy } from "../workspaces/git/copies/working-copy.ts";
import type { WorkspaceBinding } from "../workspaces/workspace-binding.ts";
import { type Budget, type Held, nothing } from "./budget.ts";
import type { MergeOrder } from "./changes/merge-order.ts";
import { type Conversation, untrustedIn } from "./conversation.ts";
import { type OutputEnding, Stopped, Suspended } from "./ends/ending.ts";
import { Interruptible } from "./interruptible.ts";
import type { LiveRun } from "./live-run.ts";
import type { Estimate } from "./turns/correct-request.ts";
import { UnsettledAppends } from "./unsettled-appends.ts";
import { WorkingTime } from "./working-time.ts";

export interface LiveIdentity {
  readonly id: string;
  readonly run: LiveRun;
  readonly parent: LiveDelegation | null;
  readonly contract: Contract;
  readonly system: string;
  readonly budget: Budget;
  readonly workspace: WorkspaceBinding | null;
  /** Its own copy of its caller's folder; null: it works in that folder, or in none. */
  readonly copy: WorkingCopy | null;
}

/**
 * A delegation that this process works on. `state` and `said` are what its events say, and only
 * events change them; `process` holds what cannot be stored: a slot, timers, waiters. Losing the
 * object loses nothing.
 */
export class LiveDelegation extends Interruptible {
  readonly id: string;
  readonly run: LiveRun;
  readonly parent: LiveDelegation | null;
  readonly contract: Contract;
  readonly system: string;
  readonly budget: Budget;
  readonly workspace: WorkspaceBinding | null;
  readonly copy: WorkingCopy | null;
  readonly process: DelegationProcess;
  #state: Delegation;
  #said: Conversation;

  constructor(identity: LiveIdentity, state: Delegation, said: Conversation) {
    super(identity.run.parts.clock);
    this.id = identity.id;
    this.run = identity.run;
    this.parent = identity.parent;
    this.contract = identity.contract;
    this.system = identity.system;
    this.budget = identity.budget;
    this.workspace = identity.workspace;
    this.copy = identity.copy;
    this.#state = state;
    this.#said = said;
    this.budget.follow(null, state);
    this.process = new DelegationProcess(this);
    this.process.time.consider();
    this.cut = suspensionIn(state);
  }

  get state(): Delegation {
    return this.#state;
  }

  get said(): Conversation {
    return this.#said;
  }

  /** Writes events of this delegation. What depends on the disk awaits `process.appends.durable`. */
  record(...events: readonly NewEvent[]): void {
    if (events.length === 0) return;
    const { appends, end } = this.process;
    if (end.isEnding) throw this.stopReason ?? new Stopped({ code: "already_closed" });
    if (this.isParked) throw this.interruption ?? new Stopped({ code: "paused" });
    appends.throwIfRefused();
    this.process.lastActivity = this.run.parts.clock.monotonic();
    this.follow(events);
    appends.add(this.run.append(events));
  }

  /** Events that are written, or are being written, become part of `state` and `said`. */
  follow(events: readonly NewEvent[]): void {
    const before = this.#state;
    const at = this.run.parts.clock.now();
    // All of them are legal, or none has happened.
    this.#state = events.reduce((state, event) => apply(state, { ...event, at }), before);
    for (const event of events) {
      this.#said.see(event);
      this.run.note(event);
    }
    this.#moved(before);
  }

  /** What it is by the log, or was before events that were not accepted. */
  adopt(state: Delegation): void {
    const before = this.#state;
    this.#state = state;
    this.#moved(before);
  }

  /** Starts again from the log: what was refused is no longer part of it. */
  restore(state: Delegation, said: Conversation): void {
    const before = this.#state;
    this.process.appends.startOver();
    this.process.request.estimates.clear();
    this.#state = state;
    this.#said = said;
    this.#moved(before);
    if (this.cut === null || this.cut instanceof Suspended) this.cut = suspensionIn(state);
  }

  #moved(before: Delegation): void {
    this.process.time.consider();
    if (before === this.#state) return;
    this.budget.follow(before, this.#state);
    const hadRequest = before.status === "running" && before.reservation !== null;
    if (hadRequest && heldBy(this) === nothing) this.run.release();
  }

  protected override get mayRetry(): boolean {
    return this.#state.attempt <= this.contract.execution.max_retries && !hasOthersAtWork(this);
  }

  protected override get isOver(): boolean {
    return this.process.end.result !== null;
  }
}

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
    this.#live.forgetListeners();
    this.deliver = null;
    parent?.process.merges?.leave(contract.parent.step_idx);
    run.stir();
  }

  /** Its end was not accepted: it has not ended, and no caller was given its result. */
  reopen(): void {
    const { id, run } = this.#live;
    this.isEnding = false;
    this.closing = null;
    this.result = null;
    if (this.#before !== null) this.#live.adopt(this.#before);
    this.#before = null;
    run.delivered.delete(id);
    if (run.root === this.#live) run.finished = false;
  }
}

const none: readonly LiveDelegation[] = Object.freeze([]);
const nothingYet: Promise<unknown> = Promise.resolve();

/** An event of one delegation, before it is written. */
export function event<Type extends keyof EventPayloads>(
  live: Pick<LiveDelegation, "id">,
  type: Type,
  payload: EventPayloads[Type],
): { readonly type: Type; readonly sub_agent_id: string; readonly payload: EventPayloads[Type] } {
  return { type, sub_agent_id: live.id, payload };
}

/** How a delegation rests, by its log; null: it does not. */
function suspensionIn(state: Delegation): Suspended | null {
  if (state.status === "running" && state.interruption !== null) {
    return new Suspended(state.interruption.cause, state.interruption.resumed);
  }
  const isPaused =
    (state.status === "running" && state.waitingOn.on === "paused") ||
    (state.status === "waiting_for_merge" && state.isPaused === true);
  if (!isPaused) return null;
  const suspension = new Suspended({ code: "paused" });
  suspension.isAtRest = true;
  return suspension;
}

export function findTool({ process, run }: LiveDelegation, name: string): Tool | undefined {
  return run.parts.toolbox.get(name) ?? process.tools.ofServers?.get(name);
}

/** The model that answers now: the contract's own, or the next of its fallbacks. */
export function modelOf({ contract, said }: LiveDelegation): string {
  return contract.model.fallbacks?.[said.modelsGivenUp - 1] ?? modelName(contract);
}

/** What the tokens of that model cost by its contract; undefined: no dollars that are known. */
export function priceOf(live: LiveDelegation): TokenPrice | undefined {
  return live.contract.model.prices?.[modelOf(live)];
}

/** How untrusted input reached it, by its log and its contract; null: none has. */
export function untrustedOf({ contract, said }: LiveDelegation): string | null {
  return untrustedIn(contract, said.evidence);
}

/** The number of its latest request to a model. */
export function requestsOf({ state }: LiveDelegation): number {
  return state.status === "running" ? state.requests : 0;
}

/** What the request under way may cost at most. */
export function heldBy({ state }: Pick<LiveDelegation, "state">): Held {
  const held = state.status === "running" ? state.reservation : null;
  if (held === null) return nothing;
  const amount = { tokens: held.tokens, cost: billionths(held.cost ?? 0) };
  return held.prompt === undefined ? amount : { ...amount, prompt: held.prompt };
}

/** What it handed in, once the log has it. */
export function outputOf({ state }: Pick<LiveDelegation, "state">): OutputEnding | null {
  if (state.status !== "waiting_for_merge") return null;
  const { reason, text, truncated } = state.output;
  return { kind: "output", text, truncated, reason };
}

function hasOthersAtWork(live: LiveDelegation): boolean {
  const { asksOpen, children } = live.process;
  if (asksOpen > 0 || children.some(({ process }) => process.end.result === null)) return true;
  return [...live.said.openCalls.values()].some(({ tool }) => findTool(live, tool)?.waits === true);
}

/** This process has begun its work and has not left it. The agent of another program is not ours. */
export function isAtWork({ contract, isParked, process }: LiveDelegation): boolean {
  return process.time.beganAt !== 0 && contract.model.provider !== externalProvider && !isParked;
}

/** For a child that is no step of a plan: its place in the run, after all other children. */
export function nextIndex({ process, run }: LiveDelegation): number {
  const index = Math.max(run.steps, process.nextStep);
  run.steps = index + 1;
  process.nextStep = index + 1;
  return index;
}

/** Its children that have not closed. */
export function openChildren({ process }: LiveDelegation): readonly LiveDelegation[] {
  return process.children.filter((child) => child.process.end.result === null);
}

/** Its work is done, and no deadline is about what follows. */
export function endTime({ process }: LiveDelegation): void {
  process.time.end();
  process.time.giveSlot();
}

export function isWatcher({ contract }: Pick<LiveDelegation, "contract">): boolean {
  return contract.profile.capability === "watcher";
}
