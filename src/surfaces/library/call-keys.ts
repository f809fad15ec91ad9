import type { Keys } from "../../agents/documents/nearest-key.ts";
import type { DiffOptions } from "../../application/kept-work/diff-of-delegation.ts";
import type { DiscardKeptOptions, MergeOptions } from "../../application/kept-work/kept-work.ts";
import type { EventQuery } from "../../ports/store.ts";
import type { SessionQuery } from "../../sessions/list-sessions.ts";
import type { ContinueOptions } from "../../sessions/resumption.ts";
import type {
  CommandAuthor,
  DelegationParameters,
  ForkOptions,
  ResumeOptions,
  SendOptions,
  ToolSession,
} from "./mandate.ts";

/** What each call of the library takes. A key is added here when it is added to its type. */

export const delegationKeys = {
  profile: true,
  task: true,
  context: true,
  maxTokenBudget: true,
  maxCost: true,
  maxDepth: true,
  timeout: true,
  modelOverride: true,
  forwardSkills: true,
  tools: true,
  workspace: true,
  session: true,
  isGoal: true,
  isTyped: true,
} satisfies Keys<DelegationParameters>;

export const sendKeys = { isTyped: true } satisfies Keys<SendOptions>;
export const resumeKeys = {
  maxTokenBudget: true,
  maxCost: true,
  timeout: true,
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
} satisfies Keys<ContinueOptions>;
