import { z } from "zod";
import {
  mcpServer,
  modelName,
  profileName,
  profileSchema,
  serverName,
  workspacePath,
} from "../agents/profiles/profile-schema.ts";
import { tokenPriceSchema } from "../contracts/parse-contract.ts";
import { reportPatternProblem } from "./report-pattern-problem.ts";

/** The keys of a configuration file. All are optional, and unknown keys are errors. */

const count = z.int().positive();
// A timer of the platform fires at once above this.
const milliseconds = count.max(2 ** 31 - 1);

/**
 * The profiles of `tools.spawn`, where an empty text or list means the default, and empty tools
 * mean all.
 */
const spawnProfile = z.strictObject({
  description: z.string().optional(),
  system_prompt: z.string().optional(),
  system_prompt_file: z.literal("").or(workspacePath).optional(),
  bootstrap_files: z.array(workspacePath).optional(),
  tools: z.array(z.string().regex(/^[^\s*]+$/, "must be one name without spaces or *")).optional(),
  pool: z.string().optional(),
});

export type SpawnProfileSettings = z.infer<typeof spawnProfile>;

const delegation = z.strictObject({
  enabled: z.boolean().optional(),
  maxDepth: count.optional(),
  defaultTimeout: milliseconds.optional(),
  maxConcurrent: count.optional(),
  tokenBudget: z.strictObject({ default: count.optional(), max: count.optional() }).optional(),
  profiles: z.strictObject({ directory: z.string().min(1).optional() }).optional(),
  context: z
    .strictObject({
      sealOnComplete: z.boolean().optional(),
      brainWriteScope: z.enum(["none", "delegated", "shared"]).optional(),
    })
    .optional(),
  onUnknown: z.enum(["error", "fallback"]).optional(),
  defaultAgent: z.string().min(1).optional(),
});

const provider = z
  .strictObject({
    kind: z.enum(["anthropic", "google", "openai", "openai-chat", "openai-compatible"]),
    baseUrl: z.url({ protocol: /^https?$/, error: "must be an http or https URL" }).optional(),
    apiKey: z.string().min(1).optional(),
    apiKeyEnv: z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be the name of an environment variable")
      .optional(),
    headers: z.record(z.string(), z.string()).optional(),
  })
  .refine(({ apiKey, apiKeyEnv }) => apiKey === undefined || apiKeyEnv === undefined, {
    path: ["apiKeyEnv"],
    error: 'has the same meaning as "apiKey"; keep one of them',
  });

const poolName = z
  .string()
  .regex(/^[A-Za-z0-9][\w.-]{0,63}$/, "must be 1 to 64 letters, digits, - _ or .");
/** The models of a pool are tried one by one, so a pattern is not allowed. */
const oneModel = modelName.refine((name) => !name.includes("*"), "must be one model, without *");
const pool = z.union([
  oneModel.transform((name): string[] => [name]),
  z.array(oneModel).min(1).max(50),
]);

const host = z.string().regex(/^(?:\*\.)?[^\s*/:]{1,253}$/, "must be a host, or *. and a domain");

const models = z.strictObject({
  default: modelName.optional(),
  defaultPool: z.string().min(1).optional(),
  allow: z.array(modelName).optional(),
  providers: z.record(profileName, provider).optional(),
  prices: z.record(modelName, tokenPriceSchema).optional(),
  pools: z.record(poolName, pool).optional(),
});

const check = z
  .string()
  .trim()
  .min(1)
  .max(2000)
  .refine((line) => !line.includes("\0") && line.isWellFormed(), "holds what no command can");

const reportPathPattern = z.string().superRefine((pattern, context) => {
  const problem = reportPatternProblem(pattern);
  if (problem !== undefined) context.addIssue(problem);
});

const queue = z.strictObject({
  profiles: z.array(z.string()).max(1000).optional(),
  providers: z.array(z.string()).max(100).optional(),
  concurrency: count.optional(),
  workerConcurrency: count.optional(),
  tenantConcurrency: count.optional(),
  priority: count.optional(),
});

