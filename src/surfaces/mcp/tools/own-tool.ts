import { withoutEmpty } from "../../../documents/without-empty.ts";
import { defineMcpTool, type McpTool } from "../mcp-tool.ts";

/** A tool of this surface alone: no gate behind it reads its input. */
export function ownTool<Input, Output extends object>(tool: McpTool<Input, Output>): McpTool {
  return defineMcpTool<Input, Output>({
    ...tool,
    call: (input, context) =>
      tool.call(tool.input.parse(withoutEmpty(tool.input, input ?? {})), context),
  });
}
