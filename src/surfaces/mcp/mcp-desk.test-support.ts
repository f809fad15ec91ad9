import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type CallToolResult, Client, type ClientCapabilities } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { verifyHome } from "../../application/verify-home.ts";
import { findPlaces } from "../../control/places.ts";
import { loadPlaybook } from "../../models/scripted/load-playbook.ts";
import { scriptedModel } from "../../models/scripted/scripted-model.ts";
import { openStore } from "../../open-store.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Model } from "../../ports/model.ts";
import type { Store } from "../../ports/store.ts";
import { createRuntime } from "../../runtime.ts";
import { childEnvironment } from "../../testing/child-environment.test-support.ts";
import { until } from "../../testing/until.ts";
import { LocalClientSession } from "./client-session.ts";
import { PipedTransport } from "./piped-transport.test-support.ts";
import { serveStdio } from "./stdio/serve-stdio.ts";

const binary = fileURLToPath(new URL("../../mandate.ts", import.meta.url));

const user = { id: "local", role: "operator", allRuns: true } as const;

export type Era = "2025-11-25" | "2026-07-28";
export const eras: readonly Era[] = ["2025-11-25", "2026-07-28"];

interface ConnectOptions {
  readonly era: Era;
  /** Over a real process, as users have it; otherwise over pipes, which is the same and faster. */
  readonly isProcess?: true;
  /** With a process: the person has not consented to its folder. */
  readonly isWithoutConsent?: true;
  /** The only folder that the server may work in. */
  readonly workspace?: string;
  /** Not with a process: the model does not reply before. */
  readonly replyAfter?: Promise<void>;
  /** Not with a process. */
  readonly clock?: Clock;
  /** For questions that nobody answers. */
  readonly limits?: { readonly askDeadlineMs: number; readonly askDefault: string };
  readonly capabilities?: ClientCapabilities;
  /** What its person replies to a question. */
  readonly reply?: (message: string, schema: object) => object | Promise<object>;
  readonly roots?: () => readonly string[];
}

