import { z } from "zod";
import { MandateError } from "../ports/mandate-error.ts";
import { parseJson } from "../ports/parse-json.ts";
import { knownAgents } from "./agent-runner.ts";
import { type Contract, memoryPermissions } from "./contract.ts";

/** At most a dollar for one token, so that sums stay exact enough. */
const rate = z.number().nonnegative().max(1_000_000);
const rates = {
  input: rate,
  output: rate,
  cachedInput: rate.optional(),
  cacheWrite: rate.optional(),
};

/** A price, in the configuration and in contracts. */
export const tokenPriceSchema = z.strictObject({
  ...rates,
  longPrompt: z.strictObject({ over: z.int().positive(), ...rates }).optional(),
});

const selection = z.union([z.literal("*"), z.array(z.string())]);

const rules = z.array(
  z.array(
    z.strictObject({
      tool: z.string().min(1),
      match: z.string().min(1).optional(),
      action: z.enum(["allow", "ask", "deny"]),
    }),
  ),
);

const authority = z.strictObject({
  tools: selection,
  skills: selection,
  mcp_servers: selection,
  models: selection,
  scopes: selection,
  write_roots: z.array(z.string()),
  network: selection,
  ways_out: selection.optional(),
  rules: rules.optional(),
});

const count = z.int().min(0);
const texts = z.record(z.string(), z.string());

const serverBase = {
  tools: z.array(z.string()).optional(),
  sharing: z.enum(["shared", "delegation"]).optional(),
  timeoutMs: count.optional(),
  disabled: z.boolean().optional(),
};

const server = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("stdio"),
    command: z.string().min(1),
    args: z.array(z.string()).optional(),
    env: texts.optional(),
    cwd: z.string().optional(),
    sandbox: z
      .union([
        z.literal(true),
        z.strictObject({
          network: z.array(z.string()).optional(),
          read: z.array(z.string()).optional(),
        }),
      ])
      .optional(),
    isOwn: z.literal(true).optional(),
    ...serverBase,
  }),
  z.strictObject({
    kind: z.literal("http"),
    url: z.string().min(1),
    headers: texts.optional(),
    ...serverBase,
  }),
]);

/** An `AgentRunner`, in contracts and in profiles. */
export const agentRunner = z.union([
  z.strictObject({ agent: z.enum(knownAgents), login: z.literal("own").optional() }),
  z.strictObject({ acp: z.array(z.string().min(1).max(4096)).min(1).max(100) }),
]);

const contractSchema = z.strictObject({
  version: z.literal(1),
  parent: z.strictObject({
    run_id: z.string().min(1),
    sub_agent_id: z.string().min(1).nullable(),
    watches: z.string().optional(),
    addresses: z.array(z.string()).optional(),
    carries: z.array(z.enum(["untrusted", "private"])).optional(),
    step_idx: count,
    depth: count,
    task_prompt: z.string(),
    goal_summary: z.string(),
  }),
  step: z.strictObject({
    title: z.string(),
    description: z.string(),
    context: z.string().nullable(),
    success_criteria: z.array(z.string()),
  }),
  profile: z.strictObject({
    id: z.string(),
    hash: z.string(),
    prompt: z.string(),
    agent: z.string().optional(),
    capability: z.enum(["primary", "watcher", "orchestrator"]).optional(),
  }),
  model: z.strictObject({
    provider: z.string().min(1),
    model: z.string().min(1),
    allow: selection,
    max_output_tokens: count,
    temperature: z.number().nullable(),
    top_p: z.number().optional(),
    effort: z.enum(["none", "minimal", "low", "medium", "high", "xhigh"]).optional(),
    context_window: z.int().positive().optional(),
    fallbacks: z.array(z.string()).optional(),
    prices: z.record(z.string(), tokenPriceSchema).optional(),
  }),
  runner: agentRunner.optional(),
  principal: z.strictObject({ id: z.string(), role: z.string() }),
  permissions: z.strictObject({
    allowed_tools: z.array(z.string()),
    can_spawn_children: z.boolean(),
    max_delegation_depth: count,
    beyond_depth: z.array(z.string()).optional(),
    beyond_budget: z.array(z.string()).optional(),
    skills: selection,
    mcp_servers: selection,
    scopes: selection,
    write_roots: z.array(z.string()),
    network: selection,
    ways_out: selection.optional(),
    unsandboxed: z.array(z.string()).optional(),
    memory: z.enum(memoryPermissions).optional(),
    rules: rules.optional(),
    may_delegate: authority.nullable(),
  }),
  servers: z.record(z.string(), server).optional(),
  execution: z.strictObject({
    attempt_timeout_ms: z.int().positive(),
    max_retries: count,
    max_turns: z.int().positive().optional(),
    close_on_completion: z.literal(true),
  }),
  outputs: z.strictObject({
    report_format: z.literal("markdown"),
    report_path_pattern: z.string().nullable(),
    report_index: z.string().max(200).optional(),
    transcript: z.literal(true).optional(),
  }),
  budget: z.strictObject({ tokens: count, cost: z.number().nullable(), reserve: count }),
  workspace: z.strictObject({
    isolation: z.enum(["shared", "sandbox", "custom"]),
    root: z.string().nullable(),
    allow_writes: z.boolean(),
    base: z.string().nullable(),
    owns: z.array(z.string()),
    copy: z.strictObject({ id: z.string(), of: z.string() }).optional(),
    checks: z.array(z.string()).optional(),
    approval: z.literal(true).optional(),
    keep: z.literal(true).optional(),
  }),
  exit: z.strictObject({
    tools: z.array(z.string()),
    output_schema: z.record(z.string(), z.unknown()).nullable(),
    evidence: z.enum(["none", "tool_calls", "files"]),
    review: z.strictObject({ profile: z.string(), rounds: z.int().positive() }).optional(),
  }),
  on_parent_interrupt: z.enum(["cancel", "pause", "continue"]),
  join: z.strictObject({ max_tokens: count }),
  deadlines: z.strictObject({
    first_token: z.int().positive(),
    stall: z.int().positive(),
    tool: z.int().positive(),
    idle: z.int().positive(),
    total: z.int().positive(),
  }),
});

/**
 * Reads a stored contract. Throws unless all of it parses: a delegation without a readable contract may
 * do nothing.
 */
export function parseContract(json: string): Contract {
  let value: unknown;
  try {
    value = parseJson(json);
  } catch (cause) {
    throw invalid("it is not JSON", cause);
  }
  requireKnownVersion(value);
  const parsed = contractSchema.safeParse(value);
  if (!parsed.success) throw invalid(sentencesOf(parsed.error), parsed.error);
  return parsed.data as Contract;
}

function sentencesOf({ issues }: z.ZodError): string {
  return issues.map(({ message, path }) => `${path.join(".")}: ${message}`).join("; ");
}

/** Workers are upgraded one after the other: another worker may know a version that this one does not. */
function requireKnownVersion(value: unknown): void {
  const version = (value as { version?: unknown } | null)?.version;
  if (!Number.isInteger(version) || Number(version) <= knownVersion) return;
  throw new MandateError(
    "contract-newer",
    `A stored contract has version ${version}, and this program supports up to version ${knownVersion}. Upgrade it, or let a newer worker continue the run.`,
  );
}

const knownVersion = 1;

function invalid(why: string, cause: unknown): MandateError {
  return new MandateError(
    "contract-invalid",
    `A stored contract cannot be read, so its delegation is not allowed to do anything: ${why}`,
    { cause },
  );
}
