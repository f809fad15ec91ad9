import type { Contract } from "../contracts/contract.ts";
import { openAskOf } from "../events/delegation.ts";
import type { EventPayloads, NewEvent, StoredEvent } from "../events/event.ts";
import type { AskOutcome } from "../ports/delegator.ts";
import type { Append, Ownership } from "../ports/store.ts";
import type { Budget } from "./budget.ts";
import { outcomeOf } from "./conversation.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { Execution } from "./execution.ts";
import type { LiveDelegation } from "./live-delegation.ts";
import type { RunGrant } from "./start/run-grant.ts";

/** A run that this process works on. */
export class LiveRun {
  readonly id: string;
  readonly task: string;
  readonly workspace: string | null;
  readonly parts: EngineParts;
  readonly ownership: Ownership;
  readonly budget: Budget;
  readonly grant: RunGrant;
  readonly readOnly: boolean;
  /**
   * A person approves every change before it reaches the workspace. Known where the run begins:
   * from then on it is in the contracts.
   */
  readonly isReviewed: boolean;
  readonly execution: Execution;
  readonly agents = new Map<string, LiveDelegation>();
  /** Results that have reached the agent that was waiting for them. */
  readonly delivered = new Set<string>();
  /** Children whose own call waits for them: no others need to. */
  readonly joining = new Set<string>();
  /** Children by the call that made them: those of plans, and all when a run is taken up again. */
  readonly byCall = new Map<string, LiveDelegation>();
  /** What watchers have remarked, by watcher. */
  readonly remarks = new Map<string, { readonly count: number; readonly last: string }>();
  /** Questions that agents of this run wait to have answered. */
  readonly asks = new Map<string, (outcome: AskOutcome) => void>();
  /** The plans of its orchestrators, in the order in which they were made. */
  readonly plans: EventPayloads["run.planned"][] = [];
  /** Agents that a person, or an agent of another program, delegated to. */
  readonly topLevel: LiveDelegation[] = [];
  /** Whose ends could not be written: by the log they are open, and nobody works on them. */
  readonly abandoned: LiveDelegation[] = [];
  root: LiveDelegation | null = null;
  /** The index of the next delegation that is no step of a plan: the root has the first. */
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
    this.execution = run.execute(this);
    this.budget = this.execution.budget(null, null, run.tokens, null);
  }

  /** How many delegations it has, wherever they are worked on. */
  get size(): number {
    return Math.max(this.agents.size, this.execution.log?.delegations.size ?? 0) + this.starting;
  }

  /** When a request was settled, wherever that was. */
  released(): Promise<void> {
    return new Promise((resolve) => this.#awaitingFunds.push(resolve));
  }

  release(): void {
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
  answered(event: StoredEvent<"agent.answered">): void {
    const { answer, ask_id: askId, by } = event.payload;
    const agent = this.agents.get(event.sub_agent_id ?? "");
    if (agent !== undefined && openAskOf(agent.state)?.id === askId) agent.follow([event]);
    this.asks.get(askId)?.(outcomeOf(answer, by));
  }

  /** What a run as a whole remembers of its events. */
  note(event: NewEvent): void {
    if (event.type === "agent.tool_completed") {
      for (const id of event.payload.delivered ?? none) this.delivered.add(id);
    } else if (event.type === "run.planned") this.plans.push(event.payload);
    else if (event.type === "agent.interjected") this.#noteRemark(event.payload);
  }

  #noteRemark({ from, message }: EventPayloads["agent.interjected"]): void {
    if (!from.startsWith("watcher:")) return;
    const id = from.slice("watcher:".length);
    this.remarks.set(id, { count: (this.remarks.get(id)?.count ?? 0) + 1, last: message });
  }

  /** The budget of a delegation, below its caller's. What the root may cost is for the whole run. */
  budgetFor(caller: LiveDelegation | null, id: string, { budget, parent }: Contract): Budget {
    const above = caller?.budget ?? this.budget;
    const own = this.execution.budget(id, above, budget.tokens, budget.cost);
    if (parent.sub_agent_id === null && parent.watches === undefined) this.budget.cost = own.cost;
    return own;
  }

  /** Makes a delegation known to its run. */
  enlist(agent: LiveDelegation): void {
    this.agents.set(agent.id, agent);
    if (agent.parent === null) this.topLevel.push(agent);
    else agent.parent.process.addChild(agent);
  }

  /** It was refused when it was written: there is no such delegation. */
  delist({ id, parent }: LiveDelegation): void {
    this.agents.delete(id);
    this.joining.delete(id);
    if (parent === null) return;
    parent.process.children = parent.process.children.filter((child) => child.id !== id);
  }

  /** Another process works on it now: what is in memory here no longer means anything. */
  giveUp(): void {
    this.lost = true;
    for (const agent of this.agents.values()) {
      if (agent.process.end.isEnding) continue;
      agent.process.end.isEnding = true;
      agent.stop({ code: "owned_elsewhere" });
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

const none: readonly string[] = Object.freeze([]);

export interface RunIdentity {
  readonly id: string;
  readonly task: string;
  readonly workspace: string | null;
  readonly tokens: number;
  readonly ownership: Ownership;
  readonly grant: RunGrant;
  readonly readOnly: boolean;
  readonly isReviewed?: boolean;
  /** How its delegations are executed. */
  readonly execute: (run: LiveRun) => Execution;
}
