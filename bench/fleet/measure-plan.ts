import { openProcessFleet } from "../../src/testing/process-fleet.test-support.ts";

/** How long a plan of independent steps took, and how fast its steps closed. */
export interface PlanFigures {
  readonly ms: number;
  /** Steps in a second, for each quarter of the steps. */
  readonly quarters: readonly number[];
}

/** A plan of so many steps that do nothing, on so many workers. */
export async function measurePlan(
  steps: number,
  { atOnce, workers }: { readonly atOnce: number; readonly workers: number },
): Promise<PlanFigures> {
  await using fleet = await openProcessFleet({ workers, atOnce, notes: false });
  const { engine, store } = fleet.client;
  const plan = {
    steps: Array.from({ length: steps }, (_, index) => ({
      ...{ id: `s${index}`, title: `Step ${index}`, description: "wait 0", profile: "general" },
    })),
  };
  const { hash } = await store.keepArtifact(JSON.stringify(plan));
  const run = await engine.startRun({ task: `plan ${hash}`, profile: "plan-runner" });
  const { closeReason, result: said, status } = await run.result;
  if (status !== "completed") throw new Error(`It ended as ${status} (${closeReason}): ${said}`);
  const closed: number[] = [];
  let startedAt = 0;
  const types = ["run.planned", "agent.subagent_closed"] as const;
  for await (const event of store.readEvents({ runId: run.runId, types })) {
    if (event.type === "run.planned") startedAt = event.at;
    else closed.push(event.at);
  }
  // The last one is the root.
  const ends = closed.slice(0, steps);
  const quarters = [0, 1, 2, 3].map((quarter) => {
    const [from, to] = [quarter, quarter + 1].map((one) => Math.floor((steps * one) / 4));
    const began = from === undefined || from === 0 ? startedAt : (ends[from - 1] ?? 0);
    const ended = ends[(to ?? 0) - 1] ?? 0;
    return ((to ?? 0) - (from ?? 0)) / ((ended - began) / 1000);
  });
  return { ms: (ends.at(-1) ?? 0) - startedAt, quarters };
}
