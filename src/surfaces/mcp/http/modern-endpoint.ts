import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  createMcpHandler,
  InMemoryServerEventBus,
  type McpHttpHandler,
  type McpRequestContext,
  type RequestId,
  type ServerEvent,
  type ServerEventBus,
  type ServerNotifier,
  SUBSCRIPTION_ID_META_KEY,
} from "@modelcontextprotocol/server";
import type { Principal } from "../../../control/records/principal.ts";
import { clientNameOf } from "../client-abilities.ts";
import { describeTask, isTerminal, type Task, tasksExtension } from "../tasks/task.ts";
import type { Tasks } from "../tasks/tasks.ts";
import {
  boundStream,
  type HttpClient,
  type HttpService,
  jsonRpcError,
  ownerKeyOf,
  type ServedServer,
} from "./http-client.ts";
import { KeptSessions } from "./kept-sessions.ts";
import type { EndpointLimits } from "./legacy-endpoint.ts";
import type { StoredSession } from "./stored-sessions.ts";

interface ModernSession<Session> {
  readonly session: Session;
  readonly stored: StoredSession | undefined;
}

/** Most open subscription streams of one principal. */
const maxSubscriptions = 64;

/**
 * Serves 2026-07-28, where requests are independent: each gets its own server, and shares only the
 * client's delegations. The protocol has no sessions, so clients of one principal with the same
 * name share one; separate tokens keep them apart. A disconnect cancels the call.
 */
export class ModernEndpoint<Session> {
  readonly #service: HttpService<Session>;
  readonly #sessions: KeptSessions<ModernSession<Session>>;
  /** The handlers of the principals: streams never carry events of other principals. */
  readonly #handlers = new Map<string, McpHttpHandler>();
  readonly #made = new WeakMap<Request, () => Promise<ServedServer>>();

