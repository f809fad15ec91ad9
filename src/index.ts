export type { Contract } from "./contracts/contract.ts";
export type { ReceiptLine } from "./contracts/receipt.ts";
export type { Middleware } from "./delegations/middleware.ts";
export type { CheckReport, Violation } from "./events/check-report.ts";
export { type CloseReason, closeReasons } from "./events/close-reason.ts";
export type { Delegation, WaitingOn } from "./events/delegation.ts";
export type { EventPayloads, EventType, StoredEvent } from "./events/event.ts";
export type { Seal } from "./events/seal.ts";
export { summarize } from "./events/summarize.ts";
export type { DelegationInfo, DelegationResult } from "./ports/delegator.ts";
export { MandateError, type MandateErrorCode } from "./ports/mandate-error.ts";
export type { Message, Model, ModelReply, ModelRequest, ToolCall } from "./ports/model.ts";
export { ModelFault, type ModelFaultKind } from "./ports/model-fault.ts";
export type { Profile } from "./profiles/profile.ts";
export {
  createMandate,
  type DelegationParameters,
  type Mandate,
  type MandateOptions,
  type RunHandle,
} from "./surfaces/library/create-mandate.ts";
export type { AiSdkTool, DelegationTools } from "./surfaces/library/delegation-tools.ts";
export { defineTool, type Tool, type ToolContext, type ToolResult } from "./tools/tool.ts";
