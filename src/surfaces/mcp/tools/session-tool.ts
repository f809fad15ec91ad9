import { z } from "zod";
import { namesIn } from "../../../agents/documents/tool-input.ts";
import { withoutEmpty } from "../../../agents/documents/without-empty.ts";
import type { Session } from "../../../delegations/session.ts";
import { within } from "../../../ports/clock.ts";
import type { Runtime } from "../../../runtime.ts";
import type { Tool, ToolResult } from "../../../tools/tool.ts";
import { TreeProgress } from "../calls/tree-progress.ts";
import type { ClientSession } from "../client-session.ts";
import {
  defineMcpTool,
  type McpCallContext,
  type McpTool,
  type McpToolResult,
} from "../mcp-tool.ts";

/** The tools that delegate. */
export const delegatingNames: ReadonlySet<string> = new Set([
  "delegate_task",
  "spawn",
  "spawn_subagent",
  "run_workflow",
  "request_review",
  "delegate_to_agent",
]);

/** The tools that may wait for a delegation; known before the runtime is opened. */
export const longNames: ReadonlySet<string> = new Set([
  "delegate_task",
  "spawn_subagent",
  "request_review",
  "delegate_to_agent",
  "spawn_await",
  "get_delegation_result",
]);

/** Less than the 60 seconds after which many clients time out. */
export const longestWaitMs = 45_000;

export type RawInput = Readonly<Record<string, unknown>>;

/** A finished call, for the function that makes its structured output. */
export interface MadeCall {
  readonly input: RawInput;
  readonly text: string;
  /** The delegations that the call made. */
  readonly made: readonly string[];
  readonly session: Session;
  readonly context: McpCallContext;
}

export interface SessionToolOptions<Output extends object> {
  readonly title: string;
  /** The tool delegates: the client can name a folder, and a model must be configured. */
  readonly delegates?: true;
  /** The profile that it delegates to, when the call names none. */
  readonly agent?: string;
  /** Replaces the description for our own agents. */
  readonly description?: string;
  /** Fields that differ from those for our own agents. */
  readonly shown?: z.ZodRawShape;
  readonly output: z.ZodType<Output>;
  readonly annotations: McpTool["annotations"];
  /** The delegations whose progress is reported from the start. */
  watched?(input: RawInput, session: Session, context: McpCallContext): Promise<readonly string[]>;
  structure(call: MadeCall): Promise<Output> | Output;
  /** The result of a call whose delegation is not done when the client expects an answer. */
  running?(job: RunningJob): Output;
}

export interface RunningJob {
  readonly delegationId: string;
  readonly profile: string;
  /** How the client gets the result later. */
  readonly sentence: string;
}

const workspace = z
  .string()
  .optional()
  .describe("Its folder: a root of the client, or below one; absent: the first root.");

/** Offers one of our own tools to another program's agent, through the gate of its session. */
export function sessionTool<Output extends object>(
  tool: Tool,
  options: SessionToolOptions<Output>,
): McpTool {
  const { annotations, delegates = false, output, title } = options;
  const shown = shownInput(tool, { ...options.shown, ...(delegates && { workspace }) });
  return defineMcpTool<unknown, Output>({
    name: tool.name,
    title,
    description: options.description ?? tool.description,
    input: shown,
    aliases: tool.aliases,
    output,
    annotations,
    ...(tool.waits && { isLong: true }),
    ...(delegates && { delegates }),
    call: (input, context) => callSession(tool, options, withoutEmpty(shown, input), context),
  });
}

