import type { JSONRPCRequest, Result, Server, ServerContext } from "@modelcontextprotocol/server";

export type ToolCallHandler = (request: JSONRPCRequest, context: ServerContext) => Promise<Result>;

const method = "tools/call";

/**
 * Puts something around the calls of all tools. The SDK has no place for that: what is set by
 * `setRequestHandler` has to give a tool's result, and gets `content` added where it gives another.
 */
export function wrapToolCalls(
  server: Server,
  wrap: (call: ToolCallHandler) => ToolCallHandler,
): void {
  const handlers: unknown = server["_requestHandlers"];
  const call: unknown = handlers instanceof Map ? handlers.get(method) : undefined;
  if (!(handlers instanceof Map) || typeof call !== "function") {
    throw new TypeError("The server has no tools yet: register them before its tasks.");
  }
  handlers.set(method, wrap(call as ToolCallHandler));
}
