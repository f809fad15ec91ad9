import type { CallToolResult } from "@modelcontextprotocol/server";
import { z } from "zod";
import { describeIssues } from "../../agents/documents/describe-problem.ts";
import { withParameterNames } from "../../agents/documents/tool-input.ts";
import { holdsRole } from "../../control/records/principal.ts";
import { messageOf } from "../../ports/message-of.ts";
import type { ClientSession } from "./client-session.ts";

/**
 * A tool as another program's agent sees it. Its work is done by the tools of the session's
 * contract, through the same gate as the calls of our own agents.
 */
export interface McpTool<Input = unknown, Output extends object = object> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** The schema that clients see. The tool itself may accept more, and validates its input. */
  readonly input: z.ZodType<Input>;
  /** Names that are accepted for parameters of other names. */
  readonly aliases?: Readonly<Record<string, string>> | undefined;
  readonly output: z.ZodType<Output>;
  /** Must be accurate: some clients refuse tools without annotations, and some trust them. */
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint: boolean;
    readonly idempotentHint: boolean;
    readonly openWorldHint: boolean;
  };
  /** The tool may take long, so clients that support tasks can run it as a task. */
  readonly isLong?: true;
  /** The tool may open the session's run, in a folder of the client's roots. */
  readonly delegates?: true;
  /** The tool's answer depends on the client's folders. */
  readonly usesFolders?: true;
  call(input: Input, context: McpCallContext): Promise<McpToolResult<Output>>;
}

export interface McpCallContext {
  readonly session: ClientSession;
  /**
   * By the monotonic clock: when the client expects an answer, done or not. Null: it waits for the
   * end, because it uses tasks or sent a progress token.
   */
  readonly answerBy: number | null;
  /** Aborts when the client cancels the call. */
  readonly signal: AbortSignal;
  /** Reports progress, if the client asked for it. Never throws. */
  report(progress: CallProgress): void;
  /** Called with the delegation that the call made, so that its task can be found again. */
  onDelegation(delegationId: string): void;
}

export interface CallProgress {
  /** Increases with every report. */
  readonly progress: number;
  readonly message: string;
}

export interface McpToolResult<Output extends object = object> {
  /** The complete result as text: some models see only this. */
  readonly text: string;
  /** The complete result by the output schema: some models see only this. Absent only in errors. */
  readonly structured?: Output | undefined;
  readonly isError?: boolean;
  /** The call was answered before its work was done. */
  readonly continues?: true;
}

export function defineMcpTool<Input, Output extends object>(tool: McpTool<Input, Output>): McpTool {
  return tool as unknown as McpTool;
}

/** Calls a tool for a client. An error becomes a tool result, which a model can read. */
export async function callTool(
  tool: McpTool,
  input: unknown,
  context: McpCallContext,
): Promise<McpToolResult> {
  const { principal } = context.session;
  const isForOperators = tool.delegates === true || tool.annotations.destructiveHint;
  if (!holdsRole("operator", principal) && isForOperators) {
    return failed(`Error: ${tool.name} needs an operator; this access is a viewer's.`);
  }
  try {
    return await tool.call(withParameterNames(tool.input, tool.aliases, input), context);
  } catch (error) {
    if (error instanceof z.ZodError) return failed(`Error: ${describeIssues(error, tool.output)}`);
    return failed(`Error: ${messageOf(error)}`);
  }
}

function failed(text: string): McpToolResult {
  return { text, isError: true };
}

/** The result is complete in both fields, because some clients show a model only one of them. */
export function describeResult({ isError, structured, text }: McpToolResult): CallToolResult {
  const content: CallToolResult["content"] = [{ type: "text", text }];
  // Clients validate structured content against the output schema, also in errors.
  const facts = structured && { structuredContent: { ...structured } };
  return { content, ...facts, ...(isError && { isError }) };
}
