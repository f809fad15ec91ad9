import { Readable, Writable } from "node:stream";
import {
  type AnyMessage,
  type ClientConnection,
  client,
  type InitializeResponse,
  type McpServer,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  RequestError,
  type RequestPermissionResponse,
  type Stream,
} from "@agentclientprotocol/sdk";
import {
  type AgentProgram,
  ProgramFault,
  type ProgramHost,
} from "../../delegations/agent-programs.ts";
import type { ProgramStop } from "../../events/program-payloads.ts";
import { type Clock, within } from "../../ports/clock.ts";
import { messageOf } from "../../ports/message-of.ts";
import { isRecord } from "../../ports/parse-json.ts";
import { headOf } from "../../text.ts";
import type { ContainedProgram } from "../../workspaces/sandbox/contained-program.ts";
import { AgentFiles } from "./agent-files.ts";
import { TurnReports } from "./turn-reports.ts";

const mostMessageBytes = 32 * 1024 * 1024;
/** More than that in one turn is a flood. */
const mostTurnBytes = 512 * 1024 * 1024;
const mostMalformed = 100;
const startMs = 120_000;
const longestId = 500;
/** The end of what a program wrote to its standard error, for its failure. */
const complaintLength = 2000;

export interface AcpOptions {
  readonly host: ProgramHost;
  readonly program: ContainedProgram;
  readonly name: string;
  readonly cwd: string;
  /** The version of Mandate. */
  readonly version: string;
  /** Where our MCP server is, for programs that reach one over HTTP. */
  readonly tools: { readonly url: string; readonly token: string } | null;
  readonly clock: Clock;
}

/**
 * A program that speaks the Agent Client Protocol, with one session. What it says is reported and decides
 * nothing: its sandbox, the gateway and the gate hold it.
 */
export class AcpSession implements AgentProgram {
  readonly session: string;
  readonly isResumed: boolean;
  readonly name: string;
  readonly #wire: Wire;

  constructor(wire: Wire, about: Pick<AcpSession, "session" | "isResumed" | "name">) {
    this.#wire = wire;
    this.session = about.session;
    this.isResumed = about.isResumed;
    this.name = about.name;
  }

  async prompt(text: string): Promise<{ readonly stop: ProgramStop; readonly text: string }> {
    const turn = this.#wire.beginTurn();
    const { stopReason } = await this.#wire.ask(
      this.#wire.connection.agent.request(methods.agent.session.prompt, {
        sessionId: this.session,
        prompt: [{ type: "text", text }],
      }),
    );
    return { stop: stops.has(stopReason) ? stopReason : "end_turn", text: turn.end() };
  }

  cancel(): void {
    const { agent } = this.#wire.connection;
    agent.notify(methods.agent.session.cancel, { sessionId: this.session }).catch(() => undefined);
  }
}

const stops: ReadonlySet<string> = new Set<ProgramStop>([
  ...(["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"] as const),
]);

/** Begins the protocol with a program that was started, and opens or loads its session. */
export async function openAcpSession(options: AcpOptions): Promise<AcpSession> {
  const session = await within(options.clock, startMs, open(new Wire(options), options));
  if (session !== undefined) return session;
  throw new ProgramFault(`It did not open a session within ${startMs / 1000} s.`, {
    isPassing: true,
  });
}

