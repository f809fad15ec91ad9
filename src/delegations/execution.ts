import type { Contract } from "../contracts/contract.ts";
import type { Cause } from "../events/cause.ts";
import type { EventPayloads } from "../events/event.ts";
import type { RunState } from "../events/run-state.ts";
import type { CancelOutcome } from "../ports/delegator.ts";
import type { LiveDelegation } from "./live-delegation.ts";
import { cancelLive } from "./suspend/interrupt.ts";
import { queue } from "./work.ts";

/**
 * How the delegations of a run are executed: all of them by the process that owns the run, or each by
 * the worker that claims it. No other code asks which of the two it is.
 */
export interface Execution {
  /** What the events that create the run and its delegations record about it. */
  readonly recorded: {
    run(maxChildren: number): Pick<EventPayloads["run.started"], "spread">;
    delegation(contract: Contract): Pick<EventPayloads["agent.subagent_created"], "budget">;
  };
  /** The run by its log, where other processes write to it; null: this process writes all of it. */
  readonly log: RunState | null;
  /** The delegation that this process has claimed; null: it owns the whole run, or no part of it. */
  readonly here: LiveDelegation | null;
  /** Starts work on a new delegation, here or anywhere; undefined: it waits for its slot here. */
  begin(
    live: LiveDelegation,
    created: Promise<unknown>,
  ): Promise<{ readonly rule: string; readonly reason: string } | undefined> | undefined;
  /** Cancels it with everything below it, whichever process works on it. */
  cancel(live: LiveDelegation, cause: Cause): Promise<CancelOutcome>;
  /** Another process works on it, or none does yet: this process knows it by the log alone. */
  isRemote(live: LiveDelegation): boolean;
  /** Before the run ends: loads what its outcome depends on and is not known here. */
  loadAll(root: LiveDelegation): Promise<void> | undefined;
}

/** One process owns the run and works on all of it. */
export const localExecution: Execution = {
  recorded: { run: () => ({}), delegation: () => ({}) },
  log: null,
  here: null,
  begin(live) {
    if (!live.run.isHeld) queue(live);
    return undefined;
  },
  cancel: cancelLive,
  isRemote: () => false,
  loadAll: () => undefined,
};

/**
 * What a process is to a delegation that works in a copy. `worker`: it works on it. `caller`: it
 * merges what is made in it. `none`: neither.
 */
export type CopyRole = "worker" | "caller" | "none";
