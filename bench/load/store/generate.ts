/**
 * Fills a home with runs until it has so many events, through the engine and the store's own append,
 * and then leaves a run with many open children behind: node generate.ts '<plan>'. It is killed.
 */
import { setTimeout as delay } from "node:timers/promises";
import { type Job, openCrew, startOf } from "../open-crew.ts";

export interface Plan {
  readonly folder: string;
  readonly events: number;
  /** Delegations of the largest run, which has a tenth of the events. */
  readonly largest: number;
  /** Children of the run that is still open at the end. */
  readonly open: number;
}

export interface Generated {
  readonly events: number;
  readonly runs: number;
  readonly delegations: number;
  readonly seconds: number;
  readonly largestRun: string;
  readonly largestEvents: number;
  readonly openRun: string;
}

/** Events of one turn with a call, and of a delegation besides its turns; found by counting. */
const eventsOfTurn = 5;

async function generate({ events: wanted, folder, largest, open }: Plan): Promise<void> {
  const runtime = await openCrew({ folder, synchronous: "normal", maxConcurrent: largest + 100 });
  const { engine, store } = runtime;
  const count = { events: 0, runs: 0, delegations: 0 };
  const byRun = new Map<string, number>();
  store.subscribe((events) => {
    count.events += events.length;
    for (const { run_id: id, type } of events) {
      if (type === "run.started") count.runs += 1;
      if (type === "agent.subagent_created") count.delegations += 1;
      if (id === largestRun) byRun.set(id, (byRun.get(id) ?? 0) + 1);
    }
  });
  const run = async (job: Job): Promise<string> => {
    const { result, runId } = await engine.startRun(startOf(job));
    await result;
    return runId;
  };
  const began = performance.now();
  let largestRun = "";
  const turns = Math.ceil(wanted / 10 / largest / eventsOfTurn);
  const started = await engine.startRun(startOf({ children: largest, turns, latencyMs: 0 }));
  largestRun = started.runId;
  await started.result;
  // Few that are large, and many that are small, at work side by side as they would be.
  const sizes: readonly Job[] = [
    { children: 100, turns: 10, latencyMs: 0 },
    ...Array<Job>(8).fill({ children: 10, turns: 8, latencyMs: 0 }),
    ...Array<Job>(60).fill({ children: 2, turns: 2, latencyMs: 0 }),
  ];
  for (let next = 0; count.events < wanted; ) {
    const jobs = Array.from({ length: 6 }, () => sizes[next++ % sizes.length] ?? sizes[0]);
    await Promise.all(jobs.map((job) => job && run(job)));
  }
  const { runId: openRun } = await engine.startRun(
    startOf({ children: open, turns: 1, latencyMs: -1 }),
  );
  await untilRunning(open);
  const generated: Generated = {
    ...count,
    ...{ largestRun, openRun, largestEvents: byRun.get(largestRun) ?? 0 },
    seconds: (performance.now() - began) / 1000,
  };
  process.send?.(generated);

  async function untilRunning(wantedOpen: number): Promise<void> {
    for (;;) {
      const state = await store.readRun(openRun);
      const states = [...(state?.delegations.values() ?? [])];
      if (states.filter(({ status }) => status === "running").length > wantedOpen) return;
      await delay(20);
    }
  }
}

await generate(JSON.parse(process.argv[2] ?? "") as Plan);
