import type { ReceiptLine } from "../contracts/receipt.ts";
import type { RunPrincipal } from "../contracts/run-grant.ts";
import type { CloseReason, RunOutcome } from "../events/close-reason.ts";
import type { DelegationStatus, WaitingOn } from "../events/delegation.ts";
import type { ArtifactReference, PlannedStep, TokenUsage } from "../events/event.ts";
import type { Seal } from "../events/seal.ts";

/** What a caller asks for when it delegates. Everything but the task is optional. */
export interface DelegationRequest {
  readonly task: string;
  readonly profile?: string | undefined;
  /** A handle of the registry, in place of a profile: `@writer`. */
  readonly agent?: string | undefined;
  readonly context?: string | undefined;
  readonly systemPrompt?: string | undefined;
  readonly tools?: readonly string[] | undefined;
  readonly forwardSkills?: readonly string[] | undefined;
  readonly modelOverride?: string | undefined;
  readonly maxTokens?: number | undefined;
  /** In dollars. */
  readonly maxCost?: number | undefined;
  readonly timeoutMs?: number | undefined;
  /** For one attempt, of the time that it has in all. */
  readonly attemptTimeoutMs?: number | undefined;
  readonly maxDepth?: number | undefined;
  readonly title?: string | undefined;
  readonly successCriteria?: readonly string[] | undefined;
  readonly resumedFrom?: string | undefined;
  /** Only as far as this event of it. */
  readonly resumedAt?: number | undefined;
  /** Patterns, relative to the workspace, that every path it changes must match. */
  readonly owns?: readonly string[] | undefined;
  /**
   * Its words hold what children said who had read untrusted input. Absent: so it is taken as soon
   * as its call was given such a result.
   */
  readonly untrusted?: boolean | undefined;
  /** Tells the children of one call apart, so that each is found again after a crash. */
  readonly key?: string | undefined;
}

/** How a delegation ended, as callers see it. `status` is a projection of the one lifecycle. */
export interface DelegationResult {
  readonly delegationId: string;
  readonly profile: string;
  /** Of an agent that another program runs: the name of that program. */
  readonly client?: string;
  readonly status: "completed" | "failed" | "timeout" | "cancelled";
  /**
   * Of the root of a run: how the whole run ended. A run can fail although its root completed, by a
   * plan that was not carried out or by a child whose failure never reached its caller.
   */
  readonly outcome?: RunOutcome;
  /** The child's final text; the error's sentence when it failed. */
  readonly result: string;
  readonly tokenUsage: TokenUsage;
  /** Milliseconds from creation to close. */
  readonly duration: number;
  readonly subDelegations?: readonly DelegationResult[];
  readonly truncated?: true;
  readonly closeReason: CloseReason;
  readonly evidence: Seal;
  readonly artifacts?: readonly ArtifactReference[];
}

/** How a delegation ended. */
export type DelegationOutcome = DelegationResult["status"];

/** What a call that waited for a child answers; an error when the child did not complete. */
export interface JoinedOutput {
  readonly text: string;
  readonly isError?: true;
}

export interface DelegationInfo {
  readonly delegationId: string;
  readonly parentId: string | null;
  readonly profile: string;
  /** Of an agent that another program runs: the name of that program. */
  readonly client?: string;
  readonly title: string;
  readonly status: DelegationStatus;
  /** Of a closed one: as the log records its end. */
  readonly finalStatus?: "completed" | "failed";
  /** Of a closed one: as callers see its end. */
  readonly outcome?: DelegationOutcome;
  readonly closeReason?: CloseReason;
  /** It is open, and no process works on its run. */
  readonly isInterrupted?: true;
  readonly waitingOn?: WaitingOn;
  readonly depth: number;
  readonly attempt: number;
  /** Messages that were sent to it and that it has not read; of a closed one: never read. Absent: none. */
  readonly unreadMessages?: number;
  readonly tokens: number;
  readonly cost: number;
  /** Part of both was not reported by a provider: they are at most so much. */
  readonly estimated?: true;
}

export type StartOutcome =
  | {
      readonly started: true;
      readonly delegationId: string;
      /** What of the request was granted and what was not. */
      readonly receipt: readonly ReceiptLine[];
    }
  | {
      readonly started: false;
      readonly rule: string;
      readonly reason: string;
      /** The machine is in the way, not the request. */
      readonly isFault?: true;
    };

