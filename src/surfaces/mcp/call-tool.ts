import type { CallToolResult } from "@modelcontextprotocol/server";
import { z } from "zod";
import { holdsRole } from "../../control/records/principal.ts";
import { messageOf } from "../../ports/message-of.ts";
import type { McpCallContext, McpTool, McpToolResult } from "./mcp-tool.ts";

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
