import {
  type JSONRPCRequest,
  type Result,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";

export type ToolCallHandler = (request: JSONRPCRequest, context: ServerContext) => Promise<Result>;

type Wrap = (call: ToolCallHandler) => ToolCallHandler;

/**
 * A server whose tool calls may be answered with a task. The SDK validates that the answer of a tool
 * is a tool's result; a wrapper stands outside of that validation, by the hook that the SDK has for
 * subclasses.
 */
export class TaskServer extends Server {
  #wrap: Wrap = (call) => call;

  /** Puts a wrapper around the calls of all tools, also of those that were registered before. */
  wrapToolCalls(wrap: Wrap): void {
    this.#wrap = wrap;
  }

  protected override _wrapHandler(method: string, handler: ToolCallHandler): ToolCallHandler {
    const checked = super._wrapHandler(method, handler);
    if (method !== "tools/call") return checked;
    return (request, context) => this.#wrap(checked)(request, context);
  }
}
