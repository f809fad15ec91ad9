import { type Keys, nearestKey, requireKnownKeys } from "../../agents/documents/nearest-key.ts";
import type { DiffOptions } from "../../application/kept-work/diff-of-delegation.ts";
import type { DiscardKeptOptions, MergeOptions } from "../../application/kept-work/kept-work.ts";
import type { Middleware } from "../../delegations/middleware.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { EventQuery } from "../../ports/store.ts";
import type { SessionQuery } from "../../sessions/list-sessions.ts";
import type { ContinueOptions } from "../../sessions/resumption.ts";
import type {
  CommandAuthor,
  DelegationParameters,
  ForkOptions,
  MandateOptions,
  ResumeOptions,
  SendOptions,
  ToolSession,
  WorkflowParameters,
} from "./mandate.ts";

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
  log: true,
  waitForDatabaseMs: true,
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
  unsandboxed: true,
  engineSchema: true,
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

/** Refuses unknown keys in the options and in nested options. */
export function requireMandateOptions(options: MandateOptions): void {
  requireKnownKeys("createMandate", options, mandateKeys);
  const { flags, limits, playbook, principal } = options;
  if (flags) requireKnownKeys("createMandate: flags", flags, flagKeys);
  if (limits) requireKnownKeys("createMandate: limits", limits, limitKeys);
  if (playbook) requireKnownKeys("createMandate: playbook", playbook, playbookKeys);
  if (principal) requireKnownKeys("createMandate: principal", principal, principalKeys);
  for (const one of options.middleware ?? []) requireHook(one);
}

const hooks = { turn: true, call: true, delegation: true } satisfies Keys<Middleware>;

/**
 * Refuses functions that are not hooks: a misspelled hook would never be called, and what it guards
 * would be open. Instances of classes may have other methods, unless a name is close to that of a
 * hook.
 */
function requireHook(middleware: Middleware): void {
  const own = new Set(Object.keys(middleware));
  const functions = functionsOf(middleware);
  for (const name of functions) {
    if (Object.hasOwn(hooks, name)) continue;
    const nearest = nearestKey(name, Object.keys(hooks));
    if (!own.has(name) && nearest === undefined) continue;
    const hint = nearest === undefined ? "" : ` Did you mean ${nearest}?`;
    throw new MandateError(
      "usage",
      `createMandate: a middleware has the hooks turn, call and delegation; "${name}" is none of them, and would never be called.${hint}`,
    );
  }
  const { call, delegation, turn } = middleware;
  const given = [call, delegation, turn].filter((hook) => hook !== undefined);
  if (given.length > 0 && given.every((hook) => typeof hook === "function")) return;
  const has = [...own].join(", ") || "nothing";
  throw new MandateError(
    "usage",
    `createMandate: a middleware has turn, call or delegation as functions, or it does nothing; this one has ${has}.`,
  );
}

/** The names of own functions and of methods of its classes. */
function functionsOf(middleware: Middleware): readonly string[] {
  const names = new Set<string>();
  const values = middleware as Readonly<Record<string, unknown>>;
  for (let one: object | null = middleware; one !== null; one = Object.getPrototypeOf(one)) {
    if (one === Object.prototype) break;
    for (const name of Object.getOwnPropertyNames(one)) {
      if (name !== "constructor" && typeof values[name] === "function") names.add(name);
    }
  }
  return [...names];
}

/** The known keys of each call. `satisfies` fails to compile when a key is missing here. */

export const workflowKeys = {
  name: true,
  script: true,
  args: true,
  limits: true,
  maxTokens: true,
  maxCost: true,
  timeout: true,
  workspace: true,
} satisfies Keys<WorkflowParameters>;

export const delegationKeys = {
  profile: true,
  task: true,
  context: true,
  maxTokens: true,
  maxTokenBudget: true,
  maxCost: true,
  maxDepth: true,
  timeout: true,
  modelOverride: true,
  forwardSkills: true,
  tools: true,
  workspace: true,
  session: true,
  isQueued: true,
  isGoal: true,
  isTyped: true,
} satisfies Keys<DelegationParameters>;

export const sendKeys = { isTyped: true } satisfies Keys<SendOptions>;
export const resumeKeys = {
  maxTokens: true,
  maxTokenBudget: true,
  maxCost: true,
  timeout: true,
  workflow: true,
} satisfies Keys<ResumeOptions>;

export const forkKeys = {
  at: true,
  profile: true,
  model: true,
  task: true,
} satisfies Keys<ForkOptions>;

export const diffKeys = { maximumBytes: true, signal: true } satisfies Keys<DiffOptions>;

export const mergeKeys = {
  anyPath: true,
  skipChecks: true,
  withConfiguration: true,
  signal: true,
} satisfies Keys<MergeOptions>;

export const discardKeys = { deleteChanges: true } satisfies Keys<DiscardKeptOptions>;

export const eventKeys = {
  runId: true,
  delegationId: true,
  after: true,
  types: true,
} satisfies Keys<EventQuery>;

export const toolSessionKeys = { client: true, workspace: true } satisfies Keys<ToolSession>;

export const authorKeys = {
  id: true,
  role: true,
  scopes: true,
  session: true,
  workspace: true,
  run: true,
  readOnly: true,
} satisfies Keys<CommandAuthor>;

export const verifyKeys = { runId: true };

export const sessionKeys = {
  workspace: true,
  limit: true,
  before: true,
  readUntil: true,
} satisfies Keys<SessionQuery>;

export const continueKeys = {
  readOnly: true,
  session: true,
  by: true,
  isTyped: true,
  modelOverride: true,
  untrustedInput: true,
} satisfies Keys<ContinueOptions>;
