import type { Cause } from "./cause.ts";
import type { CloseReason } from "./close-reason.ts";
import type { ArtifactReference, Keeps, SentMessage, TokenUsage } from "./event.ts";
import type { Seal } from "./seal.ts";

/** What an open delegation waits for. */
export type WaitingOn =
  | { readonly on: "slot" }
  | { readonly on: "model"; readonly until?: number }
  | { readonly on: "tool"; readonly detail: string }
  | { readonly on: "child"; readonly detail: string }
  | { readonly on: "answer"; readonly detail: string }
  | { readonly on: "approval"; readonly detail: string }
  | { readonly on: "budget" }
  | { readonly on: "lock"; readonly detail: string }
  | { readonly on: "paused" }
  | { readonly on: "runtime" };

interface Common {
  readonly id: string;
  readonly parentId: string | null;
  /** The call of the parent that created it, so that a call repeated after a crash finds its child. */
  readonly callId: string | null;
  readonly stepIdx: number;
  readonly depth: number;
  readonly profile: string;
  /** The name of the program that runs this agent; absent: the agent is ours. */
  readonly client?: string;
  readonly title: string;
  readonly contractHash: string;
  readonly resumedFrom: string | null;
  /** The last event of `resumedFrom` that it shares; null: all of them. */
  readonly resumedAt: number | null;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly usage: TokenUsage;
  readonly turns: number;
  readonly toolCalls: number;
  readonly attempt: number;
  /** The number of its requests that are settled as estimates; absent: none. */
  readonly estimates?: number;
  /** An agent program worked on it with a login of its own: its usage is not known. */
  readonly unmetered?: true;
  /** A provider reported more than was reserved: no further request is made here or below. */
  readonly overrun?: true;
  /** The worker's share; only in a distributed run. */
  readonly share?: Share;
  /** Undelivered messages, in the order in which they were sent; absent: none. */
  readonly mail?: readonly SentMessage[];
}

/** The most undelivered messages of one delegation. A lower number would make stored logs illegal. */
export const mostMail = 100;

/** In a distributed run: the worker of a delegation, its budget, and the bundles of its working copy. */
export interface Share {
  readonly tokens: number;
  /** The cost cap in dollars; absent: that of its ancestors. */
  readonly cost?: number;
  /** The worker that has the delegation; null: the worker of its caller. */
  readonly worker: string | null;
  /** Grows with each claim. Writes with an older fence are refused. */
  readonly fence: number;
  /** The bundle of its new working copy; absent: the copy stays on its machine. */
  readonly start?: ArtifactReference;
  /** The bundle of its changes, since it handed in its output. */
  readonly changes?: ArtifactReference;
}

export interface Reservation {
  readonly request: number;
  readonly tokens: number;
  /** The part of `tokens` for the prompt; absent in logs of earlier versions. */
  readonly prompt?: number;
  readonly cost?: number;
}

export interface OpenAsk {
  readonly id: string;
  readonly callId: string;
  /** The runtime asks whether the call may be made; absent: the call itself asks. */
  readonly kind?: "approval";
  /** A hash of the subject of the runtime's question; absent for an agent's question, and in earlier versions. */
  readonly about?: string;
  readonly question: string;
  readonly deadlineAt: number;
  readonly default: string | null;
}

export interface Running {
  readonly status: "running";
  readonly waitingOn: WaitingOn;
  /** The reservations of requests under way. Only another program makes several at once. */
  readonly reservations: readonly Reservation[];
  readonly requests: number;
  /** Kept back to read results of children; absent: there are none. */
  readonly keeps?: Keeps;
  readonly ask: OpenAsk | null;
  /** The number of recoveries since it last made progress. */
  readonly resumptions: number;
  /** Set when its caller was interrupted. `resumed`: its descendants were resumed without it. */
  readonly interruption: { readonly cause: Cause; readonly resumed: boolean } | null;
  readonly lastEventAt: number;
}

export interface Output {
  readonly text: string;
  readonly hash: string;
  readonly path: string | null;
  readonly truncated: boolean;
  readonly reason: CloseReason | null;
  /** The whole output, when it is too large for the caller's conversation. */
  readonly artifact: ArtifactReference | null;
  /** The background children that ran when it answered: it closes after them. Absent: none. */
  readonly running?: readonly string[];
}

export interface Failure {
  readonly code: CloseReason;
  readonly cause: Cause;
  readonly error: string;
}

/** Each status has exactly the fields that exist in it. */
export type Delegation =
  | (Common & { readonly status: "created" })
  | (Common & Running)
  | (Common & {
      readonly status: "waiting_for_merge";
      readonly output: Output;
      /** The question whether the changes may be merged. */
      readonly ask: OpenAsk | null;
      /** The background children are paused until a person resumes the run. */
      readonly isPaused?: true;
    })
  | (Common & {
      readonly status: "completed";
      readonly output: Output;
      readonly reason: CloseReason;
    })
  | (Common & {
      readonly status: "failed";
      readonly failure: Failure;
      readonly output: Output | null;
    })
  | (Common & {
      readonly status: "closed";
      readonly finalStatus: "completed" | "failed";
      readonly closeReason: CloseReason;
      readonly failure: Failure | null;
      readonly output: Output | null;
      readonly seal: Seal;
      readonly closedAt: number;
    });

export type DelegationStatus = Delegation["status"];

interface Named {
  readonly profile: string;
  readonly client?: string | undefined;
}

/** The name for people: that of the program that runs the agent, or of the profile. */
export function shownName({ client, profile }: Named): string {
  return client ?? profile;
}

/** What a delegation keeps back to read results of children. */
export function keptBy(delegation: Delegation): Keeps | undefined {
  return delegation.status === "running" ? delegation.keeps : undefined;
}

export function isOpen(delegation: Delegation): boolean {
  return delegation.status !== "closed";
}

/** The unanswered question of a delegation. */
export function openAskOf(delegation: Delegation): OpenAsk | null {
  const { status } = delegation;
  return status === "running" || status === "waiting_for_merge" ? delegation.ask : null;
}
