import { type Contract, externalProvider, modelName } from "../contracts/contract.ts";
import type { TokenPrice } from "../contracts/token-price.ts";
import type { Delegation, OpenAsk, Reservation } from "../events/delegation.ts";
import type { EventPayloads, NewEvent } from "../events/event.ts";
import { apply, askOf } from "../events/lifecycle.ts";
import { Evidence } from "../events/seal.ts";
import type { AskOutcome } from "../ports/delegator.ts";
import { billionths } from "../ports/dollars.ts";
import { Transcript } from "../sessions/transcript.ts";
import { untrustedIn } from "../tools/exposure-of.ts";
import type { WorkspaceBinding } from "../workspaces/bind-workspace.ts";
import type { WorkingCopy } from "../workspaces/git/copies/working-copy.ts";
import { type Budget, type Held, nothing } from "./budget.ts";
import { DelegationProcess, Interruptible } from "./delegation-process.ts";
import { type OutputEnding, Stopped, Suspended } from "./ends/ending.ts";
import type { LiveRun } from "./live-run.ts";

type LiveIdentity = Pick<
  LiveDelegation,
  "budget" | "contract" | "copy" | "id" | "parent" | "run" | "system" | "workspace"
>;

/**
 * A delegation that this process works on. `state` and `said` are what its events say, and only
 * events change them; `process` holds what cannot be stored: a slot, timers, waiters. Losing the
 * object loses nothing.
 */
export class LiveDelegation {
  readonly id: string;
  readonly run: LiveRun;
  /** Only a replay replaces it, with the parent that another worker took over. */
  parent: LiveDelegation | null;
  readonly contract: Contract;
  readonly system: string;
  readonly budget: Budget;
  readonly workspace: WorkspaceBinding | null;
  /** The delegation's copy of its caller's folder; null: it works in that folder, or in none. */
  readonly copy: WorkingCopy | null;
  readonly process: DelegationProcess;
  readonly work: Interruptible;
  #state: Delegation;
  #said: Conversation;

  constructor(identity: LiveIdentity, state: Delegation, said: Conversation) {
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
    this.budget.follow(state);
    this.process = new DelegationProcess(this);
    this.work = new Interruptible(this, suspensionIn(state));
    this.process.time.consider();
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
    if (end.isEnding) throw this.work.stopReason ?? new Stopped({ code: "already_closed" });
    if (this.work.isParked) throw this.work.interruption ?? new Stopped({ code: "paused" });
    appends.throwIfRefused();
    this.process.lastActivity = this.run.parts.clock.monotonic();
    this.follow(events);
    appends.add(this.run.append(events));
  }

  /** Events that are written, or are being written, become part of `state` and `said`. */
  follow(events: readonly NewEvent[]): void {
    const before = this.#state;
    const at = this.run.parts.clock.now();
    // Either all events are legal and applied, or none is.
    this.#state = events.reduce((state, event) => apply(state, { ...event, at }), before);
    for (const event of events) {
      this.#said.see(event);
      this.run.history.see(event);
    }
    this.#moved(before);
  }

  /** What it is by the log, or was before events that were not accepted. */
  adopt(state: Delegation, said = this.#said): void {
    const before = this.#state;
    this.#state = state;
    this.#said = said;
    this.#moved(before);
  }

