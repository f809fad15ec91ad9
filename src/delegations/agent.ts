import { type Contract, externalProvider, modelName } from "../contracts/contract.ts";
import type { CloseReason } from "../events/close-reason.ts";
import type { OpenAsk } from "../events/delegation.ts";
import type { NewEvent, TokenUsage } from "../events/event.ts";
import { Evidence } from "../events/evidence.ts";
import type { AskOutcome, DelegationResult } from "../ports/delegator.ts";
import type { Transcript } from "../sessions/transcript.ts";
import type { Tool } from "../tools/tool.ts";
import type { OfferedTools } from "../tools/toolbox.ts";
import type { WorkingCopy } from "../workspaces/git/working-copy.ts";
import type { WorkspaceBinding } from "../workspaces/workspace-binding.ts";
import { type OutputEnding, Stopped, Suspended } from "./ending.ts";
import type { Account } from "./ledger.ts";
import type { LiveRun } from "./live-run.ts";
import type { MergeOrder } from "./merge-order.ts";

export interface AgentIdentity {
  readonly id: string;
  readonly run: LiveRun;
  readonly parent: Agent | null;
  readonly contract: Contract;
  readonly contractHash: string;
  readonly system: string;
  readonly account: Account;
  readonly transcript: Transcript;
  readonly workspace: WorkspaceBinding | null;
  /** Its own copy of its caller's folder; null: it works in that folder, or in none. */
  readonly copy: WorkingCopy | null;
  readonly createdAt: number;
}

/**
 * A delegation that this process works on: what its log says so far, plus what only a living
 * process has (a slot, timers, people waiting for it). Losing the object loses nothing.
 */
export class Agent {
  readonly id: string;
  readonly run: LiveRun;
  readonly parent: Agent | null;
  readonly contract: Contract;
  readonly contractHash: string;
  readonly system: string;
  readonly account: Account;
  readonly workspace: WorkspaceBinding | null;
  readonly copy: WorkingCopy | null;
  transcript: Transcript;
  evidence = new Evidence();
  status: "created" | "running" | "waiting_for_merge" | "closed" = "created";
  readonly createdAt: number;
  attempt = 0;
  requests = 0;
  reservation = 0;
  /** The bound on the prompt of the request under way. */
  promptBound = 0;
  /** How often it had to start from its log again because others wrote. */
  reconciliations = 0;
  turns = 0;
  hasSlot = false;
  /** Time it had used before this process took it up. */
  usedMs = 0;
  beganAt = 0;
  lastActivity = 0;
  usage: TokenUsage = noUsage;
  /** Calls that have begun and have no result, by id; null when there are none. */
  openCalls: Map<string, string> | null = null;
  /** In spawn order; null until it has some. */
  children: Agent[] | null = null;
  /** Children that are being made at this moment; null until it has some. */
  making: Set<Promise<unknown>> | null = null;
  /** In which order its children's work is taken over; null until it has some. */
  merges: MergeOrder | null = null;
  /** What it made is being taken over at this moment, and cannot be stopped half-way. */
  merging: PromiseWithResolvers<void> | null = null;
  result: DelegationResult | null = null;
  stopReason: Stopped | null = null;
  /** What ended the attempt that is under way, though another one may follow. */
  cut: Stopped | null = null;
  /** How long the present attempt was at work before it last got its slot. */
  attemptMs = 0;
  /** Questions of its own that wait for an answer. */
  asksOpen = 0;
  timer: NodeJS.Timeout | undefined;
  /** The request under way: says how long it may still be silent, and ends itself when that is over. */
  watched: { check(): number } | null = null;
  /** Its changes are in its caller's folder, and the log could not say so. */
  wasMerged = false;
  /** What it made, once the log has it. */
  output: OutputEnding | null = null;
  /** Its closing events are written; nothing else will be. */
  isEnding = false;
  closing: Promise<unknown> | null = null;
  /** A question that was open, or answered, when a crash cut the call that asked it. */
  openAsk: OpenAsk | null = null;
  answers: Map<string, { readonly question: string; readonly outcome: AskOutcome }> | null = null;
  /** One question at a time: a person cannot answer two at once. */
  asking: Promise<unknown> = nothingYet;
  /** The last time that it asked a person, nobody was there. */
  isUnattended = false;
  /** What its model is shown; the same list every turn but the last. */
  offered: OfferedTools | null = null;
  /** The tools of its MCP servers, by name; null until they were asked. */
  serverTools: ReadonlyMap<string, Tool> | null = null;
  /** It may have left something running that has to end before it does. */
  holdsProcesses = false;
  /** Of a watcher: the last event that it was shown, and how often it spoke. */
  watchedUpTo = 0;
  remarks = 0;
  lastRemark = "";
  /** A watcher's critical remark: no call begins until the agent has read it. */
  halt: string | null = null;
  /** How many of the models that it may run on could not be had. */
  modelsGivenUp = 0;
  #systemBytes = 0;
  #atWorkSince = 0;
  /** How many appends there were that it depends on. */
  appends = 0;
  #refused: unknown = null;
  #unsettled: Promise<unknown>[] = [];
  #settling: Promise<unknown> | null = null;
  #interrupts: Set<(reason: Stopped) => void> | null = null;
  #closedWaiters: ((result: DelegationResult) => void)[] | null = null;
  /** Asked just before it closes: what the waiting parent wants written in the same transaction. */
  deliver: ((result: DelegationResult) => readonly NewEvent[]) | null = null;