async function open(
  wire: Wire,
  { cwd, host, name, tools, version }: AcpOptions,
): Promise<AcpSession> {
  const { agent } = wire.connection;
  const started = await wire.ask(
    agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientInfo: { name: "mandate", title: "Mandate", version },
      clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
    }),
  );
  if (started.protocolVersion !== PROTOCOL_VERSION) {
    throw new ProgramFault(
      `It speaks version ${started.protocolVersion} of the Agent Client Protocol, and version ${PROTOCOL_VERSION} is needed. Update it.`,
    );
  }
  const mcpServers = serversFor(started, tools);
  const about = { name: describeAgent(started, name) };
  if (host.session !== null && started.agentCapabilities?.loadSession === true) {
    const sessionId = host.session;
    // A session that cannot be loaded is replaced by a new one, which gets the earlier conversation as text.
    const loaded = await wire
      .ask(agent.request(methods.agent.session.load, { sessionId, cwd, mcpServers }))
      .then(() => true)
      .catch((error: unknown) => {
        if (wire.hasEnded) throw error;
        return false;
      });
    if (loaded) return new AcpSession(wire, { ...about, session: sessionId, isResumed: true });
  }
  const created = await wire
    .ask(agent.request(methods.agent.session.new, { cwd, mcpServers }))
    .catch((error: unknown): never => {
      throw wire.hasEnded ? error : notOpened(started, error);
    });
  const { sessionId } = created;
  if (sessionId.length > longestId) throw new ProgramFault("The id of its session is too long.");
  return new AcpSession(wire, { ...about, session: sessionId, isResumed: false });
}

function serversFor(
  { agentCapabilities }: InitializeResponse,
  tools: AcpOptions["tools"],
): McpServer[] {
  if (tools === null || agentCapabilities?.mcpCapabilities?.http !== true) return [];
  const headers = [{ name: "Authorization", value: `Bearer ${tools.token}` }];
  return [{ type: "http" as const, name: "mandate", url: tools.url, headers }];
}

function describeAgent({ agentInfo }: InitializeResponse, fallback: string): string {
  if (agentInfo == null) return fallback;
  return `${agentInfo.title ?? agentInfo.name} ${agentInfo.version}`.trim();
}

function notOpened({ authMethods = [] }: InitializeResponse, error: unknown): ProgramFault {
  const isLogin = error instanceof ProgramFault && error.message.includes("-32000");
  const ways = authMethods.map(({ name }) => name).join(", ");
  const hint = isLogin && ways !== "" ? ` It asks for a login: ${ways}.` : "";
  return new ProgramFault(`It opened no session: ${messageOf(error)}${hint}`);
}

/** The connection to one program. */
class Wire {
  readonly connection: ClientConnection;
  hasEnded = false;
  readonly #options: AcpOptions;
  readonly #files: AgentFiles;
  readonly #ended: Promise<never>;
  #turn: TurnReports | null = null;
  #turnBytes = 0;
  #complaint = "";
  #endedFor: string | undefined;

