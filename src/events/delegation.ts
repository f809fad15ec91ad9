import type { Cause } from "./cause.ts";
import type { CloseReason } from "./close-reason.ts";
import type { ArtifactReference, Keeps, SentMessage, TokenUsage } from "./event.ts";
import type { Seal } from "./seal.ts";

/** What an open delegation waits on: exactly one thing, and never «nothing in particular». */
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
  /** The call of the parent that made it, so that a call repeated after a crash finds its child. */
  readonly callId: string | null;
  readonly stepIdx: number;
  readonly depth: number;
  readonly profile: string;
  /** Of an agent that another program runs: the name of that program. */
  readonly client?: string;
  readonly title: string;
  readonly contractHash: string;
  readonly resumedFrom: string | null;
  /** The last event of that one that it shares; null: all of them. */
  readonly resumedAt: number | null;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly usage: TokenUsage;
  readonly turns: number;
  readonly toolCalls: number;
  readonly attempt: number;
  /** How many of its requests are settled as estimates; absent: none. */
  readonly estimates?: number;
  /** A provider reported more than was reserved: nothing more is reserved here or below. */
  readonly overrun?: true;
  /** Only in a distributed run. */
  readonly share?: Share;
  /** Messages to it that are not delivered, in the order in which they were sent; absent: none. */
  readonly mail?: readonly SentMessage[];
}

/** So many messages can wait for one delegation. A lower number would make stored logs illegal. */
export const mostMail = 100;

/** In a distributed run: the worker of a delegation, its part of the budget, and its copy. */
export interface Share {
  readonly tokens: number;
  /** In dollars; absent: as much as those above it may. */
  readonly cost?: number;
  /** Null: the worker of its caller. */
  readonly worker: string | null;
  /** Grows with each claim. What an earlier worker still writes is refused. */
  readonly fence: number;
  /** The bundle of its copy as it was made; absent: its copy does not travel. */
  readonly start?: ArtifactReference;
  /** The bundle of what it had changed when it handed in its work. */
  readonly changes?: ArtifactReference;
}

export interface Reservation {
  readonly request: number;
  readonly tokens: number;
  /** Of the tokens, those that the prompt can be at most; absent in logs of earlier versions. */
  readonly prompt?: number;
  readonly cost?: number;
}

export interface OpenAsk {
  readonly id: string;
  readonly callId: string;
  /** Whether the call may be made at all; absent: the call itself asks. */
  readonly kind?: "approval";
  /** A hash of what the runtime asks about; absent: an agent asks, or an earlier version did. */
  readonly about?: string;
  readonly question: string;
  readonly deadlineAt: number;
  readonly default: string | null;
}

export interface Running {
  readonly status: "running";
  readonly waitingOn: WaitingOn;
  /** A request that left, or is about to, and is not settled yet. */
  readonly reservation: Reservation | null;
  readonly requests: number;
  /** Kept back for its report; absent: it has no results of children to read. */
  readonly keeps?: Keeps;
  readonly ask: OpenAsk | null;
  /** How often it was recovered after a crash since it last made progress. */
  readonly resumptions: number;
  /** Set when its caller was interrupted. `resumed`: those below it were resumed without it. */
  readonly interruption: { readonly cause: Cause; readonly resumed: boolean } | null;
  readonly lastEventAt: number;
}

export interface Output {
  readonly text: string;
  readonly hash: string;
  readonly path: string | null;
  readonly truncated: boolean;
  readonly reason: CloseReason | null;
  /** Set when it was too large to be poured into the caller's conversation. */
  readonly artifact: ArtifactReference | null;
  /** Its background children when it answered: it closes after them. Absent: none ran. */
  readonly running?: readonly string[];
}

export interface Failure {
  readonly code: CloseReason;
  readonly cause: Cause;
  readonly error: string;
}

/** A status carries exactly what is true then. */
export type Delegation =
  | (Common & { readonly status: "created" })
  | (Common & Running)
  | (Common & {
      readonly status: "waiting_for_merge";
      readonly output: Output;
      /** Whether its changes may be merged. */
      readonly ask: OpenAsk | null;
      /** Its background children were paused, and it waits until a person resumes the run. */
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

/** The name that people know it by: that of the program which runs it, or of its profile. */
export function shownName({ client, profile }: Named): string {
  return client ?? profile;
}

/** What it keeps back for its report. */
export function keptBy(delegation: Delegation): Keeps | undefined {
  return delegation.status === "running" ? delegation.keeps : undefined;
}

export function isOpen(delegation: Delegation): boolean {
  return delegation.status !== "closed";
}

/** The question that it waits to have answered. */
export function openAskOf(delegation: Delegation): OpenAsk | null {
  const { status } = delegation;
  return status === "running" || status === "waiting_for_merge" ? delegation.ask : null;
}
