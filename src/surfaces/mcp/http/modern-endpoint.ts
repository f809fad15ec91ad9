import {
  createMcpHandler,
  type McpHttpHandler,
  type McpRequestContext,
} from "@modelcontextprotocol/server";
import type { Principal } from "../../../control/records/principal.ts";
import { tasksExtension } from "../tasks/task.ts";
import { boundStream } from "./bound-stream.ts";
import {
  clientNameOf,
  type HttpClient,
  type HttpService,
  ownerKeyOf,
  type ServedServer,
} from "./http-client.ts";
import { jsonRpcError } from "./json-rpc-error.ts";
import { KeptSessions } from "./kept-sessions.ts";
import type { EndpointLimits } from "./legacy-endpoint.ts";
import { listenToTasks } from "./listen-to-tasks.ts";
import { clientInfoOf, knowsTasks, listensToTasks } from "./request-meta.ts";
import { WatchedBus } from "./watched-bus.ts";

/** Streams of changes that one principal may have open. */
const maxSubscriptions = 64;

/**
 * Serves 2026-07-28, where every request stands by itself: a server for each, and nothing shared
 * but what its client has delegated. The protocol has no sessions, so clients of one principal
 * that call themselves by the same name hold one together; who wants to be apart takes another
 * token. A client that goes away in the middle of a call has taken it back.
 */
export class ModernEndpoint<Session> {
  readonly #service: HttpService<Session>;
  readonly #sessions: KeptSessions<Session>;
  /** One for each principal: a stream of one hears nothing of another's. */
  readonly #handlers = new Map<string, McpHttpHandler>();
  readonly #made = new WeakMap<Request, () => Promise<ServedServer>>();

  constructor(service: HttpService<Session>, limits: EndpointLimits) {
    this.#service = service;
    this.#sessions = new KeptSessions({
      ...limits,
      isBusy: (session) => service.isBusy(session),
      close: (session) => service.closeSession(session),
    });
  }

  async handle(request: Request, principal: Principal, message: unknown): Promise<Response> {
    const name = clientNameOf(clientInfoOf(message));
    const client: HttpClient = { principal, name, era: "modern" };
    const owner = ownerKeyOf(principal);
    const key = JSON.stringify([owner, name]);
    const held = await this.#sessions.open(owner, key, async () =>
      this.#service.openSession(client),
    );
    if (held === undefined) {
      return jsonRpcError(503, -32_000, "All of your sessions are at work: wait for one.");
    }
    try {
      const session = await held.session;
      this.#made.set(request, async () => this.#service.makeServer(session, client));
      const response = await this.#handlerOf(principal).fetch(request, { parsedBody: message });
      return boundStream(await this.#addTasks(response, principal, message), held.release);
    } catch (error) {
      held.release();
      throw error;
    }
  }

  async end(isConcerned: (owner: string) => boolean = () => true): Promise<void> {
    const handlers = [...this.#handlers].filter(([owner]) => isConcerned(owner));
    for (const [owner] of handlers) this.#handlers.delete(owner);
    await Promise.all(handlers.map(([, handler]) => handler.close()));
    await this.#sessions.endAll(isConcerned);
  }

  stop(): void {
    this.#sessions.stop();
  }

  #handlerOf(principal: Principal): McpHttpHandler {
    const owner = ownerKeyOf(principal);
    const known = this.#handlers.get(owner);
    if (known) return known;
    const { watch } = this.#service;
    const handler = createMcpHandler((context) => this.#makeServer(context), {
      legacy: "reject",
      maxSubscriptions,
      bus: new WatchedBus(watch && ((notify) => watch(principal, notify))),
    });
    this.#handlers.set(owner, handler);
    return handler;
  }

  async #makeServer({ requestInfo }: McpRequestContext): Promise<ServedServer> {
    const make = requestInfo && this.#made.get(requestInfo);
    if (make === undefined) throw new Error("A server was asked for without a request.");
    return make();
  }

  async #addTasks(response: Response, owner: Principal, message: unknown): Promise<Response> {
    const { tasks } = this.#service;
    const listened = listensToTasks(message);
    if (tasks === undefined || listened === undefined || !response.ok) return response;
    if (knowsTasks(message)) return listenToTasks(response, { tasks, owner, ...listened });
    await response.body?.cancel();
    const data = { requiredCapabilities: { extensions: { [tasksExtension]: {} } } };
    const error = { code: -32_021, message: "Tasks are an extension: declare it.", data };
    return Response.json({ jsonrpc: "2.0", error, id: listened.id }, { status: 400 });
  }
}
