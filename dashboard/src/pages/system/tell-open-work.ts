import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";

type Row = Operations["listDelegations"]["reply"]["items"][number];
type WaitWord = NonNullable<Row["waitingOn"]>["on"];

const words: Readonly<Record<WaitWord | "unowned", string>> = {
  slot: "Queued",
  model: "Waiting for a model",
  tool: "Running a tool",
  child: "Waiting for sub-agents",
  answer: "Waiting for an answer",
  approval: "Waiting for approval",
  budget: "Waiting for budget",
  lock: "Waiting for a lock",
  paused: "Paused",
  runtime: "Between steps",
  unowned: "Interrupted",
};

/** How many delegations wait, by what they wait on; empty groups are left out. */
export function tellOpenWork(
  rows: readonly Pick<Row, "isInterrupted" | "waitingOn">[],
): readonly { readonly words: string; readonly count: number }[] {
  const counts = new Map<WaitWord | "unowned", number>();
  for (const { isInterrupted, waitingOn } of rows) {
    const on = isInterrupted || waitingOn === null ? "unowned" : waitingOn.on;
    counts.set(on, (counts.get(on) ?? 0) + 1);
  }
  return Object.entries(words).flatMap(([on, text]) => {
    const count = counts.get(on as WaitWord | "unowned");
    return count === undefined ? [] : [{ words: text, count }];
  });
}
