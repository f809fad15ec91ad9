/** How full the queues are, of one tenant's work. */
export interface QueueOverview {
  readonly queues: readonly QueueFigures[];
  /** How many delegations each executor has taken. */
  readonly taken: ReadonlyMap<string, number>;
  /** False: there are more than were counted. */
  readonly isComplete: boolean;
}

export interface QueueFigures {
  readonly name: string;
  readonly waiting: number;
  readonly working: number;
  /** When the one was sent that waits longest; null: none waits. */
  readonly waitingSince: number | null;
  readonly limits: QueueLimits;
}

/** At each depth of a tree; null: there is none. */
export interface QueueLimits {
  readonly all: number | null;
  readonly worker: number | null;
  readonly tenant: number | null;
}
