import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type InputRequest,
  isInputRequiredResult,
  type JSONRPCRequest,
  MissingRequiredClientCapabilityError,
  type Notification,
  ProtocolError,
  ProtocolErrorCode,
  type Result,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { holdsRole, type Principal } from "../../../control/records/principal.ts";
import type { LiveTask } from "./live-task.ts";
import { describeCreated, describeTask, tasksExtension, visibleTo, withTask } from "./task.ts";
import type { Tasks } from "./tasks.ts";

export interface TaskInstallation {
  readonly tasks: Tasks;
  readonly owner: Principal;
  /** Whether a call of the tool may become a task. */
  isLong(tool: string): boolean;
  /** Whether its calls delegate, so that the task can be found by the delegation. */
  delegates?(tool: string): boolean;
  /** Whether the tool is refused to clients that do not know tasks. */
  needsTask?(tool: string): boolean;
}

const taskParams = z.looseObject({ taskId: z.string().min(1).max(256) });

/**
 * Adds the tasks extension to a server of 2026-07-28. A call of a long tool by a client with tasks
 * is answered with a task, unless it finishes at once.
 */
export function installTasks(server: TaskServer, installation: TaskInstallation): void {
  const { tasks, owner } = installation;
  server.registerCapabilities({ extensions: { [tasksExtension]: {} } });
  server.wrapToolCalls((call) => async (request, context) => {
    const tool = String(request.params?.["name"]);
    if (!knowsTasks(context)) {
      if (installation.needsTask?.(tool)) throw missingTasks();
      return call(request, context);
    }
    if (!installation.isLong(tool) || !tasks.hasRoomFor(owner)) return call(request, context);
    const { signal } = context.mcpReq;
    const begun = await tasks.begin({
      owner,
      tool,
      delegates: installation.delegates?.(tool),
      signal,
      work: (live) => workOnTask(live, call, request, context),
    });
    return "task" in begun ? describeCreated(begun.task) : begun.result;
  });
  server.setRequestHandler("tasks/get", { params: taskParams }, async ({ taskId }, context) => {
    requireTasks(context);
    const task = await tasks.get(owner, taskId);
    if (task === undefined) throw unknownTask(taskId);
    return describeTask(visibleTo(task, capabilitiesOf(context)));
  });
  server.setRequestHandler("tasks/update", { params: taskParams }, async ({ taskId }, context) => {
    requireTasks(context);
    requireOperator(owner);
    // The SDK moves the responses from the parameters to the context.
    const { inputResponses = {} } = context.mcpReq;
    if (!(await tasks.answer(owner, taskId, inputResponses))) throw unknownTask(taskId);
    return {};
  });
  server.setRequestHandler("tasks/cancel", { params: taskParams }, async ({ taskId }, context) => {
    requireTasks(context);
    requireOperator(owner);
    if (!(await tasks.cancel(owner, taskId))) throw unknownTask(taskId);
    return {};
  });
}

function capabilitiesOf({ mcpReq }: ServerContext): ClientCapabilities {
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {};
  // The SDK validates the envelope before it calls a handler.
  return (envelope[CLIENT_CAPABILITIES_META_KEY] ?? {}) as ClientCapabilities;
}

function knowsTasks(context: ServerContext): boolean {
  return capabilitiesOf(context).extensions?.[tasksExtension] !== undefined;
}

function requireTasks(context: ServerContext): void {
  if (!knowsTasks(context)) throw missingTasks();
}

/** A principal may have become a viewer since: it can still read its tasks, but not change them. */
function requireOperator(owner: Principal): void {
  if (holdsRole("operator", owner)) return;
  const sentence = "This needs an operator; this access is a viewer's.";
  throw new ProtocolError(ProtocolErrorCode.InvalidRequest, sentence);
}

function missingTasks(): MissingRequiredClientCapabilityError {
  return new MissingRequiredClientCapabilityError({
    requiredCapabilities: { extensions: { [tasksExtension]: {} } },
  });
}

/** One error for unknown and foreign tasks, so that it reveals nothing. */
function unknownTask(taskId: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no task ${taskId}.`);
}

export type ToolCallHandler = (request: JSONRPCRequest, context: ServerContext) => Promise<Result>;

type Wrap = (call: ToolCallHandler) => ToolCallHandler;

/**
 * A server whose tool calls may be answered with a task. The SDK accepts only tool results from a
 * handler of tools/call; this wraps the handler outside of that validation, by the SDK's hook for
 * subclasses.
 */
export class TaskServer extends Server {
  #wrap: Wrap = (call) => call;

  /** Wraps the calls of all tools, also of those that were registered before. */
  wrapToolCalls(wrap: Wrap): void {
    this.#wrap = wrap;
  }

  protected override _wrapHandler(method: string, handler: ToolCallHandler): ToolCallHandler {
    const checked = super._wrapHandler(method, handler);
    if (method !== "tools/call") return checked;
    return (request, context) => this.#wrap(checked)(request, context);
  }
}

/** The replies to a tool's questions, and the state to return with them. */
interface Round {
  readonly responses: Readonly<Record<string, unknown>>;
  readonly state: string | undefined;
}

/** Repeats the call with the client's replies, as often as the tool asks for input. */
async function workOnTask(
  live: LiveTask,
  call: ToolCallHandler,
  request: JSONRPCRequest,
  context: ServerContext,
): Promise<Result> {
  let round: Round | undefined;
  for (;;) {
    const result = await call(request, detach(context, live, round));
    // Before the call becomes a task, questions are the response to the call.
    if (!isInputRequiredResult(result) || !live.isTask) return result;
    const asked = Object.entries<InputRequest>(result.inputRequests ?? {});
    const answered = asked.map(async ([key, one]) => [key, await live.requestInput(one)] as const);
    round = {
      responses: Object.fromEntries(await Promise.all(answered)),
      state: result.requestState,
    };
  }
}

/** The call's context without its request, which is answered before the call finishes. */
function detach(context: ServerContext, live: LiveTask, round: Round | undefined): ServerContext {
  const { mcpReq } = context;
  return withTask(
    {
      ...context,
      mcpReq: {
        ...mcpReq,
        signal: live.signal,
        // A progress token, so that the tool reports progress for the task's status.
        _meta: { ...mcpReq._meta, progressToken: "task" },
        notify: async (notification) => report(live, notification),
        log: async () => undefined,
        ...(round && {
          inputResponses: { ...round.responses },
          requestState: <Value>() => round.state as Value | undefined,
        }),
      },
    },
    live,
  );
}

function report(live: LiveTask, { method, params }: Notification): void {
  const message = method === "notifications/progress" ? params?.["message"] : undefined;
  if (typeof message === "string") live.report(message);
}