async function callSession<Output extends object>(
  tool: Tool,
  options: SessionToolOptions<Output>,
  given: unknown,
  context: McpCallContext,
): Promise<McpToolResult<Output>> {
  const { agent, delegates = false } = options;
  // A client that is answered early did not ask for progress.
  const isFollowed = tool.waits === true && context.answerBy === null;
  const { folder, input } = readInput(given, delegates);
  // Checked before the client's run is opened, so that a call without a model leaves nothing
  // behind.
  if (delegates) context.session.runtime.engine.requireModel(agentsIn(input, agent));
  const session = delegates
    ? await context.session.open(folder)
    : await sessionOf(input, context.session);
  const made: string[] = [];
  const progress = new TreeProgress({
    store: context.session.runtime.store,
    clock: context.session.runtime.clock,
    report: (state) => context.report(state),
  });
  if (isFollowed) {
    progress.follow(session.runId, (await options.watched?.(input, session, context)) ?? []);
  }
  const calling = session.call(tool.name, input, {
    signal: context.signal,
    onDelegation(id) {
      made.push(id);
      progress.add(id);
      context.onDelegation(id);
    },
  });
  const outcome = await answerInTime(calling, context);
  if (outcome === undefined) return describeRunning(options, session, made, context);
  const { isError, text } = outcome;
  if (isFollowed) await progress.end();
  const call = { input, text, made, session, context };
  if (!isError) return { text, structured: await options.structure(call) };
  // A call that delegated nothing has no structured result.
  if (made.length === 0) return { text, isError };
  const describing = Promise.resolve(call).then((one) => options.structure(one));
  return { text, structured: await describing.catch(() => undefined), isError };
}

/** Undefined: the client expects an answer now, and the call continues. */
async function answerInTime(
  calling: Promise<ToolResult>,
  { answerBy, session }: McpCallContext,
): Promise<ToolResult | undefined> {
  if (answerBy === null) return calling;
  // After the answer nothing awaits the call, which may fail when the session closes.
  calling.catch(() => undefined);
  const { clock } = session.runtime;
  return within(clock, answerBy - clock.monotonic(), calling);
}

async function describeRunning<Output extends object>(
  { running }: SessionToolOptions<Output>,
  { runId }: Session,
  made: readonly string[],
  { session: { runtime } }: McpCallContext,
): Promise<McpToolResult<Output>> {
  const delegationId = made.at(-1);
  if (running === undefined || delegationId === undefined) {
    return { text: notYetStarted, isError: true, continues: true };
  }
  const run = await runtime.store.readRun(runId);
  const profile = run?.delegations.get(delegationId)?.profile ?? "";
  const structured = running({
    delegationId,
    profile,
    sentence: waysToCollect(runtime, delegationId),
  });
  const { text } = structured as { readonly text?: unknown };
  return {
    text: typeof text === "string" ? text : JSON.stringify(structured),
    structured,
    continues: true,
  };
}

const notYetStarted =
  "Error: this call has started nothing in 50 seconds: it may wait for a person's approval, see read_inbox. It continues, so do not repeat it. list_sub_agents shows what it starts.";

function waysToCollect({ toolbox }: Runtime, id: string): string {
  const call =
    toolbox.get("get_delegation_result") === undefined
      ? `spawn_await {"job_ids":"${id}"} again while it says RUNNING`
      : `get_delegation_result {"delegationId":"${id}","wait_ms":${longestWaitMs}} again while it returns null`;
  return `Still running, and it continues. To get its result, call ${call}.`;
}

function readInput(
  given: unknown,
  delegates: boolean,
): { readonly folder: string | undefined; readonly input: RawInput } {
  const { workspace: folder, ...rest } = { ...(given as RawInput) };
  if (delegates && typeof folder === "string") return { folder, input: rest };
  // An invalid folder is left to the tool, which reports the unknown field.
  const named = folder === undefined ? {} : { workspace: folder };
  return { folder: undefined, input: { ...rest, ...named } };
}

/** The agents that a call names, or the fixed one of the tool. */
function agentsIn({ agentId, profile }: RawInput, agent: string | undefined): readonly string[] {
  const named = agent ?? profile ?? agentId;
  return typeof named === "string" ? [named] : [];
}

/** The session of the delegation in question; a client has one for each folder. */
async function sessionOf(input: RawInput, session: ClientSession): Promise<Session> {
  const [id = ""] = namesIn(input["delegationId"] ?? input["job_ids"]);
  return (await session.holding(id.split("/", 1)[0] ?? "")) ?? session.open();
}

function shownInput(tool: Tool, shape: z.ZodRawShape): z.ZodType {
  const shown = tool.shown ?? tool.input;
  return shown instanceof z.ZodObject ? shown.extend(shape) : shown;
}
