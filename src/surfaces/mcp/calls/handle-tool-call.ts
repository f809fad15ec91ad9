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

/** What a client hands back with its answers, so that we know what they are about. */
export type RoundState =
  | { readonly asked: "roots" }
  | { readonly asked: "questions"; readonly call: string };

/**
 * Sealed with a key of this process: whoever holds it can name none but its own calls, and those
 * are looked up among its own besides. Calls do not outlive the process, so the key need not.
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

/** Since 2026-07-28 no client says that its roots have changed. */
const trustedMs = 30_000;

/**
 * Asks a client for its roots before something is delegated. A client that has roots and does not
 * name any gets no folder at all: the one that the server was started in is for those without.
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
    // It may know better next time.
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

/** Puts the questions that come up during a call to the client's person, as they come (2025-11-25). */
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
      // At its deadline the question is over, whether somebody looks at the form or not.
      { signal: isOver, timeout: Math.max(1, question.deadlineAt - now) },
    );
    await takeReply(session, question, response);
  } catch {
    // Taken back, too late, or the client could not show it: it stays in the inbox.
    session.calls.decline(question.id);
  }
}

/** Without an answer the question stays where it is, until its deadline. */
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
  // Somebody else was faster, or its agent has ended: then there is nothing left to answer.
  await session.runtime.engine.answer(question.id, reply).catch(() => false);
}
