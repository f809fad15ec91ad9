import { readFileSync } from "node:fs";
import type { McpServer, StdioServer } from "../../contracts/mcp-server.ts";
import type { ManualClock } from "../../testing/manual-clock.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { until } from "../../testing/until.ts";
import type { Tool, ToolContext, ToolResult } from "../tool.ts";
import { McpServers, type McpServersOptions } from "./mcp-servers.ts";
import { stdioServerPath } from "./stdio-server.test-support.ts";

const plainEnvironment = {
  PATH: process.env["PATH"],
  HOME: process.env["HOME"],
};

export function testServers(options: Partial<McpServersOptions> = {}): McpServers {
  const folder = testFolder();
  return new McpServers({ environment: plainEnvironment, version: "0.0.0", folder, ...options });
}

/** The test server as a process; `extra` follows the mode on its command line. */
export function processOf(mode: string, more: Partial<StdioServer> = {}, extra = ""): StdioServer {
  const args = [stdioServerPath, mode, ...(extra === "" ? [] : [extra])];
  return { kind: "stdio", command: process.execPath, args, ...more };
}

/** A process that runs this program text. */
export function scriptOf(text: string): StdioServer {
  return { kind: "stdio", command: process.execPath, args: ["-e", text] };
}

export function openFor(
  servers: McpServers,
  server: McpServer,
  delegationId = "agent_1",
  name = "example",
): Promise<readonly Tool[]> {
  return servers.open(name, server, { delegationId, workspace: import.meta.dirname, isOwn: true });
}

export async function call(
  tools: readonly Tool[],
  name: string,
  input: unknown = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<ToolResult> {
  const tool = tools.find((one) => one.name.endsWith(`__${name}`));
  if (tool === undefined) throw new Error(`There is no tool ${name} among ${tools.length}`);
  const result = await tool.execute(input, { signal } as ToolContext);
  return typeof result === "string" ? { text: result } : result;
}

/** A process that ended and was not yet waited for is gone as well. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch (error) {
    // No /proc on this system: the signal has answered already.
    return error instanceof Error && "syscall" in error && error.syscall === "open" && !isLinux;
  }
}

const isLinux = process.platform === "linux";

/** Moves the clock on until this has come to its end, whatever it waits for on the way. */
export async function settle<Value>(clock: ManualClock, work: Promise<Value>): Promise<Value> {
  let isSettled = false;
  const note = () => {
    isSettled = true;
  };
  work.then(note, note);
  await until("it has settled", async () => {
    await clock.advance(10);
    return isSettled;
  });
  return work;
}

/** `${NAME}`, as declarations write it. */
export function variable(name: string): string {
  return `\${${name}}`;
}
