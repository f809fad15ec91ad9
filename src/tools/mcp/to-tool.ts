import { fullExposure } from "../../contracts/exposure.ts";
import type { Tool } from "../tool.ts";
import type { AcceptedTool } from "./accept-tools.ts";
import type { McpConnection } from "./mcp-connection.ts";
import { plainInput } from "./plain-input.ts";

/** Whose tool it is, and whether that delegation still has the server. */
export interface ToolHolder {
  readonly connection: McpConnection;
  readonly isOver: boolean;
  readonly timeoutMs: number;
}

/**
 * A server's tool as an agent's. What a server says of its tools decides in which order calls run
 * and whether a cut one is repeated, never whether one is allowed: a tool that only reads by its
 * own word may run beside others, and of any other we must assume that it executes something.
 */
export function toTool(accepted: AcceptedTool, holder: ToolHolder): Tool {
  return {
    name: accepted.fullName,
    description: accepted.description,
    parameters: accepted.parameters,
    effect: accepted.isReadOnly ? "read" : "exec",
    // Whatever it says of itself: it is a program, and others' words and our data pass through it.
    exposure: fullExposure,
    idempotent: accepted.isIdempotent,
    scopes: [],
    input: plainInput,
    execute(input, { signal }) {
      if (holder.isOver) {
        return { text: `${accepted.fullName} is no longer open.`, isError: true };
      }
      return holder.connection.call(accepted, input, { signal, timeoutMs: holder.timeoutMs });
    },
  };
}
