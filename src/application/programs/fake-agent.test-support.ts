/**
 * For tests: an agent program that speaks the Agent Client Protocol and does what a test scripts. The
 * test calls `fakeAgent`; a sandbox then runs this file alone, so that it uses no import.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import type { AgentRunner } from "../../contracts/agent-runner.ts";

type Json = Record<string, unknown>;

/** What a script has to work with, in each turn. */
export interface FakeTurn {
  /** 1 is the first prompt that this process got. */
  readonly turn: number;
  readonly prompt: string;
  readonly session: string;
  /** The session was loaded. */
  readonly isLoaded: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Resolves when the client cancels the turn. */
  readonly cancelled: Promise<void>;
  say(text: string): void;
  /** Any update of the session. */
  update(update: Json): void;
  /** Writes this to standard output as it is. */
  raw(text: string): void;
  /** A request to the client: rejects with its error. */
  ask(method: string, params: unknown): Promise<Json>;
  /** Asks a model over the gateway, as Anthropic's clients do. */
  model(body?: Json, token?: string): Promise<{ readonly status: number; readonly text: string }>;
  /** A tool of the MCP server that the session was given. */
  tool(name: string, input?: Json): Promise<{ readonly isError: boolean; readonly text: string }>;
  /** One message to that MCP server; `session`: undefined opens none. */
  mcp(message: Json, headers?: Record<string, string>): Promise<Response>;
  /** Runs a line of a shell; gives what it prints. */
  shell(line: string): string;
  write(path: string, text: string): void;
  /** Resolves after so many milliseconds. */
  wait(ms: number): Promise<void>;
  exit(code: number): never;
}

/** What the program answers a prompt with: its stop reason, or nothing for "end_turn". */
export type FakeScript = (agent: FakeTurn) => Promise<unknown>;

export interface FakeOptions {
  readonly protocolVersion?: number;
  readonly loadsSessions?: boolean;
  /** Sessions need a login. */
  readonly needsLogin?: boolean;
  readonly hasMcp?: boolean;
  /** Runs before anything is read; it must not use what a turn has. */
  readonly atStart?: "exit" | "complain" | "garbage" | "hang" | "flood-errors";
  readonly ignoresTerm?: boolean;
}

/**
 * The runner of a program that does in each turn what the script says. The script runs in another
 * process: it can use its argument alone.
 *
 * @example
 * const profile = testProfile("program", { runner: fakeAgent(async (agent) => agent.say("Done.")) });
 */
export function fakeAgent(script: FakeScript, options: FakeOptions = {}): AgentRunner {
  return { acp: [installed(), "act", JSON.stringify(options), script.toString()] };
}

