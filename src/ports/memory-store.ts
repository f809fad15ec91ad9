/**
 * The memories of agents. Memories are added and never changed: a person promotes or forgets one by a
 * record (`memoryMarks`). The store finds memories; the caller decides which of them an agent may see.
 */
export interface MemoryStore {
  /**
   * Durable when it resolves, and not before the events that led to it. A call that is repeated after a
   * crash gets the memory that it saved before. Throws "fenced" for a run that this process does not own,
   * and "illegal-transition" for a delegation that has ended.
   */
  save(memory: NewMemory, mostOfRun: number): Promise<SaveOutcome>;
  read(id: string): Promise<Memory | undefined>;
  /** Best matches first; latest first without a search text. */
  find(query: MemoryQuery): Promise<readonly Memory[]>;
}

export interface NewMemory {
  readonly text: string;
  readonly tags: readonly string[];
  /** A later memory with the same key and scope replaces this one. */
  readonly key: string | null;
  readonly scope: MemoryScope;
  /** Null: for agents in every workspace. */
  readonly workspace: string | null;
  readonly runId: string;
  readonly delegationId: string;
  /** The call that saved it; unique in its delegation. */
  readonly callId: string;
  /** The ids from the root to the delegation that saved it. */
  readonly lineage: readonly string[];
  readonly profile: string;
}

export type MemoryScope = "shared" | "delegated";

export interface Memory extends NewMemory {
  readonly id: string;
  readonly createdAt: number;
  /** The memory that this one replaced. */
  readonly supersedes: string | null;
  /** A later memory replaces this one. */
  readonly isSuperseded: boolean;
  /** Set when a person shared it, whatever its scope. */
  readonly promoted: MemoryMark | null;
  readonly forgotten: MemoryMark | null;
}

export interface MemoryMark {
  readonly by: string;
  readonly at: number;
}

export type SaveOutcome =
  /** `isNew`: false when this call had saved it before. */
  | { readonly saved: true; readonly memory: Memory; readonly isNew: boolean }
  /** The run has reached its limit. */
  | { readonly saved: false };

export interface MemoryQuery {
  /** Words, of which at least one must occur. */
  readonly text?: string | undefined;
  /** Tags, all of which must be present. */
  readonly tags?: readonly string[] | undefined;
  /** Only memories that could concern a reader at this place; absent: all. */
  readonly near?: MemoryPlace | undefined;
  /** Includes forgotten and superseded memories. */
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

/** The resource types of the records by which people decide about memories. */
export const memoryMarks = { promoted: "memory-promoted", forgotten: "memory-forgotten" } as const;