  constructor(service: HttpService<Session>, limits: EndpointLimits) {
    this.#service = service;
    this.#sessions = new KeptSessions({
      ...limits,
      isBusy: ({ session }) => service.isBusy(session),
      close: ({ session }) => service.closeSession(session),
    });
  }

  async handle(request: Request, principal: Principal, message: unknown): Promise<Response> {
    const name = clientNameOf(clientInfoOf(message));
    const owner = ownerKeyOf(principal);
    const key = JSON.stringify([owner, name]);
    const stored = this.#service.stored?.at(principal, key);
    const client: HttpClient = { principal, name, era: "modern", stored };
    const held = await this.#sessions.open(owner, key, async () => {
      return { session: await this.#service.openSession(client), stored };
    });
    if (held === undefined) {
      return jsonRpcError(503, -32_000, "All of your sessions are busy: wait for one.");
    }
    try {
      const { session, stored: kept } = await held.session;
      await kept?.refresh();
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
    const error = {
      code: -32_021,
      message: "Tasks need the tasks extension in the client's capabilities.",
      data,
    };
    return Response.json({ jsonrpc: "2.0", error, id: listened.id }, { status: 400 });
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** The client info of an unvalidated message of 2026-07-28. */
function clientInfoOf(message: unknown): unknown {
  return metaOf(message)[CLIENT_INFO_META_KEY];
}

function knowsTasks(message: unknown): boolean {
  const { extensions } = fieldsOf(metaOf(message)[CLIENT_CAPABILITIES_META_KEY]);
  return Object.hasOwn(fieldsOf(extensions), tasksExtension);
}

/** The tasks that a client subscribes to; undefined: it does not subscribe. */
function listensToTasks(
  message: unknown,
): { readonly id: RequestId; readonly taskIds: readonly string[] } | undefined {
  const { method, id, params } = fieldsOf(message);
  if (method !== "subscriptions/listen") return undefined;
  const { taskIds } = fieldsOf(fieldsOf(params)["notifications"]);
  if (!Array.isArray(taskIds) || (typeof id !== "string" && typeof id !== "number"))
    return undefined;
  return { id, taskIds: taskIds.filter((one) => typeof one === "string") };
}

function metaOf(message: unknown): Fields {
  return fieldsOf(fieldsOf(fieldsOf(message)["params"])["_meta"]);
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

/** Publishes changes to the streams of one principal, and watches only while one is open. */
class WatchedBus implements ServerEventBus {
  readonly #bus = new InMemoryServerEventBus();
  readonly #watch: (notify: ServerNotifier) => () => void;
  #streams = 0;
  #unwatch: (() => void) | undefined;

  constructor(watch: ((notify: ServerNotifier) => () => void) | undefined) {
    this.#watch = watch ?? (() => () => undefined);
  }

  publish(event: ServerEvent): void {
    this.#bus.publish(event);
  }

  subscribe(listener: (event: ServerEvent) => void): () => void {
    const unsubscribe = this.#bus.subscribe(listener);
    if (++this.#streams === 1) this.#unwatch = this.#watch(notifierOf(this.#bus));
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      unsubscribe();
      if (--this.#streams === 0) this.#unwatch?.();
    };
  }
}

function notifierOf(bus: ServerEventBus): ServerNotifier {
  return {
    toolsChanged: () => bus.publish({ kind: "tools_list_changed" }),
    promptsChanged: () => bus.publish({ kind: "prompts_list_changed" }),
    resourcesChanged: () => bus.publish({ kind: "resources_list_changed" }),
    resourceUpdated: (uri) => bus.publish({ kind: "resource_updated", uri }),
  };
}

const maxTaskIds = 100;

export interface TaskSubscription {
  readonly tasks: Tasks;
  readonly owner: Principal;
  readonly id: RequestId;
  readonly taskIds: readonly string[];
}

/**
 * Adds task notifications to a stream of `subscriptions/listen`; the SDK serves the other kinds.
 * Tasks of other principals are silently left out.
 */
export async function listenToTasks(
  response: Response,
  subscription: TaskSubscription,
): Promise<Response> {
  const { body, headers, status } = response;
  if (body === null || !headers.get("content-type")?.startsWith("text/event-stream"))
    return response;
  const { tasks, owner, id, taskIds } = subscription;
  const wanted = [...new Set(taskIds)].slice(0, maxTaskIds);
  const found = await Promise.all(wanted.map((taskId) => tasks.get(owner, taskId)));
  const own = new Map(found.flatMap((task) => (task ? [[task.taskId, task] as const] : [])));
  const reader = body.getReader();
  let stop: () => void = () => undefined;
  const stream = new ReadableStream<Uint8Array>({
    async start(controller) {
      const send = (message: object): void => controller.enqueue(frame(message));
      const first = await reader.read();
      if (first.done) return controller.close();
      send(acknowledged(first.value, [...own.keys()]));
      const over = Promise.withResolvers<void>();
      const told = new Set<string>();
      const tell = (task: Task): void => {
        if (!own.has(task.taskId)) return;
        told.add(task.taskId);
        send(notification(task, id));
        own.set(task.taskId, task);
        if ([...own.values()].every(({ state }) => isTerminal(state))) over.resolve();
      };
      const unwatch = tasks.watch(owner, tell);
      stop = () => {
        unwatch();
        over.resolve();
      };
      // Read again, because changes before the subscription were not sent.
      for (const [taskId, before] of [...own]) {
        const task = (await tasks.get(owner, taskId)) ?? before;
        if (!told.has(taskId)) tell(task);
      }
      if (own.size === 0) over.resolve();
      void passOn(reader, controller, over.promise).finally(stop);
    },
    async cancel(reason) {
      stop();
      await reader.cancel(reason).catch(() => undefined);
    },
  });
  return new Response(stream, { status, headers });
}

/** The SDK's stream ends at once when only tasks were requested, so its last frame is held back. */
async function passOn(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  controller: ReadableStreamDefaultController<Uint8Array>,
  tasksAreOver: Promise<void>,
): Promise<void> {
  try {
    let isFirst = true;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return controller.close();
      if (isFirst && isResult(value)) await tasksAreOver;
      isFirst = false;
      controller.enqueue(value);
    }
  } catch {
    // The client has closed the stream.
  }
}

function frame(message: object): Uint8Array {
  return new TextEncoder().encode(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
}

function messageIn(chunk: Uint8Array): Readonly<Record<string, unknown>> {
  const text = new TextDecoder().decode(chunk);
  const data = text.split("\n").find((line) => line.startsWith("data: "));
  return data === undefined ? {} : JSON.parse(data.slice("data: ".length));
}

function isResult(chunk: Uint8Array): boolean {
  return "result" in messageIn(chunk);
}

function acknowledged(chunk: Uint8Array, taskIds: readonly string[]): object {
  const message = messageIn(chunk);
  const params = message["params"] as { readonly notifications?: object };
  return { ...message, params: { ...params, notifications: { ...params.notifications, taskIds } } };
}

function notification(task: Task, id: RequestId): object {
  const params = { ...describeTask(task), _meta: { [SUBSCRIPTION_ID_META_KEY]: id } };
  return { jsonrpc: "2.0", method: "notifications/tasks", params };
}
