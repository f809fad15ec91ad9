/**
 * The control plane's records: what people decided, beside what agents did. Every change is
 * compare-and-set on the version that was read, several changes are one transaction, and each is
 * a `control.record_changed` in the log, with who made it.
 */
export interface RecordStore {
  readRecord(resourceType: string, resourceId: string): Promise<ControlRecord | undefined>;
  /** Those of a type whose id begins with `prefix`, by id. */
  listRecords(resourceType: string, prefix?: string): Promise<readonly ControlRecord[]>;
  /**
   * All or none. Throws "conflict" when a record is not at the expected version any more; then
   * nothing was written, and the error says which. Gives the records as they are now, null where
   * one was deleted.
   */
  changeRecords(
    changes: readonly RecordChange[],
    actor: string,
  ): Promise<readonly (ControlRecord | null)[]>;
}

export interface ControlRecord {
  readonly resourceType: string;
  readonly resourceId: string;
  /** From 1; never used twice for one id, also not after a deletion. */
  readonly version: number;
  /** JSON. */
  readonly value: unknown;
  readonly updatedBy: string;
  readonly updatedAt: number;
}

export interface RecordChange {
  readonly resourceType: string;
  readonly resourceId: string;
  /** 0: there must be none yet. */
  readonly expectedVersion: number;
  /** Null deletes. */
  readonly value: unknown;
}
