import { randomBytes } from "node:crypto";
import {
  type CallToolResult,
  createRequestStateCodec,
  type InputRequest,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  SdkError,
  SdkErrorCode,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { holdsRole } from "../../../control/records/principal.ts";
import type { ClientAbilities, Era } from "../client-abilities.ts";
import type { ClientSession } from "../client-session.ts";
import { type CallProgress, callTool, describeResult, type McpTool } from "../mcp-tool.ts";
import { taskOf } from "../tasks/task.ts";
import type { OpenCall, PutQuestion } from "./open-calls.ts";
import { formFor, type OpenQuestion, readReply } from "./open-question.ts";

/** The state that a client returns with its replies. */
export type RoundState =
  | { readonly asked: "roots" }
  | { readonly asked: "questions"; readonly call: string };

/**
 * Signed with a key of this process, so a client cannot forge it; the call is also looked up only
 * among the client's own. Calls do not outlive the process, so the key need not either.
 */
export const roundState = createRequestStateCodec<RoundState>({
  key: randomBytes(32),
  ttlSeconds: 3600,
});

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
 * Handles one tool call of a client. Questions of agents below it are shown to the client's user:
 * by a request of the server (2025-11-25), or as the response to the call, which the client then
 * repeats with the replies (2026-07-28). The call itself continues in between.
 */
export async function handleToolCall(request: ToolCallRequest): Promise<Answer> {
  const { abilities, context, era, session, tool } = request;
  const answerBy = isPatient(context) ? null : session.runtime.clock.monotonic() + longestBlockMs;
  if (abilities.elicits) session.attend();
  if ((tool.delegates || tool.usesFolders) && abilities.hasRoots) {
    const asked = await learnRoots(session, era, context);
    if (asked !== undefined) return asked;
  }
  const call = await findOrBegin(request, answerBy);
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
      text: "Error: the call for these replies has ended. list_sub_agents and get_delegation_result show its outcome.",
    },
  ],
};

/** Questions below a delegating task are part of the task, which reads them from the log. */
function asksDuring({ abilities, context, tool }: ToolCallRequest): boolean {
  const isTold = tool.delegates === true && taskOf(context) !== undefined;
  return tool.isLong === true && abilities.elicits && !isTold;
}

async function findOrBegin(
  request: ToolCallRequest,
  answerBy: number | null,
): Promise<OpenCall | undefined> {
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
      answerBy,
      signal: call.control.signal,
      report: (progress) => call.report(progress),
      onDelegation(delegationId) {
        call.made.push(delegationId);
        call.onDelegation(delegationId);
      },
    }),
  );
}

/** Less than the 60 seconds after which many clients end a call, with time for the way there. */
const longestBlockMs = 50_000;

function isPatient(context: ServerContext): boolean {
  return taskOf(context) !== undefined || context.mcpReq._meta?.progressToken !== undefined;
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

/** Connects a request to its call: it receives progress, and cancelling it cancels the call. */
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
    // In 2025-11-25 a disconnect is not a cancellation: the delegations continue.
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
  { message, progress }: CallProgress,
): Promise<void> {
  const params = { progressToken, progress, message };
  // A failed send means a disconnected client, which the transport handles.
  await mcpReq.notify({ method: "notifications/progress", params }).catch(() => undefined);
}

/** The last progress report is sent before the result. */
async function finish(call: OpenCall, session: ClientSession): Promise<CallToolResult> {
  const result = await call.result;
  if (result.continues) session.calls.leave(call);
  else session.calls.end(call);
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
    const now = session.runtime.clock.now();
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

const patienceMs = 10_000;

/** In 2026-07-28 clients do not announce changed roots, so they are read again. */
const trustedMs = 30_000;

/**
 * Asks a client for its roots before it delegates. A client that supports roots and names none gets
 * no folder: the server's own folder is for clients without roots.
 */
async function learnRoots(
  session: ClientSession,
  era: Era,
  context: ServerContext,
): Promise<InputRequiredResult | undefined> {
  const age = session.runtime.clock.now() - session.rootsReadAt;
  if (era === "legacy") return session.rootsReadAt > 0 ? undefined : askNow(session, context);
  return age < trustedMs ? undefined : askInRounds(session, context);
}

async function askNow(session: ClientSession, { mcpReq }: ServerContext): Promise<undefined> {
  try {
    const { roots } = await mcpReq.send({ method: "roots/list" }, { timeout: patienceMs });
    await session.takeRoots(roots.map(({ uri }) => uri));
  } catch {
    // The next call asks the client for its folders again.
    await session.takeRoots([]);
    session.rootsReadAt = 0;
  }
  return undefined;
}

async function askInRounds(
  session: ClientSession,
  { mcpReq }: ServerContext,
): Promise<InputRequiredResult | undefined> {
  if (mcpReq.requestState<RoundState>()?.asked !== "roots") {
    return inputRequired({
      inputRequests: { roots: inputRequired.listRoots() },
      requestState: await roundState.mint({ asked: "roots" }),
    });
  }
  const given = inputResponse(mcpReq.inputResponses, "roots");
  const uris = given.kind === "roots" ? given.roots.map(({ uri }) => uri) : [];
  await session.takeRoots(uris.filter((uri) => typeof uri === "string"));
  return undefined;
}

/** Shows questions to the client's user while the call is open (2025-11-25). */
async function bringQuestions(
  call: OpenCall,
  session: ClientSession,
  context: ServerContext,
): Promise<void> {
  const isDone = call.result.then(
    () => true,
    () => true,
  );
  for (;;) {
    const isOver = await Promise.race([isDone, call.whenQuestion().then(() => false)]);
    if (isOver) return;
    for (const put of call.take()) void bring(put, session, context);
  }
}

async function bring(
  { isOver, question }: PutQuestion,
  session: ClientSession,
  { mcpReq }: ServerContext,
): Promise<void> {
  const now = session.runtime.clock.now();
  try {
    const response = await mcpReq.send(
      { method: "elicitation/create", params: { ...formFor(question, now) } },
      // The question expires at its deadline, also while its form is open.
      { signal: isOver, timeout: Math.max(1, question.deadlineAt - now) },
    );
    await takeReply(session, question, response);
  } catch {
    // Cancelled, too late, or not shown: the question stays in the inbox.
    session.calls.decline(question.id);
  }
}

/** Without an answer the question stays open until its deadline. */
async function takeReply(
  session: ClientSession,
  question: OpenQuestion,
  response: unknown,
): Promise<void> {
  const reply = readReply(question, response);
  if (reply === undefined || !holdsRole("operator", session.principal)) {
    session.calls.decline(question.id);
    return;
  }
  // The question may have been answered elsewhere, or its agent closed.
  await session.runtime.engine.answer(question.id, reply).catch(() => false);
}
