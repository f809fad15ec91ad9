import type { ResumedWork } from "../../steering.ts";

/** What every surface says of a resumption: a line for each run. */
export function describeResumed(
  { refused, runs }: Pick<ResumedWork, "refused" | "runs">,
  /** As the person gave it. */
  id: string,
): string {
  const isOne = runs.length + refused.length === 1;
  const lines = runs.map(({ agents, as, delegationId, from, runId }) => {
    if (as === "new") return `Resumed ${isOne ? id : from} as ${delegationId} in run ${runId}.`;
    const isOwn = agents.includes(delegationId);
    return isOwn
      ? `Run ${runId} continues where it stopped.`
      : `Run ${runId} continues where it stopped, with its sub-agents alone: ${agents.join(", ")}.`;
  });
  const left = refused.map((one) => `${one.delegationId} was not resumed: ${one.reason}`);
  return [...lines, ...left].join("\n");
}
