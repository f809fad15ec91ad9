import {
  type CallToolRequest,
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type Tool,
} from "@modelcontextprotocol/server";
import { shownSchema } from "../../agents/documents/tool-input.ts";
import { messageOf } from "../../ports/message-of.ts";
import { productVersion } from "../../product-version.ts";
import { handleToolCall, roundState } from "./calls/handle-tool-call.ts";
import { abilitiesOf, type Era } from "./client-abilities.ts";
import type { ClientSession } from "./client-session.ts";
import type { McpTool } from "./mcp-tool.ts";
import {
  completePrompt,
  getPrompt,
  instructionsFor,
  listPrompts,
  type OfferedWays,
} from "./prompts.ts";
import { tellChanges } from "./resources/follow-resources.ts";
import { serveResources } from "./resources/serve-resources.ts";
import { TaskServer } from "./tasks/install-tasks.ts";
import { mcpToolsOf } from "./tools/mcp-tools.ts";

export interface McpServerOptions {
  readonly era: Era;
  /** Known before the runtime is opened. */
  readonly ways: OfferedWays;
  /** Opens the client's session with the first request that needs it; the same for all requests. */
  session(): Promise<ClientSession>;
  /**
   * True: the server lives as long as its client is connected, and notifies it of changes. False:
   * it answers a single request.
   */
  readonly isConnected: boolean;
}

/**
 * Creates an MCP server for one client, or for one of its requests. `initialize` and
 * `server/discover` are answered without opening the runtime: some clients drop a server that
 * starts slowly.
 */
export function createMcpServer(options: McpServerOptions): TaskServer {
  const { era, isConnected } = options;
  const server = new TaskServer(
    { name: "mandate", title: "Mandate", version: productVersion },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        completions: {},
      },
      instructions: instructionsFor(options.ways),
      requestState: { verify: roundState.verify },
    },
  );
  let told: ClientSession | undefined;
  const open = async (): Promise<ClientSession> => {
    const session = await options.session();
    if (isConnected && told === undefined) tellChanges(server, session, { era, subscribed });
    told = session;
    return session;
  };
  serveTools(server, era, open);
  servePrompts(server, open);
  const subscribed = serveResources(server, open);
  return server;
}

function serveTools(server: Server, era: Era, open: () => Promise<ClientSession>): void {
  server.setRequestHandler("tools/list", async () => {
    const { runtime } = await open();
    await runtime.control.view.refresh();
    return { tools: mcpToolsOf(runtime).map(describeTool) };
  });
  server.setRequestHandler("tools/call", async (request, context) => {
    const session = await open().catch((error) => failure(messageOf(error)));
    if ("content" in session) return session;
    const tool = findTool(mcpToolsOf(session.runtime), request);
    const abilities = abilitiesOf(server, context);
    const input = request.params.arguments;
    return handleToolCall({ tool, input, session, era, abilities, context });
  });
  server.setNotificationHandler("notifications/roots/list_changed", async () => {
    (await open()).rootsReadAt = 0;
  });
}

/** A tool result, because a model can read it; a protocol error may never reach the model. */
function failure(sentence: string): CallToolResult {
  return { isError: true, content: [{ type: "text", text: `Error: ${sentence}` }] };
}

function findTool(tools: readonly McpTool[], { params }: CallToolRequest): McpTool {
  const tool = tools.find(({ name }) => name === params.name);
  if (tool !== undefined) return tool;
  throw new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `There is no tool ${JSON.stringify(params.name.slice(0, 100))}. There are: ${tools.map(({ name }) => name).join(", ")}.`,
  );
}

function describeTool({ annotations, description, input, name, output, title }: McpTool): Tool {
  return {
    name,
    title,
    description,
    inputSchema: { ...shownSchema(input, "input"), type: "object" },
    outputSchema: { ...shownSchema(output, "output"), type: "object" },
    annotations: { title, ...annotations },
  };
}

function servePrompts(server: Server, open: () => Promise<ClientSession>): void {
  server.setRequestHandler("prompts/list", async () => {
    const { runtime } = await open();
    await runtime.control.view.refresh();
    return { prompts: [...listPrompts(runtime)] };
  });
  server.setRequestHandler("prompts/get", async ({ params }) => {
    const { runtime } = await open();
    return getPrompt(runtime, params.name, params.arguments ?? {});
  });
  server.setRequestHandler("completion/complete", async ({ params }) => {
    const { runtime } = await open();
    const { argument, ref } = params;
    if (ref.type !== "ref/prompt") return { completion: { values: [], total: 0, hasMore: false } };
    return completePrompt(runtime, ref.name, argument);
  });
}
