import { isDeniedOutright } from "../../contracts/judge-by-rules.ts";
import { isSameServer, type McpServer } from "../../contracts/mcp-server.ts";
import { includes } from "../../contracts/selection.ts";
import type { Keeps } from "../../events/event.ts";
import { describeReminder } from "../../events/reminder.ts";
import { timeoutSignal } from "../../ports/clock.ts";
import { messageOf } from "../../ports/message-of.ts";
import { chooseShortening } from "../../sessions/compact.ts";
import type { PendingCall } from "../../sessions/transcript.ts";
import { bytesPerToken } from "../../tools/delegation/delegation-call.ts";
import type { Tool } from "../../tools/tool.ts";
import { describeTool, type OfferedTools } from "../../tools/toolbox.ts";
import {
  type Amount,
  planReport,
  planWindow,
  promptBound,
  type TurnPlan,
  type WindowPlan,
} from "../budget.ts";
import { findTool } from "../delegation-process.ts";
import { Stopped } from "../ends/ending.ts";
import type { EngineParts, RecordedEstimate } from "../engine-parts.ts";
import { event, type LiveDelegation, modelOf, priceOf, requestsOf } from "../live-delegation.ts";

/** The tools of a last turn: only those that end the delegation. */
export function exitTools({ contract, run }: LiveDelegation): OfferedTools {
  return run.parts.toolbox.offer(contract.exit.tools);
}

/** The tools of every other turn. */
export function offeredTools(live: LiveDelegation): OfferedTools {
  const { contract, run } = live;
  live.process.tools.offered ??= withServerTools(
    run.parts.toolbox.offer(contract.permissions.allowed_tools),
    live.process.tools.ofServers,
  );
  return live.process.tools.offered;
}

/** The bound on the tokens of a prompt: no text has more tokens than bytes. */
export function boundPrompt(live: LiveDelegation): void {
  const { transcript } = live.said;
  const { models } = live.run.parts;
  const recorded = models.recorded?.(live.id, requestsOf(live) + 1);
  live.process.request.promptBound =
    recorded?.promptBound ??
    promptBound({
      counted: transcript.countedTokens,
      // Earlier versions, whose runs are replayed, did not add what goes back to the provider.
      bytesSince: transcript.bytesSince + (models.recorded ? 0 : transcript.uncountedData),
      systemBytes: Buffer.byteLength(live.system),
      toolTokens: offeredTools(live).tokens,
    });
}

/** Asks the model for the tokens of the next prompt. A replay has the bound that was used. */
export async function countPrompt(live: LiveDelegation): Promise<void> {
  const { contract, run } = live;
  const { transcript } = live.said;
  const { clock, models } = run.parts;
  if (models.recorded !== undefined) return;
  const { max_output_tokens: maxOutputTokens, temperature, top_p: topP, effort } = contract.model;
  const count = async (): Promise<number | undefined> => {
    const model = models.resolve(modelOf(live));
    return model.countTokens?.({
      ...{ model: modelOf(live), system: live.system, messages: transcript.messages },
      tools: offeredTools(live).descriptions,
      ...{ maxOutputTokens, temperature, topP, effort },
      counted: transcript.counted,
      signal: timeoutSignal(clock, Math.min(contract.deadlines.first_token, longestCount)),
    });
  };
  // What cannot be counted is bounded by its bytes; a model that cannot be had says so when it is asked.
  const counted = await live.work.interruptible(count().catch(() => undefined));
  if (counted === undefined || !Number.isSafeInteger(counted) || counted <= 0) return;
  const reported = transcript.countedTokens === null ? 0 : (transcript.measured?.tokens ?? 0);
  const { request } = live.process;
  request.promptBound = Math.min(request.promptBound, Math.max(counted, reported));
}

const longestCount = 10_000;

/**
 * Shortens a conversation that has outgrown the window of its profile or model. Undefined: no window
 * is known, and the provider says when it is too long.
 */
