import type { RunPrincipal } from "../contracts/run-grant.ts";
import type { DelegationRequest, DelegationResult } from "./delegator.ts";

/** Where a run works. */
export interface RequestedWorkspace {
  readonly workspace?: string | null | undefined;
  /**
   * It is a real path that somebody has looked at and allowed. Where it leads elsewhere by now,
   * nothing starts: whoever can write beside it could have put a link in its place meanwhile.
   */
  readonly isRealWorkspace?: boolean | undefined;
}

export interface RunRequest extends DelegationRequest, RequestedWorkspace {
  readonly budgetTokens?: number | undefined;
  /** Nobody in this run may write in its workspace, whatever their profiles say. */
  readonly readOnly?: boolean | undefined;
  /** Profiles of watchers that are to look on from the beginning. */
  readonly watchers?: readonly string[] | undefined;
  /** Whose pins count before all others, and whether its workspace may be written. */
  readonly session?: string | undefined;
  /** A person typed the task, at a surface of ours; never set for text that a program hands over. */
  readonly isTyped?: boolean | undefined;
  /** Of a resumed sub-agent: the addresses that its contract has from its caller. */
  readonly addresses?: readonly string[] | undefined;
  /**
   * Whether the root answers a person, who needs no proof of work: the exit rule of its profile does
   * not bind it. Absent: it does for a typed task that is neither a command nor a goal.
   */
  readonly isConversation?: boolean | undefined;
  /** What a person typed to start it, with the slash: `/oracle`. */
  readonly command?: string | undefined;
  readonly by?: RunPrincipal | undefined;
  /** It is a goal: it begins when those before it in its workspace have ended. */
  readonly isGoal?: boolean | undefined;
}

export interface SessionRequest extends RequestedWorkspace {
  /** Whose tools these are: the name of the program that calls them. */
  readonly client: string;
  readonly task?: string | undefined;
  readonly budgetTokens?: number | undefined;
  readonly readOnly?: boolean | undefined;
  readonly by?: RunPrincipal | undefined;
}

export interface StartedRun {
  readonly runId: string;
  readonly delegationId: string;
  /** How its root ended. */
  readonly result: Promise<DelegationResult>;
  /** Its root's final answer: there before `result` where background children still run. */
  readonly answer: Promise<DelegationResult>;
  /** Of a goal that does not begin at once: the run that stood before it. */
  readonly behind?: string;
}

/** A run that was resumed, or that was started to continue a delegation. */
export interface ResumedRun extends StartedRun {
  /** `same`: the run itself continues; `new`: a run of its own on the old conversation. */
  readonly as: "same" | "new";
  /** The delegation that is continued; of a run that continues itself, its root. */
  readonly from: string;
  /** Whose results count: the root's, or those of the sub-agents of another program's agent. */
  readonly agents: readonly string[];
}

export interface Resumed extends ResumedRun {
  /**
   * Every run that continues, in order, this one first: several where the closed run of another
   * program's agent left several sub-agents that did not complete.
   */
  readonly runs: readonly ResumedRun[];
  /** Sub-agents of such a run that could not be resumed, and why. */
  readonly refused: readonly RefusedResumption[];
}

export interface RefusedResumption {
  readonly delegationId: string;
  readonly reason: string;
}
