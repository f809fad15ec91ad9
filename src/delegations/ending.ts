import type { CloseReason } from "../events/close-reason.ts";

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
