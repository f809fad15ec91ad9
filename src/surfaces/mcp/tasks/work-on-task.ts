import {
  type InputRequest,
  isInputRequiredResult,
  type JSONRPCRequest,
  type Notification,
  type Result,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { LiveTask } from "./live-task.ts";
import { withTask } from "./task-call.ts";
import type { ToolCallHandler } from "./task-server.ts";

/** What a tool was answered, and what it wanted to have back with the answers. */
interface Round {
  readonly responses: Readonly<Record<string, unknown>>;
  readonly state: string | undefined;
}

/** Repeats the call with what the client answered, as often as the tool asks for more. */
export async function workOnTask(
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
