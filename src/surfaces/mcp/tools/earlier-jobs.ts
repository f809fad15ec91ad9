import type { z } from "zod";
import { isWorkedOn } from "../../../events/is-worked-on.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Store } from "../../../ports/store.ts";
import { resultOf } from "../../../sessions/delegation-result.ts";
import type { McpCallContext, McpToolResult } from "../mcp-tool.ts";
import { sayInterrupted } from "../say-interrupted.ts";
import type { awaitedJobs } from "./output-schemas.ts";

type AwaitedJobs = z.output<typeof awaitedJobs>;

/** The ids that name a delegation which the principal sees and no session of this client holds. */
export async function earlierJobs(
  ids: readonly string[],
  { session }: McpCallContext,
): Promise<ReadonlyMap<string, string>> {
  const { store } = session.runtime;
  const jobs = new Map<string, string>();
  for (const id of ids) {
    const runId = await store.findRun(id);
    if (runId === undefined || session.sessions.some((one) => one.runId === runId)) continue;
    const run = await store.readRun(runId);
    if (run?.delegations.has(id)) jobs.set(id, runId);
  }
  return jobs;
}

/** What to say of a job that is open and that no process works on. */
export async function interruptionOf(
  store: Store,
  id: string,
  runId: string,
): Promise<string | undefined> {
  const run = await store.readRun(runId);
  if (run === undefined || resultOf(run, id) !== null) return undefined;
  return (await isWorkedOn(store, run)) ? undefined : sayInterrupted(id, runId);
}

/** Waits for them as the log tells of them, whichever process works on them. */
export async function readEarlierJobs(
  jobs: ReadonlyMap<string, string>,
  waitMs: number,
  { session, signal }: McpCallContext,
): Promise<McpToolResult<AwaitedJobs> & { readonly structured: AwaitedJobs }> {
  const { clock, store } = session.runtime;
  const interrupted = new Map<string, string>();
  for (const [id, runId] of jobs) {
    const sentence = await interruptionOf(store, id, runId);
    if (sentence !== undefined) interrupted.set(id, sentence);
  }
  const worked = new Map([...jobs].filter(([id]) => !interrupted.has(id)));
  await untilClosed(store, worked, waitMs, signal, clock);
  const blocks: string[] = [];
  const told: AwaitedJobs["jobs"][number][] = [];
  for (const [id, runId] of jobs) {
    const run = await store.readRun(runId);
    const result = run === undefined ? null : resultOf(run, id);
    const sentence = interrupted.get(id);
    if (result === null && sentence !== undefined) {
      blocks.push(`[${id}: ERROR]\n${sentence}`);
      told.push({ job_id: id, status: "error", result: sentence });
      continue;
    }
    if (result === null) {
      blocks.push(`[${id}: RUNNING]`);
      told.push({ job_id: id, status: "running" });
      continue;
    }
    const isDone = result.status === "completed";
    blocks.push(`[${id}: ${isDone ? "OK" : "ERROR"}]\n${result.result}`);
    told.push({ job_id: id, status: isDone ? "ok" : "error", result: result.result });
  }
  const running = told.filter(({ status }) => status === "running").length;
  return { text: blocks.join("\n\n"), structured: { jobs: told, running } };
}

export function untilClosed(
  store: Pick<Store, "readRun" | "subscribe">,
  jobs: ReadonlyMap<string, string>,
  waitMs: number,
  signal: AbortSignal,
  clock: Clock,
): Promise<void> {
  if (signal.aborted || jobs.size === 0) return Promise.resolve();
  return new Promise((resolve) => {
    const open = new Set(jobs.keys());
    const timer = clock.after(waitMs, end);
    const unsubscribe = store.subscribe((events) => {
      for (const { sub_agent_id: id, type } of events) {
        if (type === "agent.subagent_closed" && id !== undefined) close(id);
      }
    });
    signal.addEventListener("abort", end, { once: true });
    // One may have ended before anybody listened.
    for (const [id, runId] of jobs) {
      store.readRun(runId).then((run) => {
        if (run?.delegations.get(id)?.status === "closed") close(id);
      }, end);
    }

    function close(id: string): void {
      open.delete(id);
      if (open.size === 0) end();
    }

    function end(): void {
      timer.cancel();
      unsubscribe();
      signal.removeEventListener("abort", end);
      resolve();
    }
  });
}
