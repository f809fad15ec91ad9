import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ManualClock } from "../../testing/manual-clock.ts";
import type { ToolContext, ToolResult } from "../tool.ts";
import { createWebFetch, type WebFetchOptions } from "./web-fetch.ts";

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

export interface WebServer {
  readonly port: number;
  readonly origin: string;
  /** The paths that were asked for. */
  readonly asked: string[];
  readonly server: Server;
  close(): void;
}

/** A real server on loopback. */
export async function serve(handler: Handler, host = "127.0.0.1", port = 0): Promise<WebServer> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    handler(request, response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const { port: taken } = server.address() as AddressInfo;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { port: taken, origin: `http://${host}:${taken}`, asked, server, close };
}

export function contextFor(change: Partial<ToolContext> = {}): ToolContext {
  const { signal } = new AbortController();
  return {
    runId: "r",
    delegationId: "d",
    callId: "c",
    network: "*",
    signal,
    ...change,
  } as ToolContext;
}

/** As the gate calls it: schema, preflight, then the tool. Time stands still, unless a clock is given. */
export async function fetchPage(
  input: object,
  options: WebFetchOptions,
  change: Partial<ToolContext> = {},
): Promise<ToolResult> {
  const tool = createWebFetch({ clock: new ManualClock(), ...options });
  const context = contextFor(change);
  const parsed = tool.input.parse(input);
  tool.preflight?.(parsed, context);
  return (await tool.execute(parsed, context)) as ToolResult;
}
