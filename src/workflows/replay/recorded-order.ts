import { MergeOrder } from "../../delegations/changes/merge-order.ts";
import type { Course } from "./course.ts";
import type { Recording } from "./recording.ts";

/** When whose work was taken over is recorded: its turn comes when its merge does, or never. */
export class RecordedOrder extends MergeOrder {
  readonly #merges: ReadonlyMap<string, number>;
  readonly #course: Course;

  constructor(recording: Recording, course: Course) {
    super();
    this.#merges = mergesIn(recording);
    this.#course = course;
  }

  override get hasAny(): boolean {
    return true;
  }

  override turn(_step: number, id: string): Promise<void> {
    const seq = this.#merges.get(id);
    return seq === undefined ? new Promise(() => undefined) : this.#course.arrival(seq);
  }
}

/** By delegation: steps have the same numbers below different callers. */
function mergesIn({ delegations }: Recording): ReadonlyMap<string, number> {
  const merges = new Map<string, number>();
  for (const [id, { events }] of delegations) {
    const merge = events.find(({ type }) => type === "agent.worktree_merged");
    if (merge) merges.set(id, merge.seq);
  }
  return merges;
}
