/** A process that fills a queue and is killed with most of it before it: node worker.ts '<job>'. */
import { type CrewOptions, type Job, openCrew, startOf } from "../open-crew.ts";

export interface QueueJob extends CrewOptions {
  readonly job: Job;
  readonly runs: number;
}

async function work({ job, runs, ...options }: QueueJob): Promise<void> {
  const { engine, store } = await openCrew(options);
  const wanted = runs * (job.children + 1);
  let created = 0;
  let closed = 0;
  store.subscribe((events) => {
    for (const { type } of events) {
      if (type === "agent.subagent_created") created += 1;
      if (type === "agent.subagent_closed") closed += 1;
    }
    if (created >= wanted && closed >= wanted / 100) process.kill(process.pid, "SIGKILL");
  });
  for (let count = 0; count < runs; count += 1) {
    const { result } = await engine.startRun(startOf(job));
    result.catch(() => undefined);
  }
}

await work(JSON.parse(process.argv[2] ?? "") as QueueJob);
