import type { EventPayloads, NewEvent, StoredEvent } from "../events/event.ts";
import type { AskOutcome } from "../ports/delegator.ts";
import type { Append, Ownership } from "../ports/store.ts";
import type { Agent } from "./agent.ts";
import type { EngineParts } from "./engine-parts.ts";
import { Account } from "./ledger.ts";
import type { RunGrant } from "./run-grant.ts";

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
  readonly #stirring: (() => void)[] = [];

  constructor(parts: EngineParts, run: RunIdentity) {
    this.parts = parts;
    this.id = run.id;
    this.task = run.task;
    this.workspace = run.workspace;
    this.ownership = run.ownership;
    this.grant = run.grant;
    this.readOnly = run.readOnly;
    this.account = new Account(null, run.tokens);
  }

  /** When an agent of it has closed, has handed in what it made, or has come to rest. */
  stirred(): Promise<void> {
    return new Promise((resolve) => this.#stirring.push(resolve));
  }

  stir(): void {
    if (this.#stirring.length > 0) for (const resume of this.#stirring.splice(0)) resume();
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
}