  constructor(identity: AgentIdentity) {
    this.id = identity.id;
    this.run = identity.run;
    this.parent = identity.parent;
    this.contract = identity.contract;
    this.contractHash = identity.contractHash;
    this.system = identity.system;
    this.account = identity.account;
    this.transcript = identity.transcript;
    this.workspace = identity.workspace;
    this.copy = identity.copy;
    this.createdAt = identity.createdAt;
  }

  findTool(name: string): Tool | undefined {
    return this.run.parts.toolbox.get(name) ?? this.serverTools?.get(name);
  }

  /** The model that answers now: the contract's own, or the next of its fallbacks. */
  get model(): string {
    const { fallbacks } = this.contract.model;
    return fallbacks?.[this.modelsGivenUp - 1] ?? modelName(this.contract);
  }

  /** By what a stranger's words came to it, as its log and its contract tell; null: by nothing. */
  get untrusted(): string | null {
    return untrustedIn(this.contract, this.evidence);
  }

  get depth(): number {
    return this.contract.parent.depth;
  }

  get systemBytes(): number {
    if (this.#systemBytes === 0) this.#systemBytes = Buffer.byteLength(this.system);
    return this.#systemBytes;
  }

  /** Milliseconds of its total deadline that are left, by a clock that cannot jump. */
  timeLeft(): number {
    const { total } = this.contract.deadlines;
    if (this.beganAt === 0) return total - this.usedMs;
    return total - this.usedMs - (this.run.parts.clock.monotonic() - this.beganAt);
  }

  /** Its work begins, or goes on after a crash: from here its total deadline runs. */
  begin(): void {
    this.beganAt = this.run.parts.clock.monotonic();
    if (this.hasSlot) this.#atWorkSince = this.beganAt;
    // It may begin again from its log: of two timers one would outlive its end.
    clearTimeout(this.timer);
    this.#watch();
  }

  /** Milliseconds of its attempt that are left. Waiting for children, people or a slot uses none. */
  #attemptLeft(): number {
    const { attempt_timeout_ms: most } = this.contract.execution;
    const since = this.#atWorkSince;
    return most - this.attemptMs - (since === 0 ? 0 : this.run.parts.clock.monotonic() - since);
  }

  /** The next attempt begins, with all of its time before it. */
  nextAttempt(): void {
    this.attempt++;
    this.cut = null;
    this.attemptMs = 0;
    if (this.#atWorkSince !== 0) this.#atWorkSince = this.run.parts.clock.monotonic();
    clearTimeout(this.timer);
    this.#watch();
  }

  /**
   * One timer looks after the deadlines of the whole, of the attempt and of the request under way.
   * It may go off too early, never too late: no request's deadline is nearer than this when the
   * request begins.
   */
  #watch(): void {
    const { first_token: firstToken, stall, total } = this.contract.deadlines;
    const left = this.timeLeft();
    if (left <= 0) {
      this.stop("timeout", `It took longer than ${total} ms.`);
      return;
    }
    const attemptLeft = this.#atWorkSince === 0 ? left : this.#attemptLeft();
    if (attemptLeft <= 0) {
      this.#endAttempt();
      return;
    }
    const request = this.watched?.check() ?? Math.min(firstToken, stall);
    const next = Math.min(left, attemptLeft, request);
    this.timer = setTimeout(() => this.#watch(), Math.min(Math.max(next, 1), longestTimer));
  }

  /** The time of its attempt is over: another one follows, unless others still work for this one. */
  #endAttempt(): void {
    const { attempt_timeout_ms: most, max_retries: retries } = this.contract.execution;
    const message = `An attempt took longer than ${most} ms.`;
    if (this.attempt > retries || this.#hasOthersAtWork()) this.stop("timeout", message);
    else this.cutAttempt(message);
  }

  #hasOthersAtWork(): boolean {
    if (this.asksOpen > 0 || this.children?.some(({ result }) => result === null)) return true;
    return [...(this.openCalls?.values() ?? [])].some(
      (name) => this.findTool(name)?.waits === true,
    );
  }

