import type { Readable } from "node:stream";
import {
  CLIENT_INFO_META_KEY,
  type JSONRPCMessage,
  type Server,
} from "@modelcontextprotocol/server";
import { serveStdio as serve } from "@modelcontextprotocol/server/stdio";
import { defaultConfig } from "../../../control/config.ts";
import type { Principal } from "../../../control/records/principal.ts";
import { type Clock, systemClock } from "../../../ports/clock.ts";
import { messageOf } from "../../../ports/message-of.ts";
import type { Runtime } from "../../../runtime.ts";
import { clientNameOf, type Era } from "../client-abilities.ts";
import type { ClientSession } from "../client-session.ts";
import { createMcpServer } from "../create-mcp-server.ts";
import { type OfferedWays, offeredWays } from "../prompts.ts";
import { installTasks, type TaskServer } from "../tasks/install-tasks.ts";
import type { DurableTasks } from "../tasks/task.ts";
import { Tasks } from "../tasks/tasks.ts";
import { delegatingNames, longNames } from "../tools/session-tool.ts";
import { LineTransport } from "./line-transport.ts";

export interface StdioOptions {
  readonly input: Readable;
  readonly principal: Principal;
  /** Known before the runtime is opened; absent: the defaults. */
  readonly ways?: OfferedWays | undefined;
  /** The clock of the runtime, which is opened later. */
  readonly clock?: Clock | undefined;
  write(text: string): void;
  /** Opens the client's session; called with the first request that needs it. */
  open(client: string): Promise<OpenedClient>;
  /** Tells people, but never on standard output. */
  warn(sentence: string): void;
}

export interface OpenedClient {
  readonly session: ClientSession;
  /** Closes the session and everything that was opened for it. */
  close(): Promise<void>;
}

export interface ServedStdio {
  /** Resolves when the client has disconnected. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

/** The longest time that closing takes. */
const patienceMs = 4000;

/** Serves one client over pipes, in the generation of the protocol that it uses. */
export function serveStdio(options: StdioOptions): ServedStdio {
  const { clock = systemClock, ways = offeredWays(defaultConfig) } = options;
  let opening: Promise<OpenedClient> | undefined;
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  let info: unknown;
  const session = async (): Promise<ClientSession> => {
    opening ??= options.open(clientNameOf(info)).catch((error) => {
      // The cause, such as an invalid file, may be fixed before the next request.
      opening = undefined;
      options.warn(messageOf(error));
      throw error;
    });
    return (await opening).session;
  };
  const transport = new LineTransport(options.input, options.write);
  const makeServer = ({ era }: { readonly era: Era }): Server => {
    const server = createMcpServer({ era, session, ways, isConnected: true });
    if (era === "modern") {
      addTasks(server, { owner: options.principal, clock }, async () => (await session()).runtime);
    }
    return server;
  };
  const handle = serve(makeServer, { transport });
  const { onclose, onmessage } = transport;
  transport.onmessage = (message) => {
    info ??= clientInfoIn(message);
    onmessage?.(message);
  };
  transport.onclose = () => {
    onclose?.();
    end();
  };
  return {
    ended,
    async close() {
      const closing = (async () => {
        await handle.close();
        const opened = await opening?.catch(() => undefined);
        await opened?.close();
      })();
      const { promise: late, resolve: giveUp } = Promise.withResolvers<void>();
      const timer = clock.after(patienceMs, giveUp);
      await Promise.race([closing, late]).finally(() => timer.cancel());
    },
  };
}

/** In the handshake (2025-11-25), or in the metadata of each request (2026-07-28). */
function clientInfoIn(message: JSONRPCMessage): unknown {
  const params = "params" in message ? message.params : undefined;
  return params?._meta?.[CLIENT_INFO_META_KEY] ?? params?.["clientInfo"];
}

/** Adds the tasks extension for a client over pipes, whose runtime is opened on demand. */
function addTasks(
  server: TaskServer,
  { owner, clock }: { readonly owner: Principal; readonly clock: Clock },
  open: () => Promise<Runtime>,
): void {
  installTasks(server, {
    owner,
    tasks: new Tasks({ durable: durableLater(open), clock }),
    isLong: (tool) => longNames.has(tool),
    delegates: (tool) => delegatingNames.has(tool),
  });
}

function durableLater(open: () => Promise<Runtime>): DurableTasks {
  let known: DurableTasks | undefined;
  const opened = async (): Promise<DurableTasks> => {
    const runtime = await open();
    const { delegationTasks } = await import("../tasks/delegation-tasks.ts");
    known ??= delegationTasks(runtime);
    return known;
  };
  return {
    idOf: (tool, delegationId) => `${tool}.${delegationId}`,
    read: async (...what) => (await opened()).read(...what),
    questions: async (...what) => (await opened()).questions(...what),
    answer: async (...what) => (await opened()).answer(...what),
    cancel: async (...what) => (await opened()).cancel(...what),
  };
}

/**
 * Reserves standard output for the protocol: all other output goes to standard error. Returns the
 * function that writes to standard output.
 */
export function guardStdout(onBroken: () => void): (text: string) => void {
  const { stderr, stdout } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
  // A broken pipe must not end the process before everything is closed.
  for (const stream of [stdout, stderr]) stream.removeAllListeners("error");
  stdout.on("error", onBroken);
  stderr.on("error", () => undefined);
  return (text) => void write(text);
}