export function keepToWindow(live: LiveDelegation): WindowPlan | undefined {
  const { models } = live.run.parts;
  if (models.recorded !== undefined) {
    while (shortenTo(live, 0));
    const { isSent } = models.recorded(live.id, requestsOf(live) + 1) ?? { isSent: false };
    return isSent ? undefined : windowOf(live);
  }
  const plan = windowOf(live);
  const isOutgrown = plan !== undefined && live.said.transcript.bytes > plan.conversationBytes;
  return isOutgrown && shortenTo(live, plan.conversationBytes) ? windowOf(live) : plan;
}

function windowOf(live: LiveDelegation): WindowPlan | undefined {
  const { contract, run } = live;
  const { transcript } = live.said;
  const { context_window: own, max_output_tokens: maxOutput } = contract.model;
  const window = own ?? run.parts.models.contextWindow?.(modelOf(live));
  if (window === undefined) return undefined;
  // Our own tools are bounded by a token for two bytes.
  const fixedBytes = Buffer.byteLength(live.system) + 2 * offeredTools(live).tokens;
  const { bytes: conversationBytes, measured } = transcript;
  const plan = planWindow({ window, maxOutput, fixedBytes, conversationBytes, measured });
  // A replay knows the contract's window alone, and a provider that we know refuses by itself.
  return own === undefined ? { ...plan, isTooSmall: false } : plan;
}

/**
 * Shortens the conversation to so many bytes, or by as much as can be removed. False: nothing could
 * be. A replay shortens where the recorded run did, and in the same way.
 */
export function shortenTo(live: LiveDelegation, most: number): boolean {
  const { messages, compactions } = live.said.transcript;
  const { models } = live.run.parts;
  if (models.recorded !== undefined) {
    const next = models.recorded(live.id, requestsOf(live) + 1)?.shortenings[compactions];
    if (next !== undefined) live.record(event(live, "agent.compacted", next));
    return next !== undefined;
  }
  const shortening = chooseShortening(messages, most);
  if (shortening === undefined) return false;
  const payload = { before_messages: messages.length, shortening };
  live.record(event(live, "agent.compacted", payload));
  return true;
}

/** The part of the budget that is kept, beyond a request, for results of background children. */
export function keepsAfter(
  live: LiveDelegation,
  { maxOutput, reserve: amount }: Extract<TurnPlan, { reserve: Amount }>,
  recorded: RecordedEstimate | undefined,
): Keeps | undefined {
  if (live.run.parts.models.recorded !== undefined) return recorded?.keeps.reserved;
  const results = unreadChildren(live);
  if (results === 0) return undefined;
  const { available } = live.budget;
  const left = { tokens: available.tokens - amount.tokens, cost: available.cost - amount.cost };
  return keepsFor(live, results, left, live.process.request.promptBound + maxOutput);
}

/** What the calls of a turn that make children keep back, for the first of them that begins. */
export function keepsForCalls(live: LiveDelegation, callId: string): Keeps | undefined {
  const { models } = live.run.parts;
  if (models.recorded !== undefined) {
    return models.recorded(live.id, requestsOf(live))?.keeps.calls?.get(callId);
  }
  const { transcript } = live.said;
  const joining = (pending: PendingCall): boolean => bringsResult(live, pending.call.name);
  // The first call that has started decides for all of them, also for a thousand.
  if (transcript.pending.some((pending) => pending.started && joining(pending))) return undefined;
  const calls = transcript.pending.filter(joining);
  if (!calls.some(({ call }) => call.id === callId)) return undefined;
  const prompt =
    (transcript.countedTokens ?? live.process.request.promptBound) + transcript.bytesSince;
  const results = calls.length + unreadChildren(live);
  return keepsFor(live, results, live.budget.available, prompt);
}

function keepsFor(live: LiveDelegation, results: number, available: Amount, prompt: number): Keeps {
  const { budget, join } = live.contract;
  return planReport({
    prompt,
    available,
    keepBack: budget.reserve,
    price: priceOf(live),
    results,
    joinTokens: join.max_tokens,
    perToken: canCount(live.run.parts, modelOf(live)) ? 1 : bytesPerToken,
  });
}

