/**
 * What agents wrote down for later. Memories are added and never changed: that one was promoted or
 * forgotten is a record of its own (`memoryMarks`), made by a person and explained by the control
 * log. A store keeps and finds them; who may see which is decided by the caller.
 */
export interface MemoryStore {
  /**
   * Durable when it resolves, and never before the log has what led to it. A call saves once: made
   * again after a crash, it is given what it saved then. Throws "fenced" for a run that this process
   * does not work on, and "illegal-transition" for a delegation that has ended.
   */
  save(memory: NewMemory, mostOfRun: number): Promise<SaveOutcome>;
  read(id: string): Promise<Memory | undefined>;
  /** The best matches first, or the latest where nothing is looked for. */
  find(query: MemoryQuery): Promise<readonly Memory[]>;
}

export interface NewMemory {
  readonly text: string;
  readonly tags: readonly string[];
  /** What it is about, in a word: a later one of the same kind under the same key replaces it. */
  readonly key: string | null;
  readonly scope: MemoryScope;
  /** Null: saved without one, for agents in every workspace. */
  readonly workspace: string | null;
  readonly runId: string;
  readonly delegationId: string;
  /** Of the call that saved it; unique in its delegation. */
  readonly callId: string;
  /** From the root to the delegation that saved it. */
  readonly lineage: readonly string[];
  readonly profile: string;
}

export type MemoryScope = "shared" | "delegated";

export interface Memory extends NewMemory {
  readonly id: string;
  readonly createdAt: number;
  /** The one that it replaced when it was saved. */
  readonly supersedes: string | null;
  /** A later one replaces it. */
  readonly isSuperseded: boolean;
  /** A person shared it, whatever it was saved as. */
  readonly promoted: MemoryMark | null;
  readonly forgotten: MemoryMark | null;
}

export interface MemoryMark {
  readonly by: string;
  readonly at: number;
}

export type SaveOutcome =
  /** `isNew` is false when this call had saved it before. */
  | { readonly saved: true; readonly memory: Memory; readonly isNew: boolean }
  /** The run has as many as it may have. */
  | { readonly saved: false };

export interface MemoryQuery {
  /** Words; any of them may occur. */
  readonly text?: string | undefined;
  /** All of them must be there. */
  readonly tags?: readonly string[] | undefined;
  /** Only what could concern a reader there; absent: all there is. */
  readonly near?: MemoryPlace | undefined;
  /** Also what was forgotten or superseded. */
  readonly all?: boolean | undefined;
  readonly limit: number;
  readonly offset?: number | undefined;
}

export interface MemoryPlace {
  readonly runId: string;
  readonly workspace: string | null;
  /** Delegations of other runs that the reader continues. */
  readonly formerly: readonly string[];
}

/** The types of the records by which people decide about memories; their ids are the memories'. */
export const memoryMarks = { promoted: "memory-promoted", forgotten: "memory-forgotten" } as const;
