import { z } from "zod";
import { roles, seesAllRuns } from "../../../control/records/principal.ts";
import { diagnoseMachine } from "../../../diagnose.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Store } from "../../../ports/store.ts";
import { productVersion } from "../../../product-version.ts";
import type { Runtime } from "../../../runtime.ts";
import { costGroups, costReport as reportCosts } from "../../../sessions/cost-report.ts";
import { defineRoute, type Route } from "../route.ts";
import { estimated } from "./describe-delegation.ts";
import { countIn, listOf, moment, plainData } from "./shared-schemas.ts";

export const me = z.object({
  id: z.string(),
  role: z.enum(roles as readonly ["viewer", "operator", "admin"]),
  allRuns: z.boolean().meta({ description: "False: only the runs that this token started." }),
  workspaces: listOf(z.string()).meta({ description: "The folders that this server works in." }),
});

const worker = z.object({
  worker: z.string(),
  isSelf: z.boolean().meta({ description: "The process that answers." }),
  isAlive: z.boolean().meta({ description: "False: what it worked on waits to be taken up." }),
  openRuns: z.number(),
});

export const health = z.object({
  ok: z.boolean(),
  version: z.string(),
  startedAt: moment,
  uptimeMs: z.number(),
  database: z.object({ ok: z.boolean(), problem: z.string().nullable() }),
  worker: z.string(),
  workers: listOf(worker).meta({ description: "This one, and those whose runs are open." }),
  openRuns: z.number().meta({ description: "A thousand stands for as many, or more." }),
  liveRuns: z.number().meta({ description: "Those that this process works on." }),
});

export const system = z.object({
  version: z.string(),
  node: z.object({ version: z.string(), isSupported: z.boolean() }),
  programs: z.record(z.string(), z.boolean()),
  database: z.object({ synchronous: z.string() }).meta({
    description: "full: what was committed survives a power cut.",
  }),
  enforcement: z.object({ files: z.string(), shell: z.string(), copies: z.string() }),
  models: z.object({
    default: z.string().nullable().meta({ description: "Null: no model is configured." }),
    problem: z.string().nullable().meta({
      description: "Why the default cannot answer, and what to do; null: nothing is known.",
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

export const costGroup = z.enum(costGroups);

export const costReport = z.object({
  by: costGroup,
  items: listOf(z.object({ key: z.string(), ...amounts })),
  total: z.object(amounts),
  runs: z.number().meta({ description: "How many were looked at, the newest first." }),
  isComplete: z.boolean().meta({ description: "False: older runs are not in it." }),
});

const tag = "system";
const mostCounted = 1000;

export const systemRoutes: readonly Route[] = [
  defineRoute({
    id: "getMe",
    method: "GET",
    path: "/me",
    summary: "Says who asks, with which role, and in which folders this server works.",
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
    summary: "Says whether this server can work, and how much it has to do.",
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
    summary: "Says what this machine can enforce, and which models can be reached.",
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
        // The address of a server may have somebody's password in it.
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
    summary: "Sums up what was spent: by run, profile, model or day.",
    tag,
    role: "viewer",
    cost: 20,
    query: z.strictObject({
      by: costGroup.optional().meta({ description: "day, unless said." }),
      since: countIn(0, Number.MAX_SAFE_INTEGER)
        .optional()
        .meta({ description: "Milliseconds since 1970: of runs that started then or later." }),
      limit: countIn(1, 200).optional(),
    }),
    reply: costReport,
    async handle({ query: { by = "day", limit = 50, since } }, { runtime: { store } }) {
      const { isComplete, lines, runs, total } = await reportCosts(store, { by, limit, since });
      return { by, items: lines, total, runs, isComplete };
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
    // What is wrong in detail is for the server's own log.
    const code = error instanceof MandateError ? error.code : "database-unusable";
    const problem = `The database cannot be read (${code}).`;
    return { openRuns: 0, workers: [], problem };
  }
}

/** What cannot be asked for is not counted; the answer says already that something is wrong. */
async function isSeen(store: Store, runId: string): Promise<boolean> {
  const found = await store.findRun(runId).catch(() => undefined);
  return found !== undefined;
}

type Machine = Awaited<ReturnType<typeof diagnoseMachine>>;

/** Looking takes half a second, and a machine does not change from one request to the next. */
const patienceMs = 60_000;
const looks = new WeakMap<Runtime, { readonly at: number; readonly machine: Promise<Machine> }>();

function lookAtMachine(runtime: Runtime): Promise<Machine> {
  const now = runtime.clock.monotonic();
  const known = looks.get(runtime);
  if (known !== undefined && now - known.at < patienceMs) return known.machine;
  // The model that answers here: a flag, or a playbook, may say another one than the environment.
  const { defaultModel } = runtime.models;
  const environment = { ...process.env, MANDATE_MODEL: defaultModel ?? undefined };
  const machine = diagnoseMachine(environment, runtime.config);
  machine.catch(() => looks.delete(runtime));
  looks.set(runtime, { at: now, machine });
  return machine;
}
