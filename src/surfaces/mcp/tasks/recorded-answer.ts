import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Delegation } from "../../../events/delegation.ts";
import type { DelegationResult } from "../../../ports/delegator.ts";
import type { Store } from "../../../ports/store.ts";

/**
 * What the call that made a delegation answered, word for word: it is recorded in the transaction
 * that closed the delegation. Where a crash came between them, the result itself.
 */
export async function recordedAnswer(
  store: Pick<Store, "readEvents">,
  { callId, parentId }: Delegation,
  result: DelegationResult,
): Promise<CallToolResult> {
  if (callId !== null && parentId !== null) {
    for await (const { type, payload } of store.readEvents({ delegationId: parentId })) {
      if (type === "agent.tool_completed" && payload.call_id === callId) {
        return describeText(payload.output, result);
      }
    }
  }
  return describeText(JSON.stringify(result), result);
}

/** Some tools answer in JSON, the others in words. */
function describeText(text: string, { delegationId, status }: DelegationResult): CallToolResult {
  const structuredContent = objectIn(text) ?? { delegationId, status, text };
  const content: CallToolResult["content"] = [{ type: "text", text }];
  return { content, structuredContent, ...(status !== "completed" && { isError: true }) };
}

function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