/** How a child may be made, which decides whether it may have children of its own. */
export type DelegationWay = "spawn" | "delegate";

export type CancelOutcome = "cancelled" | "already_terminal" | "not_found";

/** What the answer to a question was, or that there was none in time. */
export type AskOutcome =
  | { readonly answered: true; readonly answer: string; readonly by: "person" | "default" }
  | { readonly answered: false };

/**
 * What an agent can do with delegations while one of its calls runs: the port between the tools
 * that models see and the engine that acts. It is bound to one caller and one call, so a tool
 * cannot reach delegations that are not its caller's own.
 */
export interface Delegator {
  start(request: DelegationRequest, way: DelegationWay): Promise<StartOutcome>;
  /** Whether this call has made the child of this key already, in this process or before a crash. */
  wasBegun(key: string): boolean;
  /**
   * What came of this very child before this agent was interrupted, where it continues one that
   * was cancelled or failed and had the same done. Undefined: it is to be done. Given once.
   */
  earlier(key: string, request: DelegationRequest): Promise<DelegationResult | undefined>;
  /**
   * Waits for one delegation and records this call's completion in the transaction that closes it,
   * so that a result is delivered exactly once. `describe` turns the result into the call's output.
   */
  joinAndComplete(
    id: string,
    describe: (result: DelegationResult) => JoinedOutput,
  ): Promise<JoinedOutput & { readonly recorded: true }>;
  /** Waits until all are closed or `maxWaitMs` has passed; null for one that still runs. */
  join(
    ids: readonly string[],
    maxWaitMs: number | undefined,
  ): Promise<ReadonlyMap<string, DelegationResult | null>>;
  /** Marks results as handed to the caller with this call's output. */
  delivered(ids: readonly string[]): void;
  /** Own children that no call has been given the result of yet, in spawn order. */
  notYetJoined(): Promise<readonly string[]>;
  /** Below it in the tree, in this message of its session or an earlier one. */
  isMine(id: string): Promise<boolean>;
  /** The profile that a name or handle leads to, for rules that speak of it. */
  profileBehind(name: string): string | undefined;
  list(): Promise<readonly DelegationInfo[]>;
  result(id: string): Promise<DelegationResult | null>;
  cancel(id: string, reason: string): Promise<CancelOutcome>;
  /**
   * Sends a message to a sub-agent of one's own, which reads it before its next turn. Once for this
   * call: what a crash repeats is not sent again. Says why when it was not sent.
   */
  send(id: string, message: string): Promise<string | undefined>;
  /**
   * An approval is answered by yes or no, by a person alone, and is refused when none answers.
   * `about`: a hash of what is approved, by which an answer is found again after a crash.
   */
  ask(question: string, kind?: "approval", about?: string): Promise<AskOutcome>;
  /** For watchers: a remark to the agent that is watched. Says why when it was not made. */
  interject(severity: "info" | "warn" | "critical", message: string): Promise<string | undefined>;
  /**
   * Records the steps that the following delegations carry out, once for this call: what a crash
   * repeats is not recorded again. A later plan of the same agent supersedes the one before.
   * `mergeOrder`: the places of the steps in the order of their merges. Returns the order that
   * counts, which is the recorded one.
   */
  plan(steps: readonly PlannedStep[], mergeOrder?: readonly number[]): Promise<readonly number[]>;
  /** This step of the recorded plan gets no further child whose work is merged: later ones go on. */
  stepSettled(key: string): void;
  /** What this agent changed, or the changes of a range of commits. */
  changes(
    range?: string,
  ): Promise<{ readonly text: string; readonly truncated: boolean } | { readonly problem: string }>;
  /** Who looks at its work before that is accepted, and how often that has been done. */
  readonly review: {
    readonly profile: string;
    readonly rounds: number;
    readonly made: number;
  } | null;
  readArtifact(hash: string): Promise<string | undefined>;
  /** Its caller is given its result and evidence, and nothing else of what it said and did. */
  isSealed(id: string): boolean;
  /** All that a closed delegation of one's own said and did; null where that is sealed. */
  transcript(id: string): Promise<string | null>;
  /** The largest result that may be poured into the caller's conversation, in tokens. */
  readonly joinTokens: number;
}

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