export const configSchema = z.strictObject({
  agents: z.strictObject({ delegation: delegation.optional() }).optional(),
  tools: z
    .strictObject({
      spawn: z
        .strictObject({
          enabled: z.boolean().optional(),
          explicit_tools: z.enum(["select", "override"]).optional(),
          profiles: z.record(profileName, spawnProfile).optional(),
        })
        .optional(),
      shell: z
        .strictObject({
          enabled: z.boolean().optional(),
          network: z.boolean().optional(),
          unsandboxed: z.boolean().optional(),
        })
        .optional(),
    })
    .optional(),
  models: models.optional(),
  mcp: z.strictObject({ servers: z.record(serverName, mcpServer).optional() }).optional(),
  sandbox: z
    .strictObject({
      memoryMb: z.int().min(64).optional(),
      processes: z.int().min(16).max(1_000_000).optional(),
      unixSockets: z.boolean().optional(),
    })
    .optional(),
  network: z
    .strictObject({
      allow: z.union([z.literal("*"), z.array(host)]).optional(),
      waysOut: z.union([z.literal("*"), z.array(z.string().min(1).max(300))]).optional(),
      allowPrivate: z
        .array(z.string().regex(/^[^\s/]+:\d{1,5}$/, "must be written host:port"))
        .optional(),
    })
    .optional(),
  profiles: z.record(profileName, profileSchema).optional(),
  execution: z
    .strictObject({
      attemptTimeoutMs: milliseconds.optional(),
      maxRetries: z.int().nonnegative().optional(),
    })
    .optional(),
  limits: z
    .strictObject({
      runTokens: count.optional(),
      maxChildren: count.optional(),
      joinTokens: count.optional(),
    })
    .optional(),
  deadlines: z
    .strictObject({
      firstTokenMs: milliseconds.optional(),
      stallMs: milliseconds.optional(),
      toolMs: milliseconds.optional(),
      idleMs: milliseconds.optional(),
    })
    .optional(),
  retry: z
    .strictObject({
      maxAttempts: count.optional(),
      initialDelayMs: milliseconds.optional(),
      maxDelayMs: milliseconds.optional(),
    })
    .optional(),
  ask: z
    .strictObject({ deadlineMs: milliseconds.optional(), default: z.string().optional() })
    .optional(),
  integration: z
    .strictObject({ checks: z.array(check).max(20).optional(), approval: z.boolean().optional() })
    .optional(),
  outputs: z.strictObject({ report_path_pattern: reportPathPattern.optional() }).optional(),
  database: z
    .strictObject({
      synchronous: z.enum(["full", "normal"]).optional(),
      url: z.string().optional(),
      tenant: z
        .string()
        .regex(/^[a-z][a-z0-9_]{0,30}$/, "at most 31 small letters, digits and _")
        .optional(),
      artifacts: z
        .strictObject({
          endpoint: z.url({ protocol: /^https?$/ }).max(500),
          bucket: z
            .string()
            .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, "must be the name of a bucket"),
          prefix: z
            .string()
            .regex(/^[A-Za-z0-9_-][A-Za-z0-9_./-]{0,199}$/, "letters, digits and _ . / -")
            .optional(),
          region: z
            .string()
            .regex(/^[a-z0-9-]{1,40}$/, "must be the name of a region")
            .optional(),
        })
        .optional(),
    })
    .optional(),
  retention: z
    .strictObject({
      days: z.int().min(1).max(36_500).optional(),
      keepFailed: z.boolean().optional(),
    })
    .optional(),
  engine: z
    .strictObject({
      kind: z.enum(["local", "dbos"]).optional(),
      workspaces: z.enum(["shared", "bundle"]).optional(),
      schema: z
        .string()
        .regex(/^[a-z][a-z0-9_]{0,62}$/)
        .optional(),
      queues: z.record(z.string().regex(/^[a-z][a-z0-9-]{0,30}$/), queue).optional(),
    })
    .optional(),
});

export type ConfigFile = z.infer<typeof configSchema>;

/** The JSON Schemas of configuration and profiles for editors, by file name. */
export function publishedSchemas(): Readonly<Record<string, object>> {
  return {
    "mandate.schema.json": schemaOf(configSchema, "Mandate's configuration: mandate.yaml"),
    "profile.schema.json": schemaOf(
      profileSchema,
      "A Mandate profile: its front matter, or all of it",
    ),
  };
}

/** The schema of the input: a single model is allowed where a list results. */
function schemaOf(schema: z.ZodType, title: string): object {
  return { ...z.toJSONSchema(schema, { io: "input", reused: "ref" }), title };
}
