import { type Cause, closeReasonOf, describeCause } from "../../events/cause.ts";
import type { CloseReason } from "../../events/close-reason.ts";
import type { Failure } from "../../events/delegation.ts";

/** How an attempt ended, before its output is accepted or rejected. */
export type Ending =
  | OutputEnding
  | {
      readonly kind: "failure";
      readonly cause: Cause;
      /** Whether another attempt may help. */
      readonly retry: boolean;
    };

export interface OutputEnding {
  readonly kind: "output";
  readonly text: string;
  readonly truncated: boolean;
  /** Why the output is not a normal one; null: it is. */
  readonly reason: CloseReason | null;
}

export type FailedEnding = Extract<Ending, { kind: "failure" }>;

export function failure(cause: Cause): FailedEnding {
  return { kind: "failure", cause, retry: false };
}

/** A failure that another attempt may avoid. */
export function retryable(cause: Cause): FailedEnding {
  return { kind: "failure", cause, retry: true };
}

/** Work that was done and is not accepted. */
export interface Rejection {
  readonly cause: Cause;
  /** The output, where the caller needs it with the cause. */
  readonly said?: string;
}

/** A cause as the log keeps it. */
export function failureBy({ cause, said }: Rejection): Failure {
  const sentence = describeCause(cause);
  const error = said === undefined ? sentence : `${sentence}\n\n${said}`;
  return { code: closeReasonOf(cause), cause, error };
}

export function isCancelled(ending: Ending): boolean {
  return ending.kind === "failure" && closeReasonOf(ending.cause) === "cancelled";
}

/** Thrown inside the work of a delegation that is stopped: cancelled, past its deadline, or closed with its parent. */
export class Stopped extends Error {
  override readonly cause: Cause;

  constructor(cause: Cause) {
    super(describeCause(cause));
    this.name = "Stopped";
    this.cause = cause;
  }
}

/**
 * Thrown inside the work of a delegation that is suspended. It is not closed: its log has all that it
 * needs to continue.
 */
export class Suspended extends Stopped {
  /** After an interrupt: the reason with which it closes after its children. Null: it is paused. */
  readonly closesAs: CloseReason | null;
  /** The children were resumed without their caller, and all of them continue. */
  readonly letsAllGoOn: boolean;
  /** The work has stopped, and the log has all of it. */
  isAtRest = false;

  constructor(cause: Cause, letsAllGoOn = false) {
    super(cause);
    this.name = "Suspended";
    this.closesAs = cause.code === "paused" ? null : closeReasonOf(cause);
    this.letsAllGoOn = letsAllGoOn;
  }
}