/** A home and a folder of their own, and programs that talk to `mandate mcp` there. */
export class McpDesk implements AsyncDisposable {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), "mandate-mcp-")));
  readonly home = join(this.root, "home");
  readonly workspace = join(this.root, "workspace");
  readonly #playbook = join(this.root, "playbook.yaml");
  readonly #variables: Readonly<Record<string, string>>;
  readonly #clients: Client[] = [];
  readonly #closing: (() => Promise<void>)[] = [];

  /** Who answers: a playbook, or whoever is found by these variables. */
  constructor(model: string | Readonly<Record<string, string>>) {
    mkdirSync(this.workspace);
    if (typeof model === "string") writeFileSync(this.#playbook, model);
    this.#variables = typeof model === "string" ? { MANDATE_PLAYBOOK: this.#playbook } : model;
  }

  /** Somebody who can be delegated to. */
  addProfile(name: string, text: string): void {
    const folder = findPlaces(this.environment).userAgents;
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${name}.md`), text);
  }

  get environment(): Record<string, string> {
    return {
      ...childEnvironment,
      HOME: this.root,
      XDG_CONFIG_HOME: join(this.root, "config"),
      MANDATE_HOME: this.home,
      ...this.#variables,
    };
  }

  /** The official client, over a real process. */
  async connect(options: ConnectOptions): Promise<Client> {
    const { capabilities = {}, era, reply, roots } = options;
    const client = new Client(
      { name: "desk", version: "1" },
      {
        capabilities,
        ...(era === "2026-07-28" && { versionNegotiation: { mode: { pin: era } } }),
      },
    );
    if (reply) {
      client.setRequestHandler("elicitation/create", async ({ params }) => {
        const schema = "requestedSchema" in params ? params.requestedSchema : {};
        return (await reply(params.message, schema)) as { action: "accept" };
      });
    }
    if (roots) {
      client.setRequestHandler("roots/list", async () => ({
        roots: roots().map((path) => ({ uri: pathToFileURL(path).href })),
      }));
    }
    const transport = options.isProcess ? this.#process(options) : this.#pipes(options);
    await client.connect(transport);
    this.#clients.push(client);
    return client;
  }

  #process({ isWithoutConsent }: ConnectOptions): StdioClientTransport {
    const consent = isWithoutConsent ? [] : ["--trust-folder"];
    return new StdioClientTransport({
      command: process.execPath,
      args: [binary, "mcp", ...consent],
      cwd: this.workspace,
      env: this.environment,
      stderr: "ignore",
    });
  }

  #pipes({ clock, limits, replyAfter, workspace }: ConnectOptions): PipedTransport {
    const transport = new PipedTransport();
    const served = serveStdio({
      input: transport.outgoing,
      principal: user,
      clock,
      write: (text) => transport.receive(text),
      warn: () => undefined,
      open: async (client) => {
        const runtime = await createRuntime({
          consent: "named",
          environment: this.environment,
          cwd: this.workspace,
          synchronous: "normal",
          ...(clock && { clock }),
          scripted: await this.#model(replyAfter),
          ...(limits && { limits }),
        });
        const session = new LocalClientSession({
          runtime,
          client,
          principal: user,
          folders: [workspace ?? this.workspace],
          allowed: workspace === undefined ? undefined : [workspace],
        });
        const close = async (): Promise<void> => {
          await session.close();
          await runtime.close();
        };
        return { session, close };
      },
    });
    // As the command does when its client has left.
    let closing: Promise<void> | undefined;
    const close = (): Promise<void> => (closing ??= served.close());
    void served.ended.then(close);
    this.#closing.push(close);
    return transport;
  }

  async #model(replyAfter: Promise<void> | undefined): Promise<Model> {
    const model = scriptedModel(await loadPlaybook(this.#playbook));
    return async (request, onPart) => {
      await replyAfter;
      return model(request, onPart);
    };
  }

  /** Bare pipes. */
  start(args: readonly string[] = []): RawServer {
    const child = spawn(process.execPath, [binary, "mcp", "--trust-folder", ...args], {
      cwd: this.workspace,
      env: this.environment,
    });
    const server = new RawServer(child);
    this.#closing.push(async () => {
      child.stdin.end();
      await server.exit();
    });
    return server;
  }

  /** The command line, as a process of its own. */
  async type(
    words: readonly string[],
  ): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> {
    const child = this.begin(words);
    let [out, err] = ["", ""];
    child.stdout.on("data", (chunk) => (out += chunk));
    child.stderr.on("data", (chunk) => (err += chunk));
    await once(child, "close");
    return { code: child.exitCode, out, err };
  }

  begin(words: readonly string[]): ChildProcessWithoutNullStreams {
    const options = { cwd: this.workspace, env: this.environment };
    const child = spawn(process.execPath, [binary, ...words], options);
    child.stdin.end();
    return child;
  }

  async withStore<Value>(look: (store: Store) => Promise<Value>): Promise<Value> {
    const store = await openStore({ environment: this.environment });
    try {
      return await look(store);
    } finally {
      await store.close();
    }
  }

  /** Everybody leaves; then nothing may be open, and the log has to hold. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) await client.close();
    for (const close of this.#closing) await close();
    try {
      await this.withStore(async (store) => {
        const places = findPlaces(this.environment);
        const { violations } = await verifyHome(store, { places, settled: true });
        const open = await store.listRuns({ open: true });
        if (violations.length > 0 || open.length > 0)
          throw new Error(`This does not hold: ${JSON.stringify({ violations, open })}`);
      });
    } finally {
      rmSync(this.root, { recursive: true, force: true });
    }
  }
}

export interface RawMessage {
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string };
}

export class RawServer {
  readonly child: ChildProcessWithoutNullStreams;
  /** Lines that were no JSON: there must be none. */
  readonly garbage: string[] = [];
  readonly messages: RawMessage[] = [];
  stderr = "";

  constructor(child: ChildProcessWithoutNullStreams) {
    this.child = child;
    child.stderr.on("data", (chunk) => {
      this.stderr += String(chunk);
    });
    child.stdin.on("error", () => undefined);
    createInterface({ input: child.stdout }).on("line", (line) => {
      try {
        this.messages.push(JSON.parse(line));
      } catch {
        this.garbage.push(line);
      }
    });
  }

  write(line: string | Buffer): void {
    this.child.stdin.write(line);
    this.child.stdin.write("\n");
  }

  send(message: object): void {
    this.write(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }

  async initialize(capabilities: object = {}): Promise<RawMessage> {
    const clientInfo = { name: "raw", version: "1" };
    const params = { protocolVersion: "2025-11-25", capabilities, clientInfo };
    this.send({ id: "init", method: "initialize", params });
    const answer = await this.next(({ id }) => id === "init");
    this.send({ method: "notifications/initialized" });
    return answer;
  }

  /** The first message that fits, among those that came and those to come. */
  next(fits: (message: RawMessage) => boolean): Promise<RawMessage> {
    return until(`a message for ${fits}`, () => this.messages.find(fits));
  }

  async exit(): Promise<{ readonly code: number | null }> {
    const { exitCode, signalCode } = this.child;
    if (exitCode === null && signalCode === null) await once(this.child, "exit");
    return { code: this.child.exitCode };
  }
}

export async function callTool(
  client: Client,
  name: string,
  input: Readonly<Record<string, unknown>>,
  options: Parameters<Client["callTool"]>[1] = {},
): Promise<CallToolResult & { readonly text: string }> {
  const result = await client.callTool({ name, arguments: { ...input } }, options);
  const [first] = result.content as readonly { readonly text?: string }[];
  return { ...(result as CallToolResult), text: first?.text ?? "" };
}