  #moved(before: Delegation): void {
    this.process.time.consider();
    if (before === this.#state) return;
    this.budget.follow(this.#state);
    if (openRequestsOf(this).length < openRequestsOf({ state: before }).length) {
      this.run.funds.notify();
    }
  }
}

/** An event of one delegation, before it is written. */
export function event<Type extends keyof EventPayloads>(
  live: Pick<LiveDelegation, "id">,
  type: Type,
  payload: EventPayloads[Type],
): { readonly type: Type; readonly sub_agent_id: string; readonly payload: EventPayloads[Type] } {
  return { type, sub_agent_id: live.id, payload };
}

/** How a delegation rests, by its log; null: it does not. */
export function suspensionIn(state: Delegation): Suspended | null {
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

/** The requests under way; several only where another program makes them. */
export function openRequestsOf({ state }: Pick<LiveDelegation, "state">): readonly Reservation[] {
  return state.status === "running" ? state.reservations : noRequests;
}

const noRequests: readonly Reservation[] = Object.freeze([]);

/** What the request of that number, or the latest one, may cost at most while it is under way. */
export function heldBy(live: LiveDelegation, request = requestsOf(live)): Held {
  const held = openRequestsOf(live).find((one) => one.request === request);
  if (held === undefined) return nothing;
  const amount = { tokens: held.tokens, cost: billionths(held.cost ?? 0) };
  return held.prompt === undefined ? amount : { ...amount, prompt: held.prompt };
}

/** What it handed in, once the log has it. */
export function outputOf({ state }: Pick<LiveDelegation, "state">): OutputEnding | null {
  if (state.status !== "waiting_for_merge") return null;
  const { reason, text, truncated } = state.output;
  return { kind: "output", text, truncated, reason };
}

/** Whether this process does the work of the delegation now. Agents of other programs never count. */
export function isAtWork({ contract, process, work }: LiveDelegation): boolean {
  return (
    process.time.beganAt !== 0 && contract.model.provider !== externalProvider && !work.isParked
  );
}

/** For a child that is no step of a plan: its place in the run, after all other children. */
export function nextIndex({ process, run }: LiveDelegation): number {
  const index = Math.max(run.delegations.nextStep, process.nextStep);
  run.delegations.nextStep = index + 1;
  process.nextStep = index + 1;
  return index;
}

/** The children that have not closed. */
export function openChildren({ process }: LiveDelegation): readonly LiveDelegation[] {
  return process.children.filter((child) => child.process.end.result === null);
}

/** Ends the count of time: the work is done, and no deadline is about what follows. */
export function endTime({ process }: LiveDelegation): void {
  process.time.end();
  process.time.giveSlot();
}

/** Whether the output is submitted here, and the worker of the caller integrates it. */
export function isForCaller(live: LiveDelegation): boolean {
  return live.parent !== null && live === live.run.execution.here;
}

export function isWatcher({ contract }: Pick<LiveDelegation, "contract">): boolean {
  return contract.profile.capability === "watcher";
}

/** Calls that have begun and have no outcome, by their ids. */
export type OpenCalls = ReadonlyMap<string, EventPayloads["agent.tool_started"]>;

export type MutableCalls = Map<string, EventPayloads["agent.tool_started"]>;

export function followCalls(calls: MutableCalls, { payload, type }: NewEvent): void {
  if (type === "agent.tool_started") calls.set(payload.call_id, payload);
  else if (
    type === "agent.tool_completed" ||
    type === "agent.tool_failed" ||
    type === "agent.tool_outcome_unknown"
  ) {
    calls.delete(payload.call_id);
  }
}

/**
 * What an agent was told, said and did, as the events of its delegation tell it. Live work and
 * recovery use the same fold, and nothing else writes to it.
 */
export class Conversation {
  readonly transcript: Transcript;
  readonly evidence = new Evidence();
  /** Why no call begins until the next request: a watcher's critical remark. */
  halt: string | null = null;
  /** The last question to a person was not answered in time. */
  isUnattended = false;
  /** The last event that a watcher was shown. */
  watchedUpTo = 0;
  /** How many of the models that it may run on were unavailable. */
  modelsGivenUp = 0;
  /** The session of the agent program in this attempt; null: none yet. */
  session: string | null = null;
  /** How many calls of our tools its agent program has made. */
  callsMade = 0;
  #openCalls: MutableCalls | null = null;
  #answers: Map<string, AskOutcome> | null = null;
  #openAsk: OpenAsk | null = null;

  constructor(opening: ConstructorParameters<typeof Transcript>[0]) {
    this.transcript = new Transcript(opening);
  }

  see(event: NewEvent): void {
    switch (event.type) {
      case "agent.tool_started":
        this.#openCalls ??= new Map();
        break;
      case "agent.program_called":
        this.callsMade++;
        break;
      case "agent.subagent_attempt":
        this.session = null;
        break;
      case "agent.program_started":
        this.session = event.payload.session;
        break;
      case "agent.asked":
        this.#openAsk = askOf(event.payload);
        break;
      case "agent.answered":
        this.#answered(event.payload);
        break;
      case "agent.budget_reserved":
        this.halt = null;
        break;
      case "agent.retried":
        if (event.payload.what === "model") this.modelsGivenUp++;
        break;
      case "agent.interjected":
        if (isCritical(event.payload)) this.halt = event.payload.message;
        this.watchedUpTo = Math.max(this.watchedUpTo, event.payload.up_to ?? 0);
        break;
      default:
    }
    if (this.#openCalls !== null) {
      followCalls(this.#openCalls, event);
      if (this.#openCalls.size === 0) this.#openCalls = null;
    }
    this.transcript.apply(event);
    this.evidence.see(event);
  }

  /** Calls that have begun and have no outcome, by their ids. */
  get openCalls(): OpenCalls {
    return this.#openCalls ?? noCalls;
  }

  /** The answer to a question that was asked before, by its key: see `askKey`. */
  answerTo(key: string): AskOutcome | undefined {
    return this.#answers?.get(key);
  }

  #answered({ answer, ask_id: id, by }: EventPayloads["agent.answered"]): void {
    this.isUnattended = by === "expired";
    if (this.#openAsk?.id !== id) return;
    this.#answers ??= new Map();
    this.#answers.set(askKey(this.#openAsk), outcomeOf(answer, by));
    this.#openAsk = null;
  }
}

const noCalls: OpenCalls = new Map();

/** A watcher's critical remark stops calls until the agent has read it. */
function isCritical({ from, severity }: EventPayloads["agent.interjected"]): boolean {
  return severity === "critical" && from.startsWith("watcher:");
}

export function outcomeOf(
  answer: string | null,
  by: EventPayloads["agent.answered"]["by"],
): AskOutcome {
  return answer === null || by === "expired" ? { answered: false } : { answered: true, answer, by };
}

/**
 * One call can be asked about twice: whether it may be made, and what it asks itself. After a crash
 * the same call is repeated; another question under its id is another question, and one that is
 * only worded differently is not.
 */
export function askKey({
  about,
  callId,
  kind,
  question,
}: Pick<OpenAsk, "about" | "callId" | "kind" | "question">): string {
  // The model chooses the id: no id of one kind may read like one of the other.
  return JSON.stringify([kind ?? "", callId, about ?? question]);
}
