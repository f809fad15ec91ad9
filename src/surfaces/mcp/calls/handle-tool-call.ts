import {
  type CallToolResult,
  type InputRequest,
  type InputRequiredResult,
  inputRequired,
  SdkError,
  SdkErrorCode,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { callTool, describeResult } from "../call-tool.ts";
import type { ClientAbilities, Era } from "../client-abilities.ts";
import type { ClientSession } from "../client-session.ts";
import type { CallProgress, McpTool } from "../mcp-tool.ts";
import { taskOf } from "../tasks/task-call.ts";
import { bringQuestions, takeReply } from "./bring-questions.ts";
import { learnRoots } from "./learn-roots.ts";
import type { OpenCall } from "./open-call.ts";
import { formFor } from "./question-form.ts";
import { type RoundState, roundState } from "./round-state.ts";

export interface ToolCallRequest {
  readonly tool: McpTool;
  readonly input: unknown;
  readonly session: ClientSession;
  readonly era: Era;
  readonly abilities: ClientAbilities;
  readonly context: ServerContext;
}

type Answer = CallToolResult | InputRequiredResult;

/**
 * One call of a client, from its roots to its result. What an agent below it asks is brought to the
 * client's person: by a request of ours (2025-11-25), or as the answer to the call, which the client
 * then makes again with the replies (2026-07-28). The call itself goes on meanwhile.
 */
export async function handleToolCall(request: ToolCallRequest): Promise<Answer> {
  const { abilities, context, era, session, tool } = request;
  if (abilities.elicits) session.attend();
  if (tool.delegates && abilities.hasRoots) {
    const asked = await learnRoots(session, era, context);
    if (asked !== undefined) return asked;
  }
  const call = await findOrBegin(request);
  if (call === undefined) return forgotten;
  const release = attach(call, request);
  try {
    if (era === "modern") return await answerInRounds(call, request);
    if (asksDuring(request)) void bringQuestions(call, session, context);
    return await finish(call, session);
  } finally {
    release();
  }
}

const forgotten: CallToolResult = {
  isError: true,
  content: [
    {
      type: "text",
      text: "Error: the call that this answers is over. list_sub_agents and get_delegation_result say what came of it.",
    },
  ],
};

/** What is asked below a task that delegated is told with the task, from the log. */
function asksDuring({ abilities, context, tool }: ToolCallRequest): boolean {
  const isTold = tool.delegates === true && taskOf(context) !== undefined;
  return tool.isLong === true && abilities.elicits && !isTold;
}

async function findOrBegin(request: ToolCallRequest): Promise<OpenCall | undefined> {
  const { context, input, session, tool } = request;
  const state = context.mcpReq.requestState<RoundState>();
  if (state?.asked === "questions") {
    const call = session.calls.find(state.call, tool.name);
    if (call !== undefined) await takeReplies(call, session, context);
    return call;
  }
  return session.calls.begin(tool.name, asksDuring(request), (call) =>
    callTool(tool, input, {
      session,
      signal: call.control.signal,
      report: (progress) => call.report(progress),
      onDelegation(delegationId) {
        call.made.push(delegationId);
        call.onDelegation(delegationId);
      },
    }),
  );
}

async function takeReplies(
  call: OpenCall,
  session: ClientSession,
  { mcpReq }: ServerContext,
): Promise<void> {
  for (const [id, response] of Object.entries(mcpReq.inputResponses ?? {})) {
    const question = call.shown(id);
    if (question !== undefined) await takeReply(session, question, response);
  }
}

/** From now on this request hears how the call goes, and takes it back when it is taken back. */
function attach(call: OpenCall, { context, era, session }: ToolCallRequest): () => void {
  const { mcpReq } = context;
  const token = mcpReq._meta?.progressToken;
  if (token !== undefined) {
    call.report = (progress) => {
      call.told = notify(context, token, progress);
    };
  }
  const task = taskOf(context);
  call.onDelegation = (id) => task?.onDelegation(id);
  for (const id of call.made) task?.onDelegation(id);
  const takeBack = (): void => {
    // A 2025 client that goes away has not taken its call back: what it delegated goes on.
    if (era === "legacy" && isDisconnect(mcpReq.signal.reason)) return;
    call.control.abort(mcpReq.signal.reason);
    session.calls.end(call);
  };
  if (mcpReq.signal.aborted) takeBack();
  mcpReq.signal.addEventListener("abort", takeBack, { once: true });
  return () => {
    mcpReq.signal.removeEventListener("abort", takeBack);
    call.report = () => undefined;
    call.onDelegation = () => undefined;
  };
}

function isDisconnect(reason: unknown): boolean {
  return reason instanceof SdkError && reason.code === SdkErrorCode.ConnectionClosed;
}

async function notify(
  { mcpReq }: ServerContext,
  progressToken: string | number,
  { message, progress, total }: CallProgress,
): Promise<void> {
  const params = { progressToken, progress, ...(total !== undefined && { total }), message };
  // A client that is gone hears nothing; that it is gone is found out elsewhere.
  await mcpReq.notify({ method: "notifications/progress", params }).catch(() => undefined);
}

/** The last word about how it goes comes before the result. */
async function finish(call: OpenCall, session: ClientSession): Promise<CallToolResult> {
  const result = await call.result;
  session.calls.end(call);
  await call.told;
  return describeResult(result);
}

async function answerInRounds(call: OpenCall, request: ToolCallRequest): Promise<Answer> {
  const { session } = request;
  const canAsk = asksDuring(request);
  for (;;) {
    if (!canAsk) return finish(call, session);
    const result = await Promise.race([call.result, call.whenQuestion().then(() => undefined)]);
    if (result !== undefined) return finish(call, session);
    const now = session.runtime.parts.clock.now();
    const asked = call.take().map(({ question }): [string, InputRequest] => {
      return [question.id, inputRequired.elicit(formFor(question, now))];
    });
    if (asked.length === 0) continue;
    session.calls.keep(call);
    return inputRequired({
      inputRequests: Object.fromEntries(asked),
      requestState: await roundState.mint({ asked: "questions", call: call.key }),
    });
  }
}
