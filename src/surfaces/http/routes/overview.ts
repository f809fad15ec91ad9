import { z } from "zod";
import { copiesIn, runsWithKeptWork } from "../../../application/kept-copies.ts";
import type { InboxItem } from "../../../events/inbox-item.ts";
import { askWorkersOnce } from "../../../events/is-worked-on.ts";
import type { RunRow } from "../../../ports/store.ts";
import type { Runtime } from "../../../runtime.ts";
import { costReport } from "../../../sessions/cost-report.ts";
import { harmlessLine } from "../../../sessions/harmless-text.ts";
import { Inbox } from "../../../sessions/inbox.ts";
import { defineRoute } from "../route.ts";
import { estimated } from "./describe-delegation.ts";
import { describeRow, runRow } from "./describe-run.ts";
import { inboxItem, withPersons } from "./inbox.ts";
import { listOf, moment } from "./shared-schemas.ts";

const spentDay = z.object({ day: z.string(), tokens: z.number(), cost: z.number(), estimated });

const overview = z.object({
  at: moment,
  open: z.object({
    items: listOf(runRow).meta({ description: "Open runs, latest first; interrupted ones too." }),
    total: z.number().meta({ description: "100 means 100 or more." }),
  }),
  waiting: z.object({
    items: listOf(inboxItem).meta({ description: "Open questions, the nearest deadline first." }),
    total: z.number().meta({ description: "100 means 100 or more." }),
  }),
  spent: z.object({
    days: listOf(spentDay).meta({ description: "The last seven days in UTC, latest first." }),
    isComplete: z.boolean().meta({ description: "False: some older runs are not counted." }),
  }),
  failed: listOf(runRow).meta({ description: "Runs of the last seven days that failed." }),
  recent: listOf(runRow).meta({ description: "The latest runs that have finished." }),
  keptWork: listOf(
    z.object({
      runId: z.string(),
      title: z.string(),
      delegationIds: listOf(z.string()),
      startedAt: moment,
    }),
  ).meta({ description: "Changes that are not merged and wait for a decision." }),
  workers: z
    .object({ alive: z.number(), gone: z.number() })
    .nullable()
    .meta({ description: "Null: this store has no list of its processes." }),
});

const mostShown = 8;
const mostRecent = 5;
const mostCounted = 100;
const mostKept = 20;
const dayMs = 86_400_000;
const shownDays = 7;
const titleLength = 300;

export const overviewRoutes = [
  defineRoute({
    id: "getOverview",
    method: "GET",
    path: "/overview",
    summary: "Shows what runs, what waits for a person, what was spent, and what failed.",
    tag: "system",
    role: "viewer",
    cost: 20,
    reply: overview,
    async handle(_request, { runtime }) {
      const { clock, store, workFolder } = runtime;
      const now = clock.now();
      const since = Math.floor(now / dayMs) * dayMs - (shownDays - 1) * dayMs;
      const [open, asks, costs, failures, latest, kept, workers] = await Promise.all([
        store.listRuns({ open: true, limit: mostCounted }),
        new Inbox(store).open({ limit: mostCounted }),
        costReport(store, { by: "day", limit: shownDays, since }),
        store.listRuns({ outcome: "failed", limit: mostShown }),
        store.listRuns({ limit: mostCounted }),
        runsWithKeptWork({ store, home: workFolder }, mostKept),
        store.workers?.(),
      ]);
      const urgent = asks.toSorted((a, b) => deadlineOf(a) - deadlineOf(b));
      const alive = workers?.filter(({ isAlive }) => isAlive).length ?? 0;
      return {
        at: now,
        open: { items: await described(runtime, open.slice(0, mostShown)), total: open.length },
        waiting: {
          items: await withPersons(store, urgent.slice(0, mostShown)),
          total: asks.length,
        },
        spent: {
          days: costs.lines.map(({ completion, cost, estimated: mark, key, prompt }) => ({
            ...{ day: key, tokens: prompt + completion, cost },
            ...(mark && { estimated: mark }),
          })),
          isComplete: costs.isComplete,
        },
        failed: await described(
          runtime,
          failures.filter(({ startedAt }) => startedAt >= since),
        ),
        recent: await described(
          runtime,
          latest.filter(({ finishedAt }) => finishedAt !== null).slice(0, mostRecent),
        ),
        keptWork: kept.slice(0, mostShown).map(({ delegationIds, run }) => ({
          runId: run.id,
          title: harmlessLine(run.task, titleLength),
          delegationIds,
          startedAt: run.startedAt,
        })),
        workers: workers === undefined ? null : { alive, gone: workers.length - alive },
      };
    },
  }),
];

async function described(
  { store, workFolder }: Pick<Runtime, "store" | "workFolder">,
  rows: readonly RunRow[],
): Promise<readonly z.infer<typeof runRow>[]> {
  const around = {
    workers: askWorkersOnce(store),
    copies: new Set(await copiesIn(workFolder)),
  };
  const items = [];
  for (const row of rows) items.push(await describeRow(store, row, around));
  return items;
}

function deadlineOf({ ask }: InboxItem): number {
  return ask?.deadlineAt ?? Number.MAX_SAFE_INTEGER;
}
