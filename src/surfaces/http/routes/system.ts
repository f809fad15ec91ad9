import { z } from "zod";
import { roles, seesAllRuns } from "../../../control/records/principal.ts";
import { diagnoseMachine } from "../../../diagnose.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Store } from "../../../ports/store.ts";
import { productVersion } from "../../../product-version.ts";
import type { Runtime } from "../../../runtime.ts";
import { costGroups, costReport as reportCosts } from "../../../sessions/cost-report.ts";
import { defineRoute } from "../route.ts";
import { estimated } from "./describe-delegation.ts";
import { countIn, flag, listOf, moment, plainData } from "./shared-schemas.ts";

const me = z.object({
  id: z.string(),
  role: z.enum(roles as readonly ["viewer", "operator", "admin"]),
  allRuns: z.boolean().meta({ description: "False: only the runs of this token." }),
  workspaces: listOf(z.string()).meta({ description: "The folders of this server." }),
});

const worker = z.object({
  worker: z.string(),
  isSelf: z.boolean().meta({ description: "True for the process that answers." }),
  isAlive: z
    .boolean()
    .meta({ description: "False: its runs are orphaned until a process recovers them." }),
  openRuns: z.number(),
});

const health = z.object({
  ok: z.boolean(),
  version: z.string(),
  startedAt: moment,
  uptimeMs: z.number(),
  database: z.object({ ok: z.boolean(), problem: z.string().nullable() }),
  worker: z.string(),
  workers: listOf(worker).meta({ description: "This process, and all owners of open runs." }),
  openRuns: z.number().meta({ description: "1000 means 1000 or more." }),
  liveRuns: z.number().meta({ description: "Open runs of this process." }),
});

const system = z.object({
  version: z.string(),
  node: z.object({ version: z.string(), isSupported: z.boolean() }),
  programs: z.record(z.string(), z.boolean()),
  database: z.object({ synchronous: z.string() }).meta({
    description: "full: commits survive a power loss.",
  }),
  enforcement: z.object({ files: z.string(), shell: z.string(), copies: z.string() }),
  models: z.object({
    default: z.string().nullable().meta({ description: "Null: no model is configured." }),
    problem: z.string().nullable().meta({
      description: "Why the default model cannot answer, and what to do; null: no known problem.",
    }),
    hasPrice: z.boolean(),
    pricesAsOf: z.string(),
    providers: listOf(
      z.object({ provider: z.string(), isUsable: z.boolean(), set: z.string().optional() }),
    ),
    local: listOf(plainData<Readonly<Record<string, unknown>>>("A local server that answers.")),
    pools: listOf(
      z.object({ pool: z.string(), models: listOf(z.string()), first: z.string().nullable() }),
    ),
  }),
  limits: z.object({
    runTokens: z.number(),
    maxChildren: z.number(),
    maxDepth: z.number(),
    maxConcurrent: z.number(),
  }),
});

const amounts = { prompt: z.number(), completion: z.number(), cost: z.number(), estimated };

const costGroup = z.enum(costGroups);

const costReport = z.object({
  by: costGroup,
  items: listOf(z.object({ key: z.string(), ...amounts })).meta({
    description: "The key is empty where it is not known, as for the person of a deleted run.",
  }),
  days: listOf(z.object({ key: z.string(), day: z.string(), ...amounts })).meta({
    description: "With `daily`: what each of these items spent on each day in UTC, latest first.",
  }),
  total: z.object(amounts),
  runs: z.number().meta({ description: "The number of runs that were read, newest first." }),
  isComplete: z.boolean().meta({ description: "False: older runs are missing." }),
});

const tag = "system";
const mostCounted = 1000;

