export type { Profile } from "./agents/profiles/profile.ts";
export type { Skill } from "./agents/skills/skill.ts";
export type { Candidate } from "./application/commands/complete-command.ts";
export type { CommandReply } from "./application/commands/execute-command.ts";
export type { Hotkey, Hotkeys } from "./application/commands/profile-triggers.ts";
export type { EffectiveProfile } from "./application/effective-profile.ts";
export type {
  DelegationDiff,
  DiffedFile,
  DiffOptions,
} from "./application/kept-work/diff-of-delegation.ts";
export type {
  DiscardedWork,
  DiscardKeptOptions,
  MergedWork,
  MergeOptions,
} from "./application/kept-work/kept-work.ts";
export type { Memories, MemoryDecision, MemoryListing } from "./application/memories.ts";
export type { WaitingContent } from "./application/waiting-content.ts";
export type { Contract } from "./contracts/contract.ts";
export type { Exposure } from "./contracts/exposure.ts";
export type { McpServer } from "./contracts/mcp-server.ts";
export type { ReceiptLine } from "./contracts/receipt.ts";
export type { ToolRule } from "./contracts/tool-rule.ts";
export type { AgentEntry, AgentRegistry } from "./control/records/agent-registry.ts";
export type { ControlPlane } from "./control/records/control-plane.ts";
export type { Principal, Role } from "./control/records/principal.ts";
export type { Middleware } from "./delegations/middleware.ts";
export type { RunDifference } from "./delegations/replay/compare-runs.ts";
export type { ReplayedRun } from "./delegations/replay/replay-run.ts";
export { type Cause, closeReasonOf, describeCause } from "./events/cause.ts";
export type { CheckReport, Violation } from "./events/checker/check-report.ts";
export { type CloseReason, closeReasons } from "./events/close-reason.ts";
export type { Delegation, WaitingOn } from "./events/delegation.ts";
export type { EventPayloads, EventType, StoredEvent } from "./events/event.ts";
export type { InboxItem, InboxKind } from "./events/inbox-item.ts";
export type { Seal } from "./events/seal.ts";
export { summarize } from "./events/summarize.ts";
export type { DelegationInfo, DelegationResult } from "./ports/delegator.ts";
export type { Log, LogEntry } from "./ports/log.ts";
export {
  MandateError,
  type MandateErrorCode,
  NoKeptWork,
  type NoWorkReason,
} from "./ports/mandate-error.ts";
export type { Memory } from "./ports/memory-store.ts";
export type { Message, Model, ModelReply, ModelRequest, ToolCall } from "./ports/model.ts";
export { ModelFault, type ModelFaultKind } from "./ports/model.ts";
export type { AnswerOutcome } from "./sessions/answer-ask.ts";
export type { SessionFormat } from "./sessions/export-session.ts";
export type { Inbox, InboxSelection, UnreadQuery } from "./sessions/inbox.ts";
export type { SessionQuery, SessionRow } from "./sessions/list-sessions.ts";
export type { AgentSession } from "./sessions/read-session.ts";
export type { SentTo } from "./sessions/send-message.ts";
export type {
  AgentSessionContext,
  SessionBreadcrumb,
  SessionCapability,
  SessionStatus,
  SessionTrigger,
} from "./sessions/session.ts";
export type { SessionEntry } from "./sessions/session-entry.ts";
export type { WorkflowCallView, WorkflowView } from "./sessions/workflow-view.ts";
export type { AiSdkTool, DelegationTools, MandateSessions } from "./surfaces/library/handles.ts";
export type {
  CommandAuthor,
  DelegationParameters,
  ForkOptions,
  Mandate,
  MandateOptions,
  ResumedRunHandle,
  ResumeHandle,
  ResumeOptions,
  RunHandle,
  RunResult,
  SendOptions,
  ToolSession,
  WorkflowParameters,
} from "./surfaces/library/mandate.ts";
export { createMandate } from "./surfaces/library/mandate.ts";
export { defineTool, type Tool, type ToolContext, type ToolResult } from "./tools/tool.ts";
export type { ChangedFile } from "./workspaces/git/copies/collect-changes.ts";
export type { IntegrationResult } from "./workspaces/git/integration/integration-result.ts";
