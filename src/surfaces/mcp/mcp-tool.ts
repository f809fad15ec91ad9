import type { z } from "zod";
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