export const systemRoutes = [
  defineRoute({
    id: "getMe",
    method: "GET",
    path: "/me",
    summary: "Shows the caller's id and role, and the folders of this server.",
    tag,
    role: "viewer",
    reply: me,
    handle: ({ principal }, { workspaces }) => {
      const { id, role } = principal;
      return { id, role, allRuns: seesAllRuns(principal), workspaces };
    },
  }),
  defineRoute({
    id: "getHealth",
    method: "GET",
    path: "/health",
    summary: "Shows whether this server works, and its load.",
    tag,
    role: "viewer",
    reply: health,
    async handle(_request, { runtime, startedAt }) {
      const { clock, engine, store } = runtime;
      const { openRuns, problem, workers } = await lookAtDatabase(store);
      const live = await Promise.all(engine.liveRuns.map(({ id }) => isSeen(store, id)));
      return {
        ok: problem === null,
        version: productVersion,
        startedAt,
        uptimeMs: clock.now() - startedAt,
        database: { ok: problem === null, problem },
        worker: store.ownership.worker,
        workers,
        openRuns,
        liveRuns: live.filter(Boolean).length,
      };
    },
  }),
  defineRoute({
    id: "getSystem",
    method: "GET",
    path: "/system",
    summary: "Shows what this machine can enforce, and which models are available.",
    tag,
    role: "viewer",
    cost: 20,
    reply: system,
    async handle(_request, { runtime }) {
      const { agents, database, limits } = runtime.config;
      const { enforcement, models, node, programs } = await lookAtMachine(runtime);
      const isThere = ([name, path]: [string, string | null]) => [name, path !== null] as const;
      return {
        version: productVersion,
        node,
        programs: Object.fromEntries(Object.entries(programs).map(isThere)),
        database: { synchronous: database.synchronous },
        enforcement,
        // The address of a model server may contain a password.
        models: { ...models, local: models.local.map(({ baseUrl: _, ...endpoint }) => endpoint) },
        limits: {
          runTokens: limits.runTokens,
          maxChildren: limits.maxChildren,
          maxDepth: agents.delegation.maxDepth,
          maxConcurrent: agents.delegation.maxConcurrent,
        },
      };
    },
  }),
  defineRoute({
    id: "getCosts",
    method: "GET",
    path: "/costs",
    summary: "Sums up costs by run, profile, model, day, folder or person.",
    tag,
    role: "viewer",
    cost: 20,
    query: z.strictObject({
      by: costGroup.optional().meta({ description: "Default: day." }),
      since: countIn(0, Number.MAX_SAFE_INTEGER).optional().meta({
        description: "Only runs that started at this time or later, in milliseconds since 1970.",
      }),
      limit: countIn(1, 200).optional(),
      daily: flag.optional().meta({ description: "Also by day." }),
    }),
    reply: costReport,
    async handle({ query: { by = "day", limit = 50, ...query } }, { runtime: { store } }) {
      const { lines, ...report } = await reportCosts(store, { by, limit, ...query });
      return { by, items: lines, ...report };
    },
  }),
];

interface DatabaseLook {
  readonly openRuns: number;
  readonly workers: z.infer<typeof health>["workers"];
  readonly problem: string | null;
}

async function lookAtDatabase(store: Store): Promise<DatabaseLook> {
  const self = store.ownership.worker;
  try {
    const open = await store.listRuns({ open: true, limit: mostCounted });
    const counts = new Map([[self, 0]]);
    for (const { worker } of open) counts.set(worker, (counts.get(worker) ?? 0) + 1);
    const workers = await Promise.all(
      [...counts].map(async ([worker, openRuns]) => {
        const isSelf = worker === self;
        return { worker, isSelf, isAlive: isSelf || (await store.isWorkerAlive(worker)), openRuns };
      }),
    );
    return { openRuns: open.length, workers, problem: null };
  } catch (error) {
    // The response has only the code of the error.
    const code = error instanceof MandateError ? error.code : "database-unusable";
    const problem = `The database cannot be read (${code}).`;
    return { openRuns: 0, workers: [], problem };
  }
}

/** A failed read counts as unseen: the response reports the database problem anyway. */
async function isSeen(store: Store, runId: string): Promise<boolean> {
  const found = await store.findRun(runId).catch(() => undefined);
  return found !== undefined;
}

type Machine = Awaited<ReturnType<typeof diagnoseMachine>>;

/** The diagnosis takes half a second, and its result rarely changes. */
const patienceMs = 60_000;
const looks = new WeakMap<Runtime, { readonly at: number; readonly machine: Promise<Machine> }>();

function lookAtMachine(runtime: Runtime): Promise<Machine> {
  const now = runtime.clock.monotonic();
  const known = looks.get(runtime);
  if (known !== undefined && now - known.at < patienceMs) return known.machine;
  // The default model of this process, which a flag or a playbook may have set.
  const { defaultModel } = runtime.models;
  const environment = { ...process.env, MANDATE_MODEL: defaultModel ?? undefined };
  const machine = diagnoseMachine(environment, runtime.config);
  machine.catch(() => looks.delete(runtime));
  looks.set(runtime, { at: now, machine });
  return machine;
}
