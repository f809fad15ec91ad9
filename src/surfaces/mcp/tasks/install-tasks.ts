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
  /** Whether a call of it delegates, so that its task can be found again by that. */
  delegates?(tool: string): boolean;
  /** Whether the tool is refused to clients that do not know tasks. */
  needsTask?(tool: string): boolean;
}

const taskParams = z.looseObject({ taskId: z.string().min(1).max(256) });

/**
 * Gives a server of 2026-07-28 the tasks extension. A call of a
 * long tool by a client that knows tasks is answered with a task, unless it is done at once.
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
    // The SDK takes them out of the parameters, as it does for calls.
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
  // Checked against its schema before a handler is called.
  return (envelope[CLIENT_CAPABILITIES_META_KEY] ?? {}) as ClientCapabilities;
}

function knowsTasks(context: ServerContext): boolean {
  return capabilitiesOf(context).extensions?.[tasksExtension] !== undefined;
}

function requireTasks(context: ServerContext): void {
  if (!knowsTasks(context)) throw missingTasks();
}

/** Whoever began a task as an operator may be a viewer by now: what is theirs they may still see. */
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

/** The same for one that never was and for one of somebody else. */
function unknownTask(taskId: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no task ${taskId}.`);
}

export type ToolCallHandler = (request: JSONRPCRequest, context: ServerContext) => Promise<Result>;

type Wrap = (call: ToolCallHandler) => ToolCallHandler;

/**
 * A server whose tool calls may be answered with a task. The SDK validates that the answer of a tool
 * is a tool's result; a wrapper stands outside of that validation, by the hook that the SDK has for
 * subclasses.
 */
export class TaskServer extends Server {
  #wrap: Wrap = (call) => call;

  /** Puts a wrapper around the calls of all tools, also of those that were registered before. */
  wrapToolCalls(wrap: Wrap): void {
    this.#wrap = wrap;
  }

  protected override _wrapHandler(method: string, handler: ToolCallHandler): ToolCallHandler {
    const checked = super._wrapHandler(method, handler);
    if (method !== "tools/call") return checked;
    return (request, context) => this.#wrap(checked)(request, context);
  }
}

/** What a tool was answered, and what it wanted to have back with the answers. */
interface Round {
  readonly responses: Readonly<Record<string, unknown>>;
  readonly state: string | undefined;
}

/** Repeats the call with what the client answered, as often as the tool asks for more. */
async function workOnTask(
  live: LiveTask,
  call: ToolCallHandler,
  request: JSONRPCRequest,
  context: ServerContext,
): Promise<Result> {
  let round: Round | undefined;
  for (;;) {
    const result = await call(request, detach(context, live, round));
    // As long as there is no task, the client is asked in the answer to its call.
    if (!isInputRequiredResult(result) || !live.isTask) return result;
    const asked = Object.entries<InputRequest>(result.inputRequests ?? {});
    const answered = asked.map(async ([key, one]) => [key, await live.requestInput(one)] as const);
    round = {
      responses: Object.fromEntries(await Promise.all(answered)),
      state: result.requestState,
    };
  }
}

/** The call's context without its request: that is answered long before the call is done. */
function detach(context: ServerContext, live: LiveTask, round: Round | undefined): ServerContext {
  const { mcpReq } = context;
  return withTask(
    {
      ...context,
      mcpReq: {
        ...mcpReq,
        signal: live.signal,
        // A tool tells how it goes to those who gave a token; a task's status wants to know as well.
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
