import type { z } from "zod";
import { namesIn } from "../../../agents/documents/tool-input.ts";
import { withoutEmpty } from "../../../agents/documents/without-empty.ts";
import type { Session } from "../../../delegations/session.ts";
import { childrenOf } from "../../../events/run-state.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Runtime } from "../../../runtime.ts";
import { resultOf } from "../../../sessions/delegation-result.ts";
import { interruptionOf } from "../earlier-work.ts";
import type { McpCallContext, McpTool, McpToolResult } from "../mcp-tool.ts";
import { awaitedJobs } from "./output-schemas.ts";
import { longestWaitMs, type MadeCall, type RawInput, sessionTool } from "./session-tool.ts";

type AwaitedJobs = z.output<typeof awaitedJobs>;

export function awaitTool({ toolbox }: Runtime): readonly McpTool[] {
  const tool = toolbox.get("spawn_await");
  if (tool === undefined) return [];
  const single = sessionTool(tool, {
    title: "Wait for background sub-agents",
    description: `Wait for background jobs of spawn and get their results. Returns after max_wait_ms (${longestWaitMs} when absent) with what is done by then; a job marked RUNNING continues, so call this again for it. Results stay retrievable.`,
    output: awaitedJobs,
    // The tool starts nothing, but awaited jobs no longer belong to *.
    annotations: {
      readOnlyHint: false,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    },
    watched: watchedJobs,
    structure: describeJobs,
  });
  const ofSessions: McpTool["call"] = async (input, context) =>
    (await awaitInAll(input, context)) ?? single.call(input, context);
  return [
    {
      ...single,
      async call(given, context) {
        const input = withWait(withoutEmpty(single.input, given), context);
        return (await awaitEarlier(input, context, ofSessions)) ?? ofSessions(input, context);
      },
    },
  ];
}

/** The wait that was asked for, bounded where the client does not wait for the end of its calls. */
function withWait(given: unknown, { answerBy }: McpCallContext): RawInput {
  const input: RawInput = { max_wait_ms: longestWaitMs, ...(given as RawInput) };
  const isTooLong = answerBy !== null && Number(input["max_wait_ms"]) > longestWaitMs;
  return isTooLong ? { ...input, max_wait_ms: longestWaitMs } : input;
}

/** Ids may also name jobs of earlier sessions that the principal may see. */
async function awaitEarlier(
  input: RawInput,
  context: McpCallContext,
  ofSessions: McpTool["call"],
): Promise<McpToolResult | undefined> {
  const { max_wait_ms: waitMs } = input;
  const asked = namedJobs(input);
  const earlier = isAll(asked) ? await jobsElsewhere(context) : await earlierJobs(asked, context);
  // An invalid time is left to the tool, which reports it.
  if (earlier.size === 0 || !Number.isSafeInteger(waitMs) || Number(waitMs) < 1) return undefined;
  const isNothingHere = isAll(asked) && context.session.sessions.length === 0;
  const others = isNothingHere ? "" : asked.filter((id) => !earlier.has(id)).join(",");
  const [found, own] = await Promise.all([
    readEarlierJobs(earlier, Number(waitMs), context),
    others === "" ? undefined : ofSessions({ ...input, job_ids: others }, context),
  ]);
  if (own === undefined) return found;
  if (own.isError) return own;
  const { jobs, running } = awaitedJobs.parse(own.structured);
  return {
    text: `${own.text}\n\n${found.text}`,
    structured: {
      jobs: [...jobs, ...found.structured.jobs],
      running: running + found.structured.running,
    },
  };
}

/** Jobs in several folders belong to several sessions, which are awaited in parallel. */
async function awaitInAll(
  given: unknown,
  context: McpCallContext,
): Promise<McpToolResult<AwaitedJobs> | undefined> {
  const { sessions } = context.session;
  const input = given as RawInput;
  const asked = namedJobs(input);
  if (sessions.length < 2 || asked.length === 0) return undefined;
  const groups = isAll(asked)
    ? new Map(sessions.map((session) => [session, asked]))
    : Map.groupBy(asked, await holders(asked, context));
  const parts = await Promise.all(
    [...groups].map(async ([session, ids]) => {
      const own = { ...input, job_ids: ids.join(",") };
      const { isError, text } = await session.call("spawn_await", own, { signal: context.signal });
      if (isError) throw new MandateError("usage", text.replace(/^Error: /, ""));
      const jobs = await describeJobs({ context, input: own, made: [], session, text });
      return { text, ...jobs };
    }),
  );
  const found = parts.filter(({ jobs }) => jobs.length > 0);
  const running = found.reduce((sum, part) => sum + part.running, 0);
  return {
    text: found.length === 0 ? "No jobs found." : found.map(({ text }) => text).join("\n\n"),
    structured: { jobs: found.flatMap(({ jobs }) => jobs), running },
  };
}

async function holders(
  ids: readonly string[],
  { session }: McpCallContext,
): Promise<(id: string) => Session> {
  const pairs = await Promise.all(
    ids.map(async (id) => [id, (await session.holding(id)) ?? (await session.open())] as const),
  );
  const byId = new Map(pairs);
  return (id) => byId.get(id) as Session;
}

