/**
 * Control records: the decisions of people about agents, pins, trust and the like. A change is
 * compare-and-set on the version; several changes are one transaction; each change is a
 * `control.record_changed` in the control log, with its actor.
 */
export interface RecordStore {
  readRecord(resourceType: string, resourceId: string): Promise<ControlRecord | undefined>;
  /** The records of a type whose id begins with `prefix`, sorted by id. */
  listRecords(resourceType: string, prefix?: string): Promise<readonly ControlRecord[]>;
  /**
   * Applies all changes or none. Throws "conflict", naming the record, when one is not at the expected
   * version. Returns the new records, null for each deleted one.
   */
  changeRecords(
    changes: readonly RecordChange[],
    actor: string,
  ): Promise<readonly (ControlRecord | null)[]>;
}

export interface ControlRecord {
  readonly resourceType: string;
  readonly resourceId: string;
  /** From 1; never used twice for one id, not even after a deletion. */
  readonly version: number;
  /** JSON. */
  readonly value: unknown;
  readonly updatedBy: string;
  readonly updatedAt: number;
}

export interface RecordChange {
  readonly resourceType: string;
  readonly resourceId: string;
  /** 0: the record must not exist. */
  readonly expectedVersion: number;
  /** Null deletes. */
  readonly value: unknown;
}
