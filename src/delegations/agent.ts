import { type Contract, externalProvider, modelName } from "../contracts/contract.ts";
import type { TokenPrice } from "../contracts/token-price.ts";
import type { OpenAsk } from "../events/delegation.ts";
import type { NewEvent, TokenUsage } from "../events/event.ts";
import { Evidence } from "../events/evidence.ts";
import type { AskOutcome, DelegationResult } from "../ports/delegator.ts";
import type { Transcript } from "../sessions/transcript.ts";
import type { Tool } from "../tools/tool.ts";
import type { OfferedTools } from "../tools/toolbox.ts";
import type { WorkingCopy } from "../workspaces/git/copies/working-copy.ts";
import type { WorkspaceBinding } from "../workspaces/workspace-binding.ts";
import type { MergeOrder } from "./changes/merge-order.ts";
import { type OutputEnding, Stopped, Suspended } from "./ends/ending.ts";
import { Interruptible } from "./interruptible.ts";
import type { LiveRun } from "./live-run.ts";
import type { Estimate } from "./turns/correct-request.ts";
import { type Account, type Held, nothing } from "./turns/ledger.ts";
import { UnsettledAppends } from "./unsettled-appends.ts";
import { WorkingTime } from "./working-time.ts";

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
export class Agent extends Interruptible {
  readonly id: string;
  readonly run: LiveRun;
  readonly parent: Agent | null;
  readonly contract: Contract;
  readonly contractHash: string;
  readonly system: string;
  readonly account: Account;
  readonly workspace: WorkspaceBinding | null;
  readonly copy: WorkingCopy | null;
  readonly time = new WorkingTime(this);
  /** The appends that it depends on. */
  readonly appends = new UnsettledAppends();
  transcript: Transcript;
  evidence = new Evidence();
  status: "created" | "running" | "waiting_for_merge" | "closed" = "created";
  readonly createdAt: number;
  attempt = 0;
  requests = 0;
  /** What the request under way may cost at most. */
  reservation: Held = nothing;
  /** Bytes of its answer that have arrived; null: another process had sent it. */
  received: number | null = 0;
  /** Requests that this process settled as estimates, by number: they can still be corrected. */
  readonly estimates = new Map<number, Estimate>();
  /** How many of its requests are settled as estimates. */
  estimated = 0;
  /** The bound on the prompt of the request under way. */
  promptBound = 0;
  /** How often it had to start from its log again because others wrote. */
  reconciliations = 0;
  turns = 0;
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
  /** Questions of its own that wait for an answer. */
  asksOpen = 0;
  /** Its changes are in its caller's folder, and the log could not say so. */
  wasMerged = false;
  /** What it made, once the log has it. */
  output: OutputEnding | null = null;
  /** Its closing events are written; nothing else will be. */
  isEnding = false;
  closing: Promise<unknown> | null = null;
  /** A question that was open, or answered, when a crash cut the call that asked it. */
  openAsk: OpenAsk | null = null;
  answers: Map<string, AskOutcome> | null = null;
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
  #closedWaiters: ((result: DelegationResult) => void)[] | null = null;
  /** Asked just before it closes: what the waiting parent wants written in the same transaction. */
  deliver: ((result: DelegationResult) => readonly NewEvent[]) | null = null;

  constructor(identity: AgentIdentity) {
    super();
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

  /** What the tokens of that model cost by its contract; undefined: no dollars that are known. */
  get price(): TokenPrice | undefined {
    return this.contract.model.prices?.[this.model];
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

  /** The next attempt begins, with all of its time before it. */
  nextAttempt(): void {
    this.attempt++;
    this.cut = null;
    this.time.nextAttempt();
  }

  /** The time of its attempt is over: another one follows, unless others still work for this one. */
  endAttempt(message: string): void {
    const isLast = this.attempt > this.contract.execution.max_retries;
    if (isLast || this.#hasOthersAtWork()) this.stop("timeout", message);
    else this.cutAttempt(message);
  }

  #hasOthersAtWork(): boolean {
    if (this.asksOpen > 0 || this.children?.some(({ result }) => result === null)) return true;
    return [...(this.openCalls?.values() ?? [])].some(
      (name) => this.findTool(name)?.waits === true,
    );
  }

  /** Its work was begun here, and has not been left yet. Of a session's agent we have none. */
  get isAtWork(): boolean {
    const isOurs = this.contract.model.provider !== externalProvider;
    return this.time.beganAt !== 0 && isOurs && !this.isParked;
  }

  /** Writes events of this delegation. What must not run ahead of the disk awaits that. */
  record(...events: readonly NewEvent[]): void {
    if (events.length === 0) return;
    if (this.isEnding) throw this.stopReason ?? new Stopped("cancelled", "It has ended.");
    if (this.isParked) throw this.interruption ?? new Stopped("cancelled", "It rests.");
    this.appends.throwIfRefused();
    this.lastActivity = this.run.parts.clock.monotonic();
    for (const event of events) this.see(event);
    this.appends.add(this.run.append(events));
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
    this.time.end();
    this.time.giveSlot();
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
    this.time.end();
    for (const resume of this.#closedWaiters ?? []) resume(result);
    this.#closedWaiters = null;
    this.forgetListeners();
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
    this.appends.startOver();
    if (this.cut instanceof Suspended) this.cut = null;
  }
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
