import { type RequestId, SUBSCRIPTION_ID_META_KEY } from "@modelcontextprotocol/server";
import type { Principal } from "../../../control/records/principal.ts";
import { describeTask, isTerminal, type Task } from "../tasks/task.ts";
import type { Tasks } from "../tasks/tasks.ts";

const maxTaskIds = 100;

export interface TaskSubscription {
  readonly tasks: Tasks;
  readonly owner: Principal;
  readonly id: RequestId;
  readonly taskIds: readonly string[];
}

/**
 * Adds changes of tasks to a stream of `subscriptions/listen`, whose other kinds the SDK serves.
 * Of tasks that are not the client's own nothing is said, not even that they are not.
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
      // Read again, because what changed before anybody watched was told to nobody.
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

/** The SDK's stream ends at once where nothing but tasks was asked for; its last frame waits then. */
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
