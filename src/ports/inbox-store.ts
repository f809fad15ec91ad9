import type { InboxItem, InboxKind } from "../events/inbox-item.ts";

/**
 * What people should know of all runs, as a store keeps it. The items are a projection of the log,
 * written in the transaction of the events that they follow from; they are read by anybody, any
 * number of times, and stay. What a reader has seen is a place in that order, and belongs to that reader alone.
 */
export interface InboxStore {
  /**
   * Items in the order in which they happened. With `after`: the first ones after that place;
   * otherwise the last ones there are, or the last ones before `before`.
   */
  readInbox(query: InboxQuery): Promise<readonly InboxItem[]>;
  /** The place up to which a reader has seen it; 0 for a reader who was never here. */
  readCursor(reader: string): Promise<number>;
  /**
   * Moves that place, never backwards and never past what there is, so that nothing that comes
   * later was seen before it came. Gives the place where it is then.
   */
  moveCursor(reader: string, to: number): Promise<number>;
  /** How many items came after that place; a thousand stands for as many, or more. */
  unreadCount(reader: string): Promise<number>;
}

export interface InboxQuery {
  /** Items with a greater id. */
  readonly after?: number;
  /** Items with a smaller id. */
  readonly before?: number;
  /** At most so many; a thousand are the most that are given at once. */
  readonly limit: number;
  /** None named: none given. */
  readonly kinds?: readonly InboxKind[];
  /** Only what still waits for an answer. */
  readonly openOnly?: boolean;
  readonly runId?: string;
}

export const mostInboxItems = 1000;
