import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import {
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  type McpServer,
  originValidationResponse,
  type ServerNotifier,
} from "@modelcontextprotocol/server";
import type { Principal } from "../../../control/records/principal.ts";
import type { HttpClient } from "../http/http-client.ts";
import { createMcpHttpHandler } from "../http/mcp-http-handler.ts";
import { installTasks } from "../tasks/install-tasks.ts";
import { TaskMcpServer } from "../tasks/task-mcp-server.test-support.ts";
import { Tasks } from "../tasks/tasks.ts";
import { registerContent } from "./fixture-content.test-support.ts";
import { registerInputs, stateCodec } from "./fixture-inputs.test-support.ts";
import { registerQuestions } from "./fixture-questions.test-support.ts";
import { registerPrompts, registerResources } from "./fixture-resources.test-support.ts";
import { longTools, registerLongTools, taskOnlyTools } from "./fixture-tasks.test-support.ts";

export interface FixtureServer {
  readonly url: string;
  close(): Promise<void>;
}

const principal: Principal = { id: "conformance", role: "operator" };

/** Everything that the official suite looks for, on our own HTTP handler and our own tasks. */
export async function startFixtureServer(): Promise<FixtureServer> {
  const tasks = new Tasks({ pollIntervalMs: 100 });
  const watchers = new Set<ServerNotifier>();
  const handler = createMcpHttpHandler({
    openSession: ({ name }) => name,
    closeSession: () => undefined,
    isBusy: () => false,
    makeServer: (_session, client) => makeServer(client, tasks, watchers),
    maxSessionsPerPrincipal: 1000,
    tasks,
    watch(_principal, notify) {
      watchers.add(notify);
      return () => watchers.delete(notify);
    },
  });
  const server = createServer(
    getRequestListener(
      async (request) => {
        const refused =
          hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
          originValidationResponse(request, localhostAllowedOrigins());
        return refused ?? handler.handle(request, principal);
      },
      // Other tests of this process keep the classes they know.
      { overrideGlobalObjects: false },
    ),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async close() {
      await handler.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function makeServer(
  client: HttpClient,
  tasks: Tasks,
  watchers: Set<ServerNotifier>,
): TaskMcpServer {
  const server = new TaskMcpServer(
    { name: "mandate-conformance", version: "1.0.0" },
    {
      capabilities: {
        logging: {},
        resources: { subscribe: true, listChanged: true },
        tools: { listChanged: true },
        prompts: { listChanged: true },
      },
      requestState: { verify: stateCodec.verify },
    },
  );
  registerContent(server);
  registerInputs(server);
  registerQuestions(server);
  registerLongTools(server);
  registerResources(server);
  registerPrompts(server);
  registerChanges(server, watchers);
  if (client.era === "legacy") {
    server.server.setRequestHandler("resources/subscribe", () => ({}));
    server.server.setRequestHandler("resources/unsubscribe", () => ({}));
  } else {
    installTasks(server.server, {
      tasks,
      owner: client.principal,
      isLong: (tool) => longTools.has(tool),
      needsTask: (tool) => taskOnlyTools.has(tool),
    });
  }
  return server;
}

/** So that the suite can see whether changes are told to those who listen. */
function registerChanges(server: McpServer, watchers: ReadonlySet<ServerNotifier>): void {
  const content = [{ type: "text" as const, text: "Changed." }];
  server.registerTool("test_trigger_tool_change", { description: "Changes tools" }, () => {
    for (const notify of watchers) notify.toolsChanged();
    return { content };
  });
  server.registerTool("test_trigger_prompt_change", { description: "Changes prompts" }, () => {
    for (const notify of watchers) notify.promptsChanged();
    return { content };
  });
}