  constructor(options: AcpOptions) {
    const { program } = options;
    this.#options = options;
    this.#files = new AgentFiles(options.host);
    this.#ended = new Promise((_, reject) => {
      const end = (exit: number | string): void => {
        this.hasEnded = true;
        reject(this.#faultOf(exit));
      };
      program.child.once("exit", (code, signal) => end(code ?? signal ?? 1));
      program.child.once("error", (error) => end(messageOf(error)));
    });
    this.#ended.catch(() => undefined);
    program.child.stderr?.on("data", (chunk: Buffer) => {
      this.#complaint = (this.#complaint + chunk.toString("utf8")).slice(-complaintLength);
    });
    const app = client({ name: "mandate" })
      .onRequest(methods.client.session.requestPermission, ({ params }) => allow(params.options))
      .onRequest(methods.client.fs.readTextFile, ({ params }) => this.#files.read(params))
      .onRequest(methods.client.fs.writeTextFile, ({ params }) => this.#files.write(params))
      .onRequest(methods.client.terminal.create, ({ params }) => this.#files.createTerminal(params))
      .onRequest(methods.client.terminal.output, ({ params }) => this.#files.output(params))
      .onRequest(methods.client.terminal.waitForExit, ({ params }) => this.#files.wait(params))
      .onRequest(methods.client.terminal.kill, ({ params }) => this.#files.kill(params))
      .onRequest(methods.client.terminal.release, ({ params }) => this.#files.release(params))
      .onRequest("*", ({ method }) => {
        throw RequestError.methodNotFound(method);
      });
    this.connection = app.connect(this.#stream(program));
  }

  beginTurn(): TurnReports {
    this.#turnBytes = 0;
    this.#turn = new TurnReports(this.#options.host);
    return this.#turn;
  }

  /** An answer of the program, or the fault that its end or its error means. */
  async ask<Answer>(answer: Promise<Answer>): Promise<Answer> {
    try {
      return await Promise.race([answer, this.#ended]);
    } catch (error) {
      // The stream of a program that exits may end just before its exit is known.
      if (this.connection.signal.aborted) {
        await within(this.#options.clock, 1000, this.#ended);
      }
      if (error instanceof ProgramFault) throw error;
      const code = error instanceof RequestError ? ` (${error.code})` : "";
      throw new ProgramFault(`${headOf(messageOf(error), 1000)}${code}`, { isPassing: true });
    }
  }

  #faultOf(exit: number | string): ProgramFault {
    const { program } = this.#options;
    const why = this.#endedFor ?? program.exceeded();
    const said = headOf(this.#complaint.trim(), complaintLength);
    if (!program.isSetUp() && why === undefined) {
      return new ProgramFault(`Its sandbox could not be set up: ${said}`, { isPassing: true });
    }
    const text = [why, said].filter((part) => part !== undefined && part !== "").join(" ");
    return new ProgramFault(text, { isPassing: true, exit });
  }

  #notified({ method, params }: { readonly method: string; readonly params?: unknown }): void {
    this.#options.host.alive();
    if (method !== methods.client.session.update) return;
    const update = isRecord(params) ? params["update"] : undefined;
    if (isRecord(update)) this.#turn?.see(update);
  }

  /** Ends the program for what it sent. */
  #end(why: string): void {
    this.#endedFor ??= why;
    this.#options.program.kill();
  }

  /**
   * The messages of the program. Its notifications are read here: in the order in which they arrive, before
   * the answer that follows them, and without the library, which complains on our standard error about
   * each that it does not know. Messages that make no sense are dropped.
   */
  #stream({ child }: ContainedProgram): Stream {
    const { stdin, stdout } = child;
    if (stdin == null || stdout == null) throw new ProgramFault("It has no standard input.");
    stdin.on("error", () => undefined);
    const whole = ndJsonStream(
      Writable.toWeb(stdin as Writable),
      Readable.toWeb(stdout as Readable) as ReadableStream<Uint8Array>,
      { maxMessageBytes: mostMessageBytes },
    );
    (stdout as Readable).on("data", (chunk: Buffer) => {
      this.#turnBytes += chunk.length;
      if (this.#turnBytes > mostTurnBytes) {
        this.#end(`It sent more than ${mostTurnBytes / 1024 / 1024} MB in one turn.`);
      }
    });
    const asked = new Set<unknown>();
    let malformed = 0;
    const isUnderstood = (message: unknown): boolean => {
      if (!isRecord(message) || message["jsonrpc"] !== "2.0") return false;
      return typeof message["method"] === "string" || asked.delete(message["id"]);
    };
    const sent = new TransformStream<AnyMessage, AnyMessage>({
      transform(message, controller) {
        if ("method" in message && "id" in message) asked.add(message.id);
        controller.enqueue(message);
      },
    });
    sent.readable.pipeTo(whole.writable).catch(() => undefined);
    const received = new TransformStream<AnyMessage, AnyMessage>({
      transform: (message, controller) => {
        if (!isUnderstood(message)) {
          if (++malformed > mostMalformed) {
            this.#end(`It sent more than ${mostMalformed} messages that are not of the protocol.`);
          }
        } else if ("method" in message && !("id" in message)) this.#notified(message);
        else controller.enqueue(message);
      },
    });
    whole.readable.pipeTo(received.writable).catch((error: unknown) => {
      this.#end(messageOf(error));
    });
    return { writable: sent.writable, readable: received.readable };
  }
}

/**
 * Permission is a courtesy of the program: what it may do is what its sandbox, the gateway and the gate let
 * it do. So it is granted, once each time.
 */
function allow(
  options: readonly { readonly kind: string; readonly optionId: string }[],
): RequestPermissionResponse {
  const option =
    options.find(({ kind }) => kind === "allow_once") ??
    options.find(({ kind }) => kind === "allow_always");
  if (option === undefined) return { outcome: { outcome: "cancelled" } };
  return { outcome: { outcome: "selected", optionId: option.optionId } };
}
