import type { EventPayloads, NewEvent, StoredEvent } from "../events/event.ts";
import type { RunState } from "../events/run-state.ts";
import type { AskOutcome } from "../ports/delegator.ts";
import type { Append, Ownership } from "../ports/store.ts";
import type { Agent } from "./agent.ts";
import type { EngineParts } from "./engine-parts.ts";
import { SharedAccount } from "./spread/shared-account.ts";
import type { RunGrant } from "./start/run-grant.ts";
import { Account } from "./turns/ledger.ts";

/** A run that this process works on. */
export class LiveRun {
  readonly id: string;
  readonly task: string;
  readonly workspace: string | null;
  readonly parts: EngineParts;
  readonly ownership: Ownership;
  readonly account: Account;
  readonly grant: RunGrant;
  readonly readOnly: boolean;
  /**
   * A person approves every change before it reaches the workspace. Known where the run begins:
   * from then on it is in the contracts.
   */
  readonly isReviewed: boolean;
  /** Its delegations are worked on by whoever has room for them; this process knows some of them. */
  readonly isSpread: boolean;
  /** Of a spread run: the delegation that this process works on. The others are known by their log. */
  here: Agent | null = null;
  /** Of a spread run: what the log says of it now. */
  state: RunState | null = null;
  /** Of a spread run: when this process has nothing more to do for the delegation that it works on. */
  readonly left: PromiseWithResolvers<void> = Promise.withResolvers();
  readonly agents = new Map<string, Agent>();
  /** Results that have reached the agent that was waiting for them. */
  readonly delivered = new Set<string>();
  /** Children whose own call waits for them: no others need to. */
  readonly joining = new Set<string>();
  /** Children by the call that made them: those of plans, and all when a run is taken up again. */
  readonly byCall = new Map<string, Agent>();
  /** Questions that agents of this run wait to have answered. */
  readonly asks = new Map<string, (outcome: AskOutcome) => void>();
  /** The plans of its orchestrators, in the order in which they were made. */
  readonly plans: EventPayloads["run.planned"][] = [];
  /** Agents that a person, or an agent of another program, delegated to. */
  readonly topLevel: Agent[] = [];
  /** Whose ends could not be written: by the log they are open, and nobody works on them. */
  readonly abandoned: Agent[] = [];
  root: Agent | null = null;
  steps = 0;
  /** Delegations that are being made and have no row yet. */
  starting = 0;
  finished = false;
  /** Its root waits until other goals have ended. */
  isHeld = false;
  /** Another process owns it now: nothing may be written any more. */
  lost = false;
  /** Of one whose caller stopped: until those who go on have ended. */
  settling: Promise<void> | null = null;
  /** What all of it together may spend. */
  readonly tokens: number;
  readonly #stirring: (() => void)[] = [];
  readonly #awaitingFunds: (() => void)[] = [];

  constructor(parts: EngineParts, run: RunIdentity) {
    this.parts = parts;
    this.id = run.id;
    this.task = run.task;
    this.workspace = run.workspace;
    this.ownership = run.ownership;
    this.grant = run.grant;
    this.readOnly = run.readOnly;
    this.isReviewed = run.isReviewed === true;
    this.tokens = run.tokens;
    this.isSpread = run.isSpread === true;
    this.account = this.isSpread ? new SharedAccount(this, null) : new Account(null, run.tokens);
  }

  /** How many delegations it has, wherever they are worked on. */
  get size(): number {
    return Math.max(this.agents.size, this.state?.delegations.size ?? 0) + this.starting;
  }

  /** Of a spread run: when somebody's request was settled, wherever that was. */
  released(): Promise<void> {
    return new Promise((resolve) => this.#awaitingFunds.push(resolve));
  }

  release(): void {
    // Every branch is told of every settlement, and few wait for one.
    if (this.#awaitingFunds.length === 0) return;
    for (const resume of this.#awaitingFunds.splice(0)) resume();
  }

  /** When an agent of it has closed, has handed in what it made, or has come to rest. */
  stirred(): Promise<void> {
    return new Promise((resolve) => this.#stirring.push(resolve));
  }

  stir(): void {
    if (this.#stirring.length > 0) for (const resume of this.#stirring.splice(0)) resume();
  }

  /** A question was answered, or its time is over. */
  answered({ answer, ask_id: askId, by }: EventPayloads["agent.answered"]): void {
    const isAnswer = answer !== null && by !== "expired";
    this.asks.get(askId)?.(isAnswer ? { answered: true, answer, by } : { answered: false });
  }

  /** Another process works on it now: what is in memory here no longer means anything. */
  giveUp(): void {
    this.lost = true;
    for (const agent of this.agents.values()) {
      if (agent.isEnding) continue;
      agent.isEnding = true;
      agent.stop("worker_lost", "Another process works on it now.");
    }
    this.stir();
  }

  append(
    events: readonly NewEvent[],
    extra?: Pick<Append, "contracts">,
  ): Promise<readonly StoredEvent[]> {
    return this.parts.store.append({ runId: this.id, by: this.ownership, events, ...extra });
  }
}

export interface RunIdentity {
  readonly id: string;
  readonly task: string;
  readonly workspace: string | null;
  readonly tokens: number;
  readonly ownership: Ownership;
  readonly grant: RunGrant;
  readonly readOnly: boolean;
  readonly isReviewed?: boolean;
  readonly isSpread?: boolean;
}
