import { MandateError } from "../../ports/mandate-error.ts";

/** A record is not at the version that somebody had read. It comes with what it is now. */
export class RecordConflict extends MandateError {
  readonly current: CurrentRecord;

  constructor(message: string, current: CurrentRecord) {
    super("conflict", message);
    this.name = "RecordConflict";
    this.current = current;
  }
}

export interface CurrentRecord {
  /** 0: there is none. */
  readonly version: number;
  readonly value: unknown;
}