function namedJobs(input: RawInput): readonly string[] {
  return [...new Set(namesIn(input["job_ids"]))];
}

/** The jobs whose progress is reported: those that are named, or all open ones. */
async function watchedJobs(
  input: RawInput,
  { delegationId, runId }: Session,
  { session }: McpCallContext,
): Promise<readonly string[]> {
  const asked = namedJobs(input);
  if (!isAll(asked)) return asked;
  const run = await session.runtime.store.readRun(runId);
  const jobs = run === undefined ? [] : childrenOf(run, delegationId);
  return jobs.filter(({ status }) => status !== "closed").map(({ id }) => id);
}

function isAll(asked: readonly string[]): boolean {
  return asked[0] === "*" && asked.length === 1;
}

/**
 * The result as fields. Ids come from the input and states from the log, since a job's text could
 * imitate the heading of another job.
 */
async function describeJobs({ context, input, session, text }: MadeCall): Promise<AwaitedJobs> {
  const asked = namedJobs(input);
  const run = await context.session.runtime.store.readRun(session.runId);
  if (run === undefined) return { jobs: [], running: 0 };
  const own = new Set(childrenOf(run, session.delegationId).map(({ id }) => id));
  const ids = isAll(asked) ? headings(text, own) : asked;
  const jobs = ids.map((id): AwaitedJobs["jobs"][number] => {
    if (!isBelow(run.delegations, id, session)) return { job_id: id, status: "not_found" };
    // A job that finished after the text was made still counts as running.
    const result = text.includes(`[${id}: RUNNING]`) ? null : resultOf(run, id);
    if (result === null) return { job_id: id, status: "running" };
    const said = text.includes(result.result)
      ? result.result
      : `Too long for a reply: read it with peek_result, search_result or slice_result, delegationId ${id}.`;
    return { job_id: id, status: result.status === "completed" ? "ok" : "error", result: said };
  });
  return { jobs, running: jobs.filter(({ status }) => status === "running").length };
}

function isBelow(
  delegations: ReadonlyMap<string, { readonly parentId: string | null }>,
  id: string,
  { delegationId }: Session,
): boolean {
  let above = delegations.get(id)?.parentId ?? null;
  while (above !== null && above !== delegationId) above = delegations.get(above)?.parentId ?? null;
  return above !== null;
}

function headings(text: string, own: ReadonlySet<string>): readonly string[] {
  const found = text.matchAll(/^\[(?<id>[0-9a-f]{6,64}): (?:OK|ERROR|RUNNING|NOT FOUND)\]/gm);
  const ids = [...found].flatMap(({ groups }) => groups?.["id"] ?? []);
  return [...new Set(ids)].filter((id) => own.has(id));
}

/**
 * The ids of delegations that the principal may see and that are not in a session of this client,
 * with their runs.
 */
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

/** The jobs of this session in runs that other servers opened: what was awaited is not known of them. */
async function jobsElsewhere({
  session: { runsElsewhere, runtime },
}: McpCallContext): Promise<ReadonlyMap<string, string>> {
  const jobs = new Map<string, string>();
  for (const runId of runsElsewhere) {
    const run = await runtime.store.readRun(runId);
    const [root] = run?.delegations.values() ?? [];
    if (run === undefined || root === undefined) continue;
    for (const { id } of childrenOf(run, root.id)) jobs.set(id, runId);
  }
  return jobs;
}

/** Waits for jobs by the log, whichever process works on them. */
async function readEarlierJobs(
  jobs: ReadonlyMap<string, string>,
  waitMs: number,
  { session, signal }: McpCallContext,
): Promise<McpToolResult<AwaitedJobs> & { readonly structured: AwaitedJobs }> {
  const { store } = session.runtime;
  await untilClosed(session.runtime, jobs, { waitMs, signal });
  const blocks: string[] = [];
  const told: AwaitedJobs["jobs"][number][] = [];
  for (const [id, runId] of jobs) {
    const run = await store.readRun(runId);
    const result = run === undefined ? null : resultOf(run, id);
    const sentence = run && (await interruptionOf(store, id, run));
    if (sentence !== undefined) {
      blocks.push(`[${id}: ERROR]\n${sentence}`);
      told.push({ job_id: id, status: "error", result: sentence });
      continue;
    }
    if (result === null) {
      blocks.push(`[${id}: RUNNING] Call spawn_await again to wait for it.`);
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

/** Waits for jobs to close, but not for those on which no process works. */
export function untilClosed(
  { clock, store }: Pick<Runtime, "clock" | "store">,
  jobs: ReadonlyMap<string, string>,
  { signal, waitMs }: { readonly signal: AbortSignal; readonly waitMs: number },
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
    // A job may have closed before the subscription, or have no process that could close it.
    for (const [id, runId] of jobs) look(id, runId).catch(end);

    async function look(id: string, runId: string): Promise<void> {
      const run = await store.readRun(runId);
      const isClosed = run?.delegations.get(id)?.status === "closed";
      if (isClosed || (run && (await interruptionOf(store, id, run)))) close(id);
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
