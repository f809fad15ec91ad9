import { MergeOrder } from "../../delegations/changes/merge-order.ts";
import type { Course } from "./course.ts";
import type { Recording } from "./recording.ts";

/** When whose work was taken over is recorded: its turn comes when its merge does, or never. */
export class RecordedOrder extends MergeOrder {
  readonly #merges: ReadonlyMap<number, number>;
  readonly #course: Course;

  constructor(recording: Recording, course: Course) {
    super();
    this.#merges = mergesIn(recording);
    this.#course = course;
  }

  override get hasAny(): boolean {
    return true;
  }

  override turn(step: number): Promise<void> {
    const seq = this.#merges.get(step);
    return seq === undefined ? new Promise(() => undefined) : this.#course.arrival(seq);
  }
}

/** By the step of the delegation, which is its own in its run. */
function mergesIn({ delegations }: Recording): ReadonlyMap<number, number> {
  const merges = new Map<number, number>();
  for (const { contract, events } of delegations.values()) {
    const merge = events.find(({ type }) => type === "agent.worktree_merged");
    if (merge) merges.set(contract.parent.step_idx, merge.seq);
  }
  return merges;
}
