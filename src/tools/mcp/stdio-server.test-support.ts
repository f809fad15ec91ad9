/**
 * A server as a process of its own: `node stdio-server.test-support.ts MODE`. The well-behaved modes
 * run on the SDK, the ill-behaved ones write what they like.
 */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { exampleServer } from "./example-server.test-support.ts";

export const stdioServerPath: string = import.meta.filename;

async function serve(mode: string): Promise<void> {
  switch (mode) {
    case "legacy": {
      const { StdioServerTransport } = await import("@modelcontextprotocol/server/stdio");
      await exampleServer().connect(new StdioServerTransport());
      return;
    }
    case "modern": {
      const { serveStdio } = await import("@modelcontextprotocol/server/stdio");
      serveStdio(() => exampleServer(), { legacy: "reject" });
      return;
    }
    case "noisy":
      process.stdout.write(
        'Welcome!\n{"not":"a message"}\n[1,2\n\u0000\u0001\n{"jsonrpc":"2.0"}\n',
      );
      return serve("legacy");
    case "pages":
      return answerByHand((method, params) => {
        if (method !== "tools/list") return undefined;
        const page = Number(params["cursor"] ?? 0);
        const inputSchema = { type: "object" };
        const tools = Array.from({ length: 40 }, (_, at) => ({
          name: `t${page}_${at}`,
          inputSchema,
        }));
        return { tools, nextCursor: String(page + 1) };
      });
    case "floods":
      return answerByHand((method) => {
        if (method === "tools/list")
          return { tools: [{ name: "go", inputSchema: { type: "object" } }] };
        if (method !== "tools/call") return undefined;
        for (let at = 0; at < 2000; at++) {
          say({ method: "notifications/tools/list_changed" });
          say({ method: "notifications/message", params: { level: "error", data: "x" } });
          say({ id: `s${at}`, method: "sampling/createMessage", params: { messages: [] } });
          say({ id: `r${at}`, method: "roots/list" });
        }
        return { content: [{ type: "text", text: "flooded" }] };
      });
    case "stubborn": {
      process.on("SIGTERM", () => {});
      process.stdin.on("end", () => setInterval(() => {}, 1000));
      const child = spawn(
        process.execPath,
        ["-e", "process.on('SIGTERM',()=>{});setInterval(()=>{},1000)"],
        {
          stdio: ["ignore", "inherit", "inherit"],
        },
      );
      writeFileSync(process.argv[3] ?? "", `${process.pid} ${child.pid}`);
      return serve("legacy");
    }
    default:
      throw new Error(`There is no mode ${mode}`);
  }
}

type Answer = (method: string, params: Record<string, unknown>) => unknown;

function answerByHand(answer: Answer): void {
  createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method, params } = JSON.parse(line);
    if (method === undefined || id === undefined) return;
    if (method === "initialize") {
      const serverInfo = { name: "by-hand", version: "1" };
      const capabilities = { tools: { listChanged: true } };
      say({ id, result: { protocolVersion: params.protocolVersion, serverInfo, capabilities } });
      return;
    }
    const result = answer(method, params ?? {});
    say(result === undefined ? { id, error: { code: -32601, message: "no" } } : { id, result });
  });
}

function say(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await serve(process.argv[2] ?? "legacy");
}