/** Children whose results its model has not been given. */
export function unreadChildren({ process, run }: LiveDelegation): number {
  let unread = 0;
  for (const { id } of process.children) if (!run.history.delivered.has(id)) unread++;
  return unread;
}

function bringsResult(live: LiveDelegation, name: string): boolean {
  const { choosesFrom, effect, waits } = findTool(live, name) ?? {};
  return effect === "spawn" && (waits === true || choosesFrom !== undefined);
}

/** Whether prompts for a model are counted in tokens where their bytes do not fit. */
export function canCount({ models }: Pick<EngineParts, "models">, model: string): boolean {
  try {
    return models.resolve(model).countTokens !== undefined;
  } catch {
    return false;
  }
}

/**
 * Asks the MCP servers of a delegation for their tools, before its first turn and not earlier. If a
 * server is unavailable, a message tells the model, and the delegation continues without it.
 */
export async function openServers(live: LiveDelegation): Promise<void> {
  const { mcp_servers: servers } = live.contract.permissions;
  const names = servers === "*" ? [] : servers;
  const opened = await Promise.all(names.map((server) => open(live, server)));
  live.process.holdsProcesses = true;
  live.work.throwIfStopped();
  const granted = opened.flat().filter((tool) => isGranted(live, tool));
  live.process.tools.ofServers = new Map(granted.map((tool) => [tool.name, tool]));
}

export function hasServers({ contract }: LiveDelegation): boolean {
  const { beyond_budget: beyond, mcp_servers: servers } = contract.permissions;
  return servers.length > 0 && beyond === undefined;
}

async function open(live: LiveDelegation, name: string): Promise<readonly Tool[]> {
  const { parts } = live.run;
  const { server, isOwn } = declarationOf(live, name);
  try {
    if (server === undefined) {
      throw new Error(`The MCP server "${name}" is not configured any more.`);
    }
    if (server.disabled === true) return [];
    const { network } = live.contract.permissions;
    const workspace = live.workspace?.root ?? null;
    const scope = { delegationId: live.id, workspace, isOwn, network };
    return await live.work.interruptible(parts.servers.open(name, server, scope));
  } catch (error) {
    if (error instanceof Stopped) throw error;
    const cause = { code: "server_unavailable", server: name, text: messageOf(error) } as const;
    const message = describeReminder(cause);
    const said = { from: "mcp", severity: "warn", cause, message } as const;
    live.record(event(live, "agent.interjected", said));
    return [];
  }
}

interface Declaration {
  readonly server: McpServer | undefined;
  /** The person's own configuration says exactly this, or their own profile does. */
  readonly isOwn: boolean;
}

/** A server's declaration: that of the contract when the profile brought it, else as it is configured. */
function declarationOf({ contract, run }: LiveDelegation, name: string): Declaration {
  const { servers = {} } = contract;
  const configured = run.parts.servers.declared(name);
  const server = Object.hasOwn(servers, name) ? servers[name] : undefined;
  if (server === undefined) return { server: configured, isOwn: true };
  const isMarked = server.kind === "stdio" && server.isOwn === true;
  return { server, isOwn: isMarked || isSameServer(server, configured) };
}

function isGranted({ contract }: LiveDelegation, { name }: Tool): boolean {
  const { allowed_tools: tools, rules = [] } = contract.permissions;
  return includes(tools, name) && !isDeniedOutright(rules, name);
}

/** What a model is shown: the runtime's tools, and those of the agent's servers. */
function withServerTools(
  offered: OfferedTools,
  tools: ReadonlyMap<string, Tool> | null,
): OfferedTools {
  if (tools === null || tools.size === 0) return offered;
  const described = [...tools.values()].map(describeTool);
  return {
    descriptions: [...offered.descriptions, ...described.map(({ description }) => description)],
    tokens: described.reduce((sum, { tokens }) => sum + tokens, offered.tokens),
  };
}
