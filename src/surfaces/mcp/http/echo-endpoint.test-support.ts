import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as after } from "node:timers/promises";
import { getRequestListener } from "@hono/node-server";
import { onTestFinished } from "vitest";
import { z } from "zod";
import type { Principal } from "../../../control/records/principal.ts";
import { installTasks } from "../tasks/install-tasks.ts";
import { TaskMcpServer } from "../tasks/task-mcp-server.test-support.ts";
import { Tasks } from "../tasks/tasks.ts";
import {
  createMcpHttpHandler,
  type McpHttpHandler,
  type McpHttpOptions,
} from "./mcp-http-handler.ts";

/** What a client of the endpoint holds: enough to see whose it is, and whether it is the same. */
export interface EchoSession {
  readonly owner: string;
  readonly client: string;
  said: number;
  isBusy: boolean;
  isClosed: boolean;
}

export interface EchoEndpoint {
  readonly url: string;
  readonly handler: McpHttpHandler;
  readonly sessions: readonly EchoSession[];
  /** How many calls of `wait` were begun. */
  readonly begun: number;
  /** Ends those that wait, and those that are begun later at once. */
  finishWaits(): void;
  /** How they ended, in order. */
  readonly waits: readonly ("done" | "taken back")[];
  readonly tasks: Tasks;
}

/**
 * A real socket in front of the handler. The token is the name of the principal, with its role
 * behind a slash where it is no operator.
 */
export async function startEchoEndpoint(
  options: Partial<McpHttpOptions<EchoSession>> = {},
): Promise<EchoEndpoint> {
  const sessions: EchoSession[] = [];
  const finished = new AbortController();
  const calls: WaitingCalls = { begun: 0, waits: [], finished: finished.signal };
  const tasks = new Tasks({ graceMs: 100, clock: options.clock });
  const handler = createMcpHttpHandler<EchoSession>({
    tasks,
    openSession({ principal, name }) {
      const session = {
        owner: principal.id,
        client: name,
        said: 0,
        isBusy: false,
        isClosed: false,
      };
      sessions.push(session);
      return session;
    },
    closeSession(session) {
      session.isClosed = true;
    },
    isBusy: ({ isBusy }) => isBusy,
    makeServer(session, { era, principal }) {
      const server = makeServer(session, calls);
      const isLong = (tool: string) => tool === "wait";
      if (era === "modern") installTasks(server.server, { tasks, owner: principal, isLong });
      return server;
    },
    ...options,
  });
  const server = createServer(
    getRequestListener((request) => handler.handle(request, principalOf(request)), {
      // Other tests of this process keep the classes they know.
      overrideGlobalObjects: false,
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    await handler.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    handler,
    sessions,
    tasks,
    waits: calls.waits,
    finishWaits: () => finished.abort(),
    get begun() {
      return calls.begun;
    },
  };
}

function principalOf(request: Request): Principal {
  const token = request.headers.get("authorization")?.replace("Bearer ", "") ?? "nobody";
  const [id = "", role = "operator"] = token.split("/");
  return { id, role: role === "viewer" ? "viewer" : "operator" };
}

interface WaitingCalls {
  begun: number;
  readonly waits: ("done" | "taken back")[];
  readonly finished: AbortSignal;
}

function makeServer(session: EchoSession, calls: WaitingCalls): TaskMcpServer {
  const server = new TaskMcpServer({ name: "echo", version: "1.0.0" });
  server.registerTool(
    "echo",
    { description: "Says it again", inputSchema: z.object({ text: z.string() }) },
    async ({ text }, { mcpReq }) => {
      const { progressToken } = mcpReq._meta ?? {};
      session.said++;
      if (progressToken !== undefined) {
        const params = { progressToken, progress: 1, message: `${session.owner} ${text}` };
        await mcpReq.notify({ method: "notifications/progress", params });
      }
      await after(text.length % 7);
      const said = { owner: session.owner, said: session.said, text };
      return { content: [{ type: "text", text: JSON.stringify(said) }] };
    },
  );
  server.registerTool("wait", { description: "Works until it is let go" }, async ({ mcpReq }) => {
    calls.begun++;
    const over = AbortSignal.any([calls.finished, mcpReq.signal]);
    if (!over.aborted) await once(over, "abort");
    const isDone = !mcpReq.signal.aborted;
    calls.waits.push(isDone ? "done" : "taken back");
    return { content: [{ type: "text", text: isDone ? "Waited." : "Taken back." }] };
  });
  return server;
}
