import type { Middleware } from "../../delegations/middleware.ts";
import { type Keys, requireKnownKeys } from "../../documents/require-known-keys.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { MandateOptions } from "./mandate.ts";

const mandateKeys = {
  environment: true,
  cwd: true,
  config: true,
  flags: true,
  database: true,
  synchronous: true,
  models: true,
  scripted: true,
  playbook: true,
  tools: true,
  aroundTool: true,
  profiles: true,
  trustWorkspace: true,
  middleware: true,
  application: true,
  clock: true,
  limits: true,
  maxConcurrent: true,
  principal: true,
  onDelta: true,
  dispatcher: true,
  watchdog: true,
  telemetry: true,
  recover: true,
  force: true,
} satisfies Keys<MandateOptions>;

const flagKeys = {
  model: true,
  maxDepth: true,
  timeoutMs: true,
  maxConcurrent: true,
  tokens: true,
  runTokens: true,
  maxChildren: true,
  askDeadlineMs: true,
  synchronous: true,
  databaseUrl: true,
  tenant: true,
  engine: true,
} satisfies Keys<NonNullable<MandateOptions["flags"]>>;

const limitKeys = {
  maxDepth: true,
  defaultTokens: true,
  maxTokens: true,
  defaultTimeMs: true,
  allowsModel: true,
  spawningTools: true,
  servers: true,
  serverPattern: true,
  explicitTools: true,
  runTokens: true,
  runTimeMs: true,
  maxChildren: true,
  maxOutputTokens: true,
  maxRetries: true,
  joinTokens: true,
  sealOnComplete: true,
  memory: true,
  askDeadlineMs: true,
  askDefault: true,
  deadlines: true,
  watchIntervalMs: true,
  requestTries: true,
  backoffMs: true,
  maxBackoffMs: true,
  toolOutputBytes: true,
  reportPathPattern: true,
  checks: true,
  approval: true,
  onUnknownProfile: true,
} satisfies Keys<NonNullable<MandateOptions["limits"]>>;

const playbookKeys = { file: true, speed: true } satisfies Keys<
  NonNullable<MandateOptions["playbook"]>
>;

const principalKeys = { id: true, role: true } satisfies Keys<
  NonNullable<MandateOptions["principal"]>
>;

/** The options themselves, and those that hold keys of their own. */
export function requireMandateOptions(options: MandateOptions): void {
  requireKnownKeys("createMandate", options, mandateKeys);
  const { flags, limits, playbook, principal } = options;
  if (flags) requireKnownKeys("createMandate: flags", flags, flagKeys);
  if (limits) requireKnownKeys("createMandate: limits", limits, limitKeys);
  if (playbook) requireKnownKeys("createMandate: playbook", playbook, playbookKeys);
  if (principal) requireKnownKeys("createMandate: principal", principal, principalKeys);
  for (const one of options.middleware ?? []) requireHook(one);
}

/** It may hold what it likes; but a guard whose only function is called by nobody guards nothing. */
function requireHook(middleware: Middleware): void {
  if (middleware.turn ?? middleware.call ?? middleware.delegation) return;
  const has = Object.keys(middleware).join(", ") || "nothing";
  throw new MandateError(
    "usage",
    `createMandate: a middleware has turn, call or delegation, or it does nothing; this one has ${has}.`,
  );
}
