import { z } from "zod";
import { readUsedLimits } from "../../../application/used-limits.ts";
import { limitValue } from "../../../control/records/limit-records.ts";
import { defineRoute } from "../route.ts";
import { countIn, listOf, moment } from "./shared-schemas.ts";

const scope = z
  .string()
  .min(1)
  .max(100)
  .meta({ description: "tenant, queue/NAME or provider/NAME" });

const used = z
  .object({
    concurrency: z.number(),
    requestsPerMinute: z.number(),
    tokensPerMinute: z.number(),
    dollarsPerDay: z.number(),
  })
  .meta({
    description: "What is used now, of every kind; dollars with what is held for requests.",
  });

const limitRow = z.object({
  scope,
  value: limitValue,
  version: z.number(),
  setBy: z.string(),
  setAt: moment,
  used: used.nullable().meta({ description: "Null: this store does not count." }),
});

const limitList = z.object({ limits: listOf(limitRow) });

const putLimitBody = z.strictObject({
  scope,
  value: limitValue,
  version: z.int().min(0).meta({ description: "That was read; 0: no limit is stored." }),
});

const storedLimit = limitRow.omit({ used: true });

const stopRow = z.object({ scope: z.string(), setBy: z.string(), setAt: moment });

const stopList = z.object({ stops: listOf(stopRow) });

const putStopBody = z.strictObject({
  scope: z
    .string()
    .min(1)
    .max(100)
    .meta({ description: "queue/NAME, worker/ID (its `executor`) or version/VERSION" }),
  stopped: z.boolean(),
});

const stopChange = z.object({
  changed: z.boolean().meta({ description: "False: it was so already." }),
});

const tag = "system";

export const limitRoutes = [
  defineRoute({
    id: "listLimits",
    method: "GET",
    path: "/limits",
    summary: "Lists the limits on model requests, with who set each and what is used.",
    tag,
    role: "viewer",
    reply: limitList,
    async handle(_request, { runtime: { control, store } }) {
      const limits = await readUsedLimits(control.plane, store);
      return { limits };
    },
  }),
  defineRoute({
    id: "putLimit",
    method: "PUT",
    path: "/limits",
    summary: "Sets the limits of a scope. They count for all processes, within a second.",
    tag,
    role: "admin",
    body: putLimitBody,
    reply: storedLimit,
    handle: ({ body: { scope: asked, value, version }, principal }, { runtime: { control } }) =>
      control.plane.setLimit(asked, value, version, principal),
  }),
  defineRoute({
    id: "deleteLimit",
    method: "DELETE",
    path: "/limits",
    summary: "Removes the limits of a scope.",
    tag,
    role: "admin",
    query: z.object({ scope, version: countIn(1, Number.MAX_SAFE_INTEGER) }),
    reply: null,
    status: 204,
    async handle({ principal, query }, { runtime: { control } }) {
      await control.plane.removeLimit(query.scope, query.version, principal);
      return null;
    },
  }),
  defineRoute({
    id: "listStops",
    method: "GET",
    path: "/stops",
    summary: "Lists paused queues and drained workers, with who stopped each.",
    tag,
    role: "viewer",
    reply: stopList,
    handle: async (_request, { runtime: { control } }) => ({ stops: await control.plane.stops() }),
  }),
  defineRoute({
    id: "putStop",
    method: "PUT",
    path: "/stops",
    summary:
      "Pauses a queue, or drains a worker or all workers of a version; or lets it take work again.",
    tag,
    role: "operator",
    body: putStopBody,
    reply: stopChange,
    handle: async ({ body: { scope: asked, stopped }, principal }, { runtime: { control } }) => ({
      changed: await control.plane.setStop(asked, stopped, principal),
    }),
  }),
];
