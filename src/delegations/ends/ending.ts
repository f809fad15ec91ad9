import type { CloseReason } from "../../events/close-reason.ts";

/** How an attempt ended, before anybody has accepted anything. */
export type Ending =
  | OutputEnding
  | {
      readonly kind: "failure";
      readonly code: CloseReason;
      readonly error: string;
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

export function failure(code: CloseReason, error: string, retry = false): Ending {
  return { kind: "failure", code, error, retry };
}

/** Thrown inside an agent's work when it is stopped from outside: cancel, deadline, a closing parent. */
export class Stopped extends Error {
  readonly code: CloseReason;

  constructor(code: CloseReason, message: string) {
    super(message);
    this.name = "Stopped";
    this.code = code;
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

  constructor(message: string, closesAs: CloseReason | null, letsAllGoOn = false) {
    super("cancelled", message);
    this.name = "Suspended";
    this.closesAs = closesAs;
    this.letsAllGoOn = letsAllGoOn;
  }
}
