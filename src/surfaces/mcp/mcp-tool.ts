import type { CallToolResult } from "@modelcontextprotocol/server";
import { z } from "zod";
import { holdsRole } from "../../control/records/principal.ts";
import { messageOf } from "../../ports/message-of.ts";
import type { ClientSession } from "./client-session.ts";

/**
 * A tool as another program's agent sees it. What it does is done by the tools of the session's
 * contract, through the same gate as the calls of our own agents.
 */
export interface McpTool<Input = unknown, Output extends object = object> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** What clients are shown. The tool itself may take more, and says in its own words what is wrong. */
  readonly input: z.ZodType<Input>;
  readonly output: z.ZodType<Output>;
  /** The truth: some clients refuse a tool without them, and some trust them. */
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint: boolean;
    readonly idempotentHint: boolean;
    readonly openWorldHint: boolean;
  };
  /** It may take long: a client that knows tasks can have it as one. */
  readonly isLong?: true;
  /** It may open the session's run, whose folder the client's roots decide. */
  readonly delegates?: true;
  call(input: Input, context: McpCallContext): Promise<McpToolResult<Output>>;
}

export interface McpCallContext {
  readonly session: ClientSession;
  /** Aborts when the client takes the call back. */
  readonly signal: AbortSignal;
  /** What is going on, for a client that wants to know. Never throws. */
  report(progress: CallProgress): void;
  /** Told the delegation that the call made, so that a task can be found again by it. */
  onDelegation(delegationId: string): void;
}

export interface CallProgress {
  /** Only ever grows. */
  readonly progress: number;
  readonly total?: number;
  readonly message: string;
}

export interface McpToolResult<Output extends object = object> {
  /** The whole result as text: some models see only this. */
  readonly text: string;
  /** The whole result by the output schema: some models see only this. Absent in errors alone. */
  readonly structured?: Output | undefined;
  readonly isError?: boolean;
}

export function defineMcpTool<Input, Output extends object>(tool: McpTool<Input, Output>): McpTool {
  return tool as unknown as McpTool;
}

/** Calls a tool for a client. What goes wrong is a result that says so: a model can read that. */
export async function callTool(
  tool: McpTool,
  input: unknown,
  context: McpCallContext,
): Promise<McpToolResult> {
  const { principal } = context.session;
  if (!holdsRole("operator", principal) && tool.annotations.destructiveHint) {
    return failed(`Error: ${tool.name} needs an operator; this access is a viewer's.`);
  }
  try {
    return await tool.call(input, context);
  } catch (error) {
    if (error instanceof z.ZodError) return failed(`Error: ${z.prettifyError(error)}`);
    return failed(`Error: ${messageOf(error)}`);
  }
}

function failed(text: string): McpToolResult {
  return { text, isError: true };
}

/** Whole in both, because some models are shown only the one and some only the other. */
export function describeResult({ isError, structured, text }: McpToolResult): CallToolResult {
  const content: CallToolResult["content"] = [{ type: "text", text }];
  // Clients check structured content against the output schema, also that of an error.
  const facts = structured && { structuredContent: { ...structured } };
  return { content, ...facts, ...(isError && { isError }) };
}