  /** Ends what the attempt is doing, at the next moment it waits for anything. */
  cutAttempt(message: string): void {
    if (this.interruption !== null || this.status === "closed") return;
    this.cut = new Stopped("timeout", message);
    this.#interrupt(this.cut);
  }

  /** Has it rest at the next moment it waits for anything. It can still be stopped. */
  suspend(reason: Suspended): void {
    if (this.stopReason !== null || this.status === "closed") return;
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

  /** Its work was begun here, and has not been left yet. Of a session's agent we have none. */
  get isAtWork(): boolean {
    const isOurs = this.contract.model.provider !== externalProvider;
    return this.beganAt !== 0 && isOurs && !this.isParked;
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

  #gotSlot(): void {
    this.hasSlot = true;
    this.#atWorkSince = this.run.parts.clock.monotonic();
    // While it waited, nobody looked after the time of its attempt.
    if (this.timer !== undefined && !this.isEnding) {
      clearTimeout(this.timer);
      this.#watch();
    }
  }

  giveSlot(): void {
    if (!this.hasSlot) return;
    this.hasSlot = false;
    if (this.#atWorkSince !== 0) {
      this.attemptMs += this.run.parts.clock.monotonic() - this.#atWorkSince;
      this.#atWorkSince = 0;
    }
    this.run.parts.scheduler.leave();
  }

  /** Undefined when it has a slot again at once. */
  takeSlot(): Promise<void> | undefined {
    // A watcher works without one: it must not take from those whom it watches.
    if (this.hasSlot || this.contract.profile.capability === "watcher") return undefined;
    const waiting = this.run.parts.scheduler.comeBack();
    if (waiting === undefined) {
      this.#gotSlot();
      return undefined;
    }
    return waiting.then(() => {
      this.#gotSlot();
      // It was stopped while it queued: the slot goes to the next one.
      if (this.status === "closed" || this.isParked) this.giveSlot();
    });
  }

  async sleep(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    try {
      await this.interruptible(
        new Promise<void>((resolve) => {
          timer = setTimeout(resolve, ms);
        }),
      );
    } finally {
      clearTimeout(timer);
    }
  }

  /** Writes events of this delegation. What must not run ahead of the disk awaits `durable`. */
  record(...events: readonly NewEvent[]): void {
    if (this.isEnding) throw this.stopReason ?? new Stopped("cancelled", "It has ended.");
    if (this.isParked) throw this.interruption ?? new Stopped("cancelled", "It rests.");
    // What follows from an append that was not accepted must not be accepted either.
    if (this.#refused !== null) throw this.#refused;
    this.lastActivity = this.run.parts.clock.monotonic();
    for (const event of events) this.see(event);
    this.willSettle(this.run.append(events));
  }

  /** What happened becomes part of its conversation, and of what it can show for itself. */
  see(event: NewEvent): void {
    // The same after a crash: what stops its calls stands in its log, and so does its next request.
    if (isCritical(event)) this.halt = event.payload.message;
    else if (event.type === "agent.budget_reserved") this.halt = null;
    else if (event.type === "agent.answered") this.isUnattended = event.payload.by === "expired";
    this.transcript.apply(event);
    this.evidence.see(event);
  }

  callBegan(callId: string, tool: string): void {
    this.openCalls ??= new Map();
    this.openCalls.set(callId, tool);
  }

  callEnded(callId: string): void {
    this.openCalls?.delete(callId);
    if (this.openCalls?.size === 0) this.openCalls = null;
  }

  /** Its work is done, and no deadline is about what follows. */
  rest(): void {
    clearTimeout(this.timer);
    this.giveSlot();
  }

  /** An append that this agent depends on, though another may have made it. */
  willSettle(append: Promise<unknown>): void {
    this.appends++;
    // Nearly always one: a list that is made for it holds no room for more.
    if (this.#unsettled.length === 0) this.#unsettled = [append];
    else this.#unsettled.push(append);
    append.catch(this.breakOff);
  }

  /** Nothing that concerns it is on its way any more, accepted or not. */
  async quiet(): Promise<void> {
    await Promise.allSettled([...this.#unsettled, this.#settling]);
  }

  /** Everything recorded so far is on disk; throws when some of it was refused. */
  async durable(): Promise<void> {
    const unsettled = this.#unsettled;
    // Whoever comes while another waits waits for the same.
    if (unsettled.length === 0) {
      await this.#settling;
      return;
    }
    this.#unsettled = [];
    const [only = nothingYet] = unsettled;
    const settling = unsettled.length === 1 ? only : Promise.all(unsettled);
    this.#settling = settling;
    await settling;
    if (this.#settling === settling) this.#settling = null;
  }

  /** Ends its work at the next moment it waits for anything. The first reason counts. */
  stop(code: CloseReason, message: string): void {
    if (this.stopReason !== null || this.status === "closed") return;
    this.stopReason = new Stopped(code, message);
    this.#interrupt(this.stopReason);
  }

  #interrupt(reason: Stopped): void {
    const interrupts = this.#interrupts;
    this.#interrupts = null;
    for (const interrupt of interrupts ?? []) interrupt(reason);
  }

  /** Waits for something outside, but not beyond being stopped. */
  interruptible<Value>(waiting: Promise<Value>): Promise<Value> {
    if (this.interruption !== null) return Promise.reject(this.interruption);
    this.#interrupts ??= new Set();
    const interrupts = this.#interrupts;
    return new Promise((resolve, reject) => {
      interrupts.add(reject);
      waiting.then(
        (value) => {
          interrupts.delete(reject);
          resolve(value);
        },
        (error: unknown) => {
          interrupts.delete(reject);
          reject(error);
        },
      );
    });
  }

  onStop(listener: (reason: Stopped) => void): () => void {
    if (this.interruption !== null) listener(this.interruption);
    this.#interrupts ??= new Set();
    const interrupts = this.#interrupts;
    interrupts.add(listener);
    return () => interrupts.delete(listener);
  }

  whenClosed(): Promise<DelegationResult> {
    if (this.result !== null) return Promise.resolve(this.result);
    return new Promise((resolve) => {
      if (this.#closedWaiters === null) this.#closedWaiters = [resolve];
      else this.#closedWaiters.push(resolve);
    });
  }

  closed(result: DelegationResult): void {
    if (this.result !== null) return;
    this.status = "closed";
    this.result = result;
    clearTimeout(this.timer);
    for (const resume of this.#closedWaiters ?? []) resume(result);
    this.#closedWaiters = null;
    this.#interrupts = null;
    this.deliver = null;
    this.parent?.merges?.leave(this.contract.parent.step_idx);
    this.run.stir();
  }

  /** Its end was not accepted: it has not ended, and nobody was given its result. */
  reopen(): void {
    this.isEnding = false;
    this.closing = null;
    this.result = null;
    this.status = this.output ? "waiting_for_merge" : "running";
    this.run.delivered.delete(this.id);
    if (this.run.root === this) this.run.finished = false;
  }

  /** It starts from its log again: what was refused is no longer part of it. */
  startOver(): void {
    this.#refused = null;
    this.#unsettled = [];
    this.#settling = null;
    if (this.cut instanceof Suspended) this.cut = null;
  }

  /** Nothing more that its work does is written. Its end is: that is written over its head. */
  readonly breakOff = (error: unknown): void => {
    this.#refused ??= error;
  };
}

/** By what a stranger's words came to the holder of a contract; null: by nothing yet. */
export function untrustedIn(
  { parent, permissions }: Contract,
  evidence: Pick<Evidence, "untrusted">,
): string | null {
  if (evidence.untrusted !== null) return evidence.untrusted;
  if (parent.carries?.includes("untrusted")) return "what it began with";
  // What servers say of their tools stands in every request.
  return permissions.allowed_tools.some((tool) => tool.startsWith("mcp__")) ? "mcp" : null;
}

/** A watcher's word that stops calls. */
function isCritical(event: NewEvent): event is NewEvent<"agent.interjected"> {
  if (event.type !== "agent.interjected" || event.payload.severity !== "critical") return false;
  return event.payload.from.startsWith("watcher:");
}

const noUsage: TokenUsage = Object.freeze({ prompt: 0, completion: 0, cost: 0 });
const nothingYet: Promise<unknown> = Promise.resolve();

/** What a timer can hold. */
const longestTimer = 2 ** 31 - 1;
