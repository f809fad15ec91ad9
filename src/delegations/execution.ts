import type { Contract } from "../contracts/contract.ts";
import type { Cause } from "../events/cause.ts";
import type { Delegation } from "../events/delegation.ts";
import type { ArtifactReference, EventPayloads } from "../events/event.ts";
import type { RunState } from "../events/run-state.ts";
import type { CancelOutcome, DelegationResult } from "../ports/delegator.ts";
import type { WorkingCopies } from "../workspaces/git/copies/working-copies.ts";
import type { WorkingCopy } from "../workspaces/git/copies/working-copy.ts";
import type { ReceivedChanges } from "../workspaces/git/travel/receive-changes.ts";
import type { Budget } from "./budget.ts";
import type { DistributedExecution } from "./distributed/distributed-execution.ts";
import type { Ending } from "./ends/ending.ts";
import type { LiveDelegation } from "./live-delegation.ts";

/**
 * How the delegations of a run are executed: all of them by the process that owns the run, or each
 * by the worker that claims it. Nothing outside the two implementations asks which it is.
 */
export interface Execution {
  /** What the events that create the run and its delegations say of it. */
  readonly recorded: {
    run(maxChildren: number): Pick<EventPayloads["run.started"], "spread">;
    delegation(contract: Contract): Pick<EventPayloads["agent.subagent_created"], "budget">;
  };
  /** Copies of workspaces that workers on other machines make or work in. */
  readonly travel: CopyTravel;
  /** What the log says of the run now, where other processes write to it; null: this one knows it. */
  readonly log: RunState | null;

  /** The budget of a delegation; of the run itself where `id` is null. */
  budget(id: string | null, above: Budget | null, tokens: number, dollars: number | null): Budget;

  /** Has a new delegation worked on, here or anywhere; undefined: it waits for its slot. */
  begin(
    agent: LiveDelegation,
    created: Promise<unknown>,
  ): Promise<NotBegun | undefined> | undefined;
  /** Has a new run worked on when everything that belongs to it is there. */
  start(root: LiveDelegation, own: RunKeeping): Promise<void> | undefined;
  /** Keeps the agent of another program here, whose calls this process makes. */
  hold(
    root: LiveDelegation,
    follow: (branch: DistributedExecution) => void,
  ): Promise<void> | undefined;
  /** A result that this process waits for. */
  awaited(result: Promise<DelegationResult>): Promise<DelegationResult>;
  /** The process ends, and waits no longer for what others work on. */
  stopWaiting(root: LiveDelegation, result: DelegationResult): void;

  /** Another process works on it, or none does yet: here it is known by its log alone. */
  isRemote(agent: LiveDelegation): boolean;
  /** Whether this process may still write about it. */
  owns(agent: LiveDelegation, state: RunState): boolean;
  cancel(agent: LiveDelegation, cause: Cause): Promise<CancelOutcome>;
  /** No delegation outlives its caller, whichever process works on it. */
  endRemoteChildren(agent: LiveDelegation, ending: Ending): Promise<void> | undefined;
  /** Whether its answer is written before its background children have closed. */
  answersEarly(agent: LiveDelegation): boolean;
  /** True: its work is handed in, and the process of its caller decides what becomes of it. */
  handsOver(agent: LiveDelegation): boolean;
  /** Before the run ends: reads what its outcome depends on and is not known here. */
  knowAll(agent: LiveDelegation): Promise<void> | undefined;
  /** This process has nothing more to do for what it worked on. */
  leave(): void;
}

/** What an execution asks of the engine that starts a run. */
export interface RunKeeping {
  /** It waits until other goals of its workspace have ended. */
  readonly waitForTurn: () => Promise<void>;
  /** Other processes work on it: what they write is followed by the log. */
  readonly lose: () => void;
}

/** It could not be begun where it was written, for a reason that its caller is told. */
export interface NotBegun {
  readonly rule: string;
  readonly reason: string;
}

export interface CopyTravel {
  /** What a fresh copy holds, for the worker that takes the delegation. */
  packStart(
    caller: LiveDelegation | null,
    copies: WorkingCopies,
    copy: WorkingCopy,
  ): Promise<ArtifactReference | undefined>;
  /** What was changed in a copy, before the work is handed in. */
  packWork(agent: LiveDelegation): Promise<ArtifactReference | undefined>;
  /** Takes what a child did elsewhere into its copy here; undefined where it did it here. */
  receiveWork(
    agent: LiveDelegation,
    copies: WorkingCopies,
    copy: WorkingCopy,
  ): Promise<ReceivedChanges | undefined>;
  /** The copy that a delegation works in, on this machine. Null: in none. Undefined: it is not here. */
  copyFor(place: {
    readonly parent: LiveDelegation | null;
    readonly delegation: Delegation;
    readonly contract: Contract;
    readonly role: CopyRole;
  }): Promise<WorkingCopy | null | undefined>;
}

/**
 * What a process is to a delegation that works in a copy. `worker`: it works on it. `caller`: it
 * merges what is made in it. `none`: neither.
 */
export type CopyRole = "worker" | "caller" | "none";
