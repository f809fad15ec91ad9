import { z } from "zod";
import { roles } from "../../../control/records/principal.ts";
import { costGroups } from "../../../sessions/cost-report.ts";
import { listOf, moment, plainData } from "./plain-data.ts";
import { estimated } from "./result-shapes.ts";

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
