import type { Client, Tool as ServerTool } from "@modelcontextprotocol/client";

const mostTools = 500;
const mostPages = 100;

export interface ListedTools {
  readonly tools: readonly ServerTool[];
  readonly isCut: boolean;
}

/** Asks for all pages of a server's list, up to a bound: a cursor can lead round in circles. */
export async function listTools(client: Client, timeoutMs: number): Promise<ListedTools> {
  if (client.getServerCapabilities()?.tools === undefined) return { tools: [], isCut: false };
  const tools: ServerTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < mostPages; page++) {
    const params = cursor === undefined ? {} : { cursor };
    // Not the SDK's own walk: that one has no bound on tools, and writes to the console.
    const answer = await client.request({ method: "tools/list", params }, { timeout: timeoutMs });
    tools.push(...answer.tools.slice(0, mostTools - tools.length + 1));
    if (tools.length > mostTools) break;
    if (answer.nextCursor === undefined || answer.nextCursor === cursor) {
      return { tools, isCut: false };
    }
    cursor = answer.nextCursor;
  }
  return { tools: tools.slice(0, mostTools), isCut: true };
}
