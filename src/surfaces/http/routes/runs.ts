import { z } from "zod";
import { copiesIn } from "../../../application/kept-copies.ts";
import { compareStoredRuns, type ForkPlace, Forks, replay } from "../../../application/replay.ts";
import type { Principal } from "../../../control/records/principal.ts";
import type { ForkRequest } from "../../../delegations/replay/plan-fork.ts";
import { askWorkersOnce } from "../../../events/is-worked-on.ts";
import { openStore } from "../../../open-store.ts";
import { readRunOf } from "../../../sessions/read-run.ts";
import { defineRoute, type Host } from "../route.ts";
import { describeRow, describeRun, runDetail, runRow } from "./describe-run.ts";
import {
  eventPage,
  eventQuery,
  eventRow,
  limitOf,
  pageOf,
  pageQuery,
  pageSchema,
  readCursor,
} from "./paging.ts";
import { requireServed, sessionOf } from "./place-of-request.ts";
import {
  countIn,
  flag,
  listOf,
  longestWaitMs,
  plainData,
  profileName,
  runId,
  whoever,
} from "./shared-schemas.ts";
import {
  describeStarted,
  startedRun,
  startRun,
  startRunBody,
  untilFinished,
  urlOfRun,
} from "./start-run.ts";
import {
  cancelBody,
  cancelReply,
  cancelWork,
  interruptBody,
  interruptReply,
  interruptWork,
  resumeBody,
  resumedRun,
  resumeWork,
} from "./steer-work.ts";

const verification = z.object({
  ok: z.boolean(),
  events: z.number(),
  delegations: z.number(),
  violations: listOf(
    plainData<{ readonly invariant: string; readonly message: string }>(
      "{ invariant, runId?, delegationId?, seq?, message }",
    ),
  ),
});

const differences = listOf(
  plainData<{ readonly path: string; readonly message: string }>("{ path, message }"),
);

const comparison = z.object({
  isSame: z.boolean(),
  runId: z.string(),
  other: z.string(),
  differences,
});

const replayedRun = z.object({
  isSame: z.boolean(),
  runId: z.string(),
  delegations: z.number(),
  events: z.number(),
  isFinished: z.boolean(),
  differences,
});

const forkBody = z.strictObject({
  at: z
    .int()
    .min(1)
    .meta({ description: "The last event to share, by its number in the run (`run_seq`)." }),
  profile: whoever
    .optional()
    .meta({ description: "The profile that continues; default: the old one." }),
  model: z.string().min(1).max(200).optional(),
  task: z
    .string()
    .min(1)
    .max(1_000_000)
    .optional()
    .meta({ description: "The next message; default: a request to continue." }),
});

export const forkedRun = z.object({
  runId: z.string(),
  delegationId: z.string(),
  url: z.string(),
  turns: z.number().meta({ description: "The turns of the old root agent that it shares." }),
  sharedUpTo: z.number().meta({ description: "The last event that it shares." }),
});

const tag = "runs";
const params = z.object({ runId });

