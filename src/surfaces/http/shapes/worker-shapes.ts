import { z } from "zod";
import { listOf, moment } from "./plain-data.ts";

const worker = z.object({
  worker: z.string(),
  isSelf: z.boolean().meta({ description: "The process that answers." }),
  isAlive: z.boolean().meta({ description: "False: what it worked on is taken up by others." }),
  takesWork: z.boolean().meta({ description: "It takes delegations out of queues." }),
  host: z.string().nullable(),
  pid: z.number().nullable(),
  startedAt: moment.nullable(),
  goneSince: moment.nullable().meta({ description: "Null: it lives, or nobody knows since when." }),
  delegations: z.number().nullable().meta({ description: "Taken out of queues, and not done." }),
  openRuns: z.number().meta({ description: "Those that are its own alone." }),
});

export const workerList = z.object({
  engine: z.enum(["local", "dbos"]).meta({
    description: "local: whoever starts a run works on it. dbos: it waits in a queue for a worker.",
  }),
  items: listOf(worker),
  isComplete: z.boolean().meta({ description: "False: there are more than are shown or counted." }),
});

const most = z.number().nullable();

const queue = z.object({
  name: z.string(),
  waiting: z.number(),
  working: z.number(),
  waitingSince: moment.nullable().meta({ description: "Of the one that waits longest." }),
  limits: z
    .object({ all: most, worker: most, tenant: most })
    .meta({ description: "At work at the same time, at each depth of a tree; null: no limit." }),
});

export const queueList = z.object({
  items: listOf(queue).meta({ description: "None where whoever starts a run works on it." }),
  isComplete: z.boolean().meta({ description: "False: there are more than were counted." }),
});
