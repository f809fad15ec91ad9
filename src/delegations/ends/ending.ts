import { type Cause, closeReasonOf, describeCause } from "../../events/cause.ts";
import type { CloseReason } from "../../events/close-reason.ts";
import type { Failure } from "../../events/delegation.ts";

/** How an attempt ended, before anybody has accepted anything. */
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
  /** Set when the output is not what a normal end would have given. */
  readonly reason: CloseReason | null;
}

export function failure(cause: Cause, retry = false): Extract<Ending, { kind: "failure" }> {
  return { kind: "failure", cause, retry };
}

/** Work that was done and is not accepted. */
export interface Rejection {
  readonly cause: Cause;
  /** What the agent handed in, where its caller needs it beside the cause. */
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

/** Thrown inside an agent's work when it is stopped from outside: cancel, deadline, a closing parent. */
export class Stopped extends Error {
  override readonly cause: Cause;

  constructor(cause: Cause) {
    super(describeCause(cause));
    this.name = "Stopped";
    this.cause = cause;
  }
}

/**
 * Thrown inside an agent's work when it is to rest, and not to end: what follows is for others to
 * say. Nothing is closed; its log has what it needs to go on.
 */
export class Suspended extends Stopped {
  /** Of one whose caller stopped: how it ends once those below it have. Null: it only rests. */
  readonly closesAs: CloseReason | null;
  /** Those below it were resumed without it: they go on. */
  readonly letsAllGoOn: boolean;
  /** Its work has been left, and the log has all of it. */
  isAtRest = false;

  constructor(cause: Cause, letsAllGoOn = false) {
    super(cause);
    this.name = "Suspended";
    this.closesAs = cause.code === "paused" ? null : closeReasonOf(cause);
    this.letsAllGoOn = letsAllGoOn;
  }
}