export const runRoutes = [
  defineRoute({
    id: "listRuns",
    method: "GET",
    path: "/runs",
    summary: "Lists runs, the newest first.",
    tag,
    role: "viewer",
    query: z.strictObject({
      ...pageQuery,
      open: flag.optional().meta({ description: "Only open runs." }),
      outcome: z.enum(["succeeded", "failed", "cancelled"]).optional(),
      application: z.string().max(200).optional(),
      profile: profileName.optional(),
      model: z.string().max(400).optional().meta({ description: "`provider/model` of the root." }),
      startedBy: z.string().max(200).optional().meta({ description: "The name of a token." }),
      workspace: z.string().max(4096).optional(),
    }),
    reply: pageSchema(runRow),
    async handle({ query }, { runtime: { store, workFolder } }) {
      const { cursor: _, limit: __, open, ...filters } = query;
      const before = readCursor("runs", query, runId);
      const rows = await store.listRuns({
        limit: limitOf(query) + 1,
        ...(before !== undefined && { before }),
        ...(open === true && { open }),
        ...withoutAbsent(filters),
      });
      const page = pageOf("runs", rows, query, ({ id }) => id);
      const around = {
        workers: askWorkersOnce(store),
        copies: new Set(await copiesIn(workFolder)),
      };
      const items = [];
      for (const row of page.items) items.push(await describeRow(store, row, around));
      return { items, nextCursor: page.nextCursor };
    },
  }),
  defineRoute({
    id: "startRun",
    method: "POST",
    path: "/runs",
    summary: "Starts a run from a task, a plan or a workflow script.",
    tag,
    role: "operator",
    body: startRunBody,
    reply: startedRun,
    status: 201,
    async handle({ body, isPage, principal, signal }, host) {
      const started = await startRun(host, body, { by: principal, isTyped: isPage });
      return describeStarted(host, started, body.wait ?? 0, signal);
    },
  }),
  defineRoute({
    id: "getRun",
    method: "GET",
    path: "/runs/:runId",
    summary: "Shows a run and its tree of delegations. With wait, waits for its end.",
    tag,
    role: "viewer",
    cost: 5,
    params,
    query: z.strictObject({ wait: countIn(0, longestWaitMs).optional() }),
    reply: runDetail,
    async handle({ params: { runId: id }, query: { wait = 0 }, signal }, { runtime }) {
      const { clock, store, workFolder } = runtime;
      const run = await readRunOf(store, id);
      const isOver = wait === 0 || run.outcome !== null;
      if (!isOver) await untilFinished(runtime, id, { waitMs: wait, signal });
      const shown = isOver ? run : await readRunOf(store, id);
      const copies = new Set(await copiesIn(workFolder));
      return describeRun(store, shown, { copies, now: clock.now() });
    },
  }),
  defineRoute({
    id: "cancelRun",
    method: "POST",
    path: "/runs/:runId/cancel",
    summary: "Cancels a run and all its delegations. It can be resumed.",
    tag,
    role: "operator",
    params,
    body: cancelBody,
    reply: cancelReply,
    handle: ({ body, params: { runId: id }, principal }, host) =>
      cancelWork(host, id, principal, body.reason),
  }),
  defineRoute({
    id: "interruptRun",
    method: "POST",
    path: "/runs/:runId/interrupt",
    summary:
      "Interrupts a run that this server works on: its main agent stops, its sub-agents by their contracts, or the run after them.",
    tag,
    role: "operator",
    params,
    body: interruptBody,
    reply: interruptReply,
    handle: ({ body, params: { runId: id }, principal }, host) =>
      interruptWork(host, id, principal, body),
  }),
  defineRoute({
    id: "resumeRun",
    method: "POST",
    path: "/runs/:runId/resume",
    summary:
      "Resumes a run: one that was paused or interrupted continues, one that was cancelled or failed continues as a new run.",
    tag,
    role: "operator",
    params,
    body: resumeBody,
    reply: resumedRun,
    status: 202,
    handle: ({ body, params: { runId: id }, principal }, host) =>
      resumeWork(host, id, principal, body),
  }),
  defineRoute({
    id: "forkRun",
    method: "POST",
    path: "/runs/:runId/fork",
    summary: "Starts a new run that shares the history of another one up to an event.",
    tag,
    role: "operator",
    cost: 5,
    params,
    body: forkBody,
    reply: forkedRun,
    status: 201,
    handle: ({ body, params: { runId: id }, principal }, host) =>
      forkRun(host, { runId: id, ...body }, principal),
  }),
  defineRoute({
    id: "listRunEvents",
    method: "GET",
    path: "/runs/:runId/events",
    summary: "Lists the events of a run, in order.",
    tag,
    role: "viewer",
    params,
    query: eventQuery,
    reply: pageSchema(eventRow),
    async handle({ params: { runId: id }, query }, { runtime: { store } }) {
      await readRunOf(store, id);
      return eventPage(store, { runId: id }, query);
    },
  }),
  defineRoute({
    id: "verifyRun",
    method: "GET",
    path: "/runs/:runId/verification",
    summary: "Verifies the log of a run against all invariants.",
    tag,
    role: "viewer",
    cost: 50,
    params,
    reply: verification,
    async handle({ params: { runId: id } }, { runtime: { store, wholeStore } }) {
      await readRunOf(store, id);
      const { verifyHome } = await import("../../../application/verify-home.ts");
      // The check needs unfiltered rows; `runId` limits it to the run that the caller was found to
      // see.
      return verifyHome(wholeStore, { places: null, runId: id });
    },
  }),
  defineRoute({
    id: "compareRuns",
    method: "GET",
    path: "/runs/:runId/comparison",
    summary: "Compares two recorded runs.",
    tag,
    role: "viewer",
    cost: 50,
    params,
    query: z.strictObject({ with: runId }),
    reply: comparison,
    async handle({ params: { runId: id }, query: { with: other } }, { runtime: { store } }) {
      await readRunOf(store, id);
      await readRunOf(store, other);
      const differences = await compareStoredRuns(store, id, other);
      return { isSame: differences.length === 0, runId: id, other, differences };
    },
  }),
  defineRoute({
    id: "replayRun",
    method: "POST",
    path: "/runs/:runId/replay",
    summary: "Replays a recorded run from its log, and lists the differences.",
    tag,
    role: "operator",
    cost: 50,
    params,
    reply: replayedRun,
    async handle({ params: { runId: id } }, { runtime: { store } }) {
      await readRunOf(store, id);
      const memory = await openStore({ database: ":memory:" });
      try {
        const replayed = await replay(store, id, memory);
        return { isSame: replayed.differences.length === 0, ...replayed };
      } finally {
        await memory.close();
      }
    },
  }),
];

/** Without the filters that were not given. */
function withoutAbsent<Filters extends object>(
  filters: Filters,
): {
  readonly [Name in keyof Filters]: NonNullable<Filters[Name]>;
} {
  const given = Object.entries(filters).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as ReturnType<typeof withoutAbsent<Filters>>;
}

/** Forks a run for the caller, if this server serves its folder. */
async function forkRun(
  host: Host,
  request: ForkRequest,
  by: Principal,
): Promise<z.infer<typeof forkedRun>> {
  const { origin, runtime } = host;
  const { session, workspace } = await readRunOf(runtime.store, request.runId);
  await requireServed(host, workspace);
  const isOwn = session?.id.startsWith(sessionOf(by, "") ?? "") === true;
  // The session of another principal is not used; only its read-only mode is kept.
  const place: ForkPlace = {
    ...{ by, isRealWorkspace: true },
    ...(!isOwn && { session: undefined }),
    ...(!isOwn && session?.read_only === true && { readOnly: true }),
  };
  const forks = host.forks ?? new Forks();
  const { delegationId, runId, sharedUpTo, turns } = await forks.fork(runtime, request, place);
  return { runId, delegationId, url: urlOfRun(origin, runId), turns, sharedUpTo };
}