/** The program as a command of the machine: other Nodes cannot read TypeScript. */
function installed(): string {
  const folder = join(import.meta.dirname, "../../../node_modules/.cache/mandate-fake-agent");
  const source = readFileSync(import.meta.filename, "utf8");
  const text = `#!${process.execPath}\n${stripTypeScriptTypes(source)}`;
  const file = join(folder, `${createHash("sha256").update(text).digest("hex").slice(0, 16)}.mjs`);
  if (existsSync(file)) return file;
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${file}.${process.pid}`, text, { mode: 0o755 });
  renameSync(`${file}.${process.pid}`, file);
  return file;
}

const [, , verb, optionText, scriptText] = process.argv;
if (verb === "act" && optionText !== undefined && scriptText !== undefined) {
  act(JSON.parse(optionText) as FakeOptions, compile(scriptText));
}

function compile(text: string): FakeScript {
  return new Function(`return (${text})`)() as FakeScript;
}

function act(options: FakeOptions, script: FakeScript): void {
  const fs = process.getBuiltinModule("node:fs");
  const { execSync } = process.getBuiltinModule("node:child_process");
  const { createInterface } = process.getBuiltinModule("node:readline");
  const pending = new Map<unknown, { resolve(value: Json): void; reject(error: Error): void }>();
  const sessionFile = `${process.env["HOME"]}/fake-sessions`;
  let turns = 0;
  let asked = 0;
  let isLoaded = false;
  let session = "";
  let server: { url: string; headers: { name: string; value: string }[] } | undefined;
  let mcpSession: string | undefined;
  let cancel: () => void = () => undefined;
  if (options.atStart === "exit") process.exit(7);
  if (options.atStart === "complain") {
    process.stderr.write("The program cannot find its library.\n");
    process.exitCode = 3;
    return;
  }
  if (options.atStart === "garbage") {
    process.stdout.write("Welcome to the program!\n\n{]\n42\n[]\nnull\n\u0000\u0001\n");
  }
  if (options.atStart === "flood-errors") {
    const line = `${"complaint ".repeat(1000)}\n`;
    const flood = (): void => {
      while (process.stderr.write(line));
      process.stderr.once("drain", flood);
    };
    flood();
  }
  const send = (message: Json): void => {
    process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  };

  createInterface({ input: process.stdin }).on("line", (line) => {
    if (options.atStart === "hang") return;
    const message = JSON.parse(line) as Json;
    const { id, method } = message;
    if (method === undefined) {
      const waiting = pending.get(id);
      pending.delete(id);
      const { error, result } = message as { error?: { message: string }; result?: Json };
      if (error) waiting?.reject(new Error(error.message));
      else waiting?.resolve(result ?? {});
      return;
    }
    const params = (message["params"] ?? {}) as Json;
    if (method === "session/cancel") cancel();
    if (id === undefined) return;
    answer(String(method), params).then(
      (result) => send({ id, result }),
      (error: Error & { code?: number }) =>
        send({ id, error: { code: error.code ?? -32603, message: error.message } }),
    );
  });

  async function answer(method: string, params: Json): Promise<unknown> {
    if (method === "initialize") {
      return {
        protocolVersion: options.protocolVersion ?? 1,
        agentInfo: { name: "fake", version: "1.2.3" },
        authMethods: [{ id: "web", name: "Sign in with a browser" }],
        agentCapabilities: {
          loadSession: options.loadsSessions ?? false,
          mcpCapabilities: { http: options.hasMcp ?? true },
        },
      };
    }
    if (method === "session/new" || method === "session/load") {
      if (options.needsLogin) {
        throw Object.assign(new Error("Authentication required"), { code: -32000 });
      }
      server = (params["mcpServers"] as (typeof server)[])[0];
      isLoaded = method === "session/load";
      if (!isLoaded) {
        session = `session-${Math.random().toString(36).slice(2)}`;
        fs.appendFileSync(sessionFile, `${session}\n`);
        return { sessionId: session };
      }
      session = String(params["sessionId"]);
      if (fs.readFileSync(sessionFile, "utf8").split("\n").includes(session)) return {};
      throw new Error(`No session ${session}.`);
    }
    if (method !== "session/prompt") {
      throw Object.assign(new Error(`No method ${method}.`), { code: -32601 });
    }
    const [{ text = "" } = {}] = params["prompt"] as { text?: string }[];
    const cancelled = new Promise<void>((resolve) => {
      cancel = resolve;
    });
    const stop = await script(turn(text, cancelled));
    return { stopReason: typeof stop === "string" ? stop : "end_turn" };
  }

  function turn(prompt: string, cancelled: Promise<void>): FakeTurn {
    const update = (content: Json): void =>
      send({ method: "session/update", params: { sessionId: session, update: content } });
    const mcp: FakeTurn["mcp"] = (message, headers = {}) =>
      fetch(server?.url ?? "http://127.0.0.1:1", {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...Object.fromEntries((server?.headers ?? []).map(({ name, value }) => [name, value])),
          ...headers,
        },
        body: JSON.stringify({ jsonrpc: "2.0", ...message }),
      });
    return {
      ...{ turn: ++turns, prompt, session, isLoaded, environment: process.env, cancelled, update },
      say: (text) =>
        update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } }),
      raw: (text) => void process.stdout.write(text),
      ask(method, params) {
        const id = `fake-${++asked}`;
        return new Promise((resolve, reject) => {
          pending.set(id, { resolve, reject });
          send({ id, method, params: { sessionId: session, ...(params as Json) } });
        });
      },
      async model(body = {}, token = process.env["ANTHROPIC_API_KEY"] ?? "") {
        const response = await fetch(`${process.env["ANTHROPIC_BASE_URL"]}/v1/messages`, {
          method: "POST",
          headers: { "content-type": "application/json", "x-api-key": token },
          body: JSON.stringify({
            model: process.env["ANTHROPIC_MODEL"],
            max_tokens: 1000,
            messages: [{ role: "user", content: "Go on." }],
            ...body,
          }),
        });
        const answered = (await response.json()) as {
          content?: { text: string }[];
          error?: { message: string };
        };
        const text = answered.content?.[0]?.text ?? answered.error?.message ?? "";
        return { status: response.status, text };
      },
      mcp,
      async tool(name, input = {}) {
        if (mcpSession === undefined) {
          const opened = await mcp({
            ...{ id: 1, method: "initialize" },
            params: {
              protocolVersion: "2025-06-18",
              capabilities: {},
              clientInfo: { name: "fake", version: "1" },
            },
          });
          await opened.text();
          mcpSession = opened.headers.get("mcp-session-id") ?? "";
          await (
            await mcp({ method: "notifications/initialized" }, { "mcp-session-id": mcpSession })
          ).text();
        }
        const called = await mcp(
          { id: ++asked + 1, method: "tools/call", params: { name, arguments: input } },
          { "mcp-session-id": mcpSession },
        );
        const text = await called.text();
        const line = /^data: (\{.*)$/m.exec(text)?.[1] ?? text;
        const { error, result } = JSON.parse(line) as {
          error?: { message: string };
          result?: { isError?: boolean; content: { text: string }[] };
        };
        if (result === undefined) return { isError: true, text: error?.message ?? "" };
        return { isError: result.isError === true, text: result.content[0]?.text ?? "" };
      },
      shell(line) {
        try {
          return execSync(line, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
        } catch (error) {
          const { stderr, stdout } = error as { stderr: string; stdout: string };
          return `${stdout}${stderr}`;
        }
      },
      write: (path, text) => fs.writeFileSync(path, text),
      async wait(ms) {
        for (let left = ms; left > 0; left -= 20) {
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      },
      exit: (code) => process.exit(code),
    };
  }
}
