import { type Clock, sleep, untilAborted } from "../../ports/clock.ts";
import {
  ModelFault,
  type ModelPart,
  type ModelReply,
  type ModelRequest,
  type ModelUsage,
  type ToolCall,
} from "../../ports/model.ts";
import type { ScriptedFault, ScriptedReply } from "./playbook.ts";

/**
 * Gives a reply as a provider would. Without latency and faults that is one synchronous step without
 * timers: benchmarks measure the runtime around it, not this.
 */
export function performReply(
  reply: ScriptedReply,
  request: ModelRequest,
  onPart: OnPart,
  clock: Clock,
): ModelReply | Promise<ModelReply> {
  if (request.signal.aborted) throw request.signal.reason;
  const { fault } = reply;
  if (fault !== undefined) return performFault({ ...reply, fault }, request, onPart, clock);
  if (reply.latency_ms) return performSlowly(reply, request, onPart, clock);
  streamText(reply, onPart);
  return toModelReply(reply, request);
}

async function performFault(
  reply: ScriptedReply & { readonly fault: ScriptedFault },
  request: ModelRequest,
  onPart: OnPart,
  clock: Clock,
): Promise<ModelReply> {
  const { fault } = reply;
  if (reply.latency_ms) await sleep(clock, reply.latency_ms, request.signal);
  switch (fault) {
    case "rate-limited":
    case "overloaded":
    case "connection":
    case "spend-cap":
    case "context-overflow":
    case "unauthorized":
    case "rejected":
      throw refusal(reply, fault, request, onPart);
    case "empty":
      return { ...toModelReply(reply, request), text: "", calls: [], finish: "stop" };
    case "length":
      return { ...stream(reply, request, onPart), finish: "length" };
    case "no-usage":
      return { ...stream(reply, request, onPart), usage: null };
    case "malformed-call":
    case "unknown-tool":
      return badCall(reply, fault, request, onPart);
    case "stall":
      return untilAborted(request.signal, never());
    case "stall-mid-stream":
      sendHalf(reply, onPart);
      return untilAborted(request.signal, never());
    case "hang":
      return never();
    default:
      return fault satisfies never;
  }
}

function refusal(
  reply: ScriptedReply,
  fault: ModelFault["kind"],
  request: ModelRequest,
  onPart: OnPart,
): ModelFault {
  const { partial, retry_after_ms: retryAfter } = reply;
  if (partial) onPart({ type: "text", text: partial });
  const retryAfterMs = retryAfter ?? (fault === "rate-limited" ? 1000 : undefined);
  return new ModelFault(fault, `${request.model} was scripted to fail: ${fault}.`, {
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(partial ? { partial } : {}),
  });
}

function stream(reply: ScriptedReply, request: ModelRequest, onPart: OnPart): ModelReply {
  streamText(reply, onPart);
  return toModelReply(reply, request);
}

function badCall(
  reply: ScriptedReply,
  fault: "malformed-call" | "unknown-tool",
  request: ModelRequest,
  onPart: OnPart,
): ModelReply {
  const isMalformed = fault === "malformed-call";
  const [wanted] = reply.calls ?? [];
  const offered = isMalformed ? request.tools[0]?.name : undefined;
  const call = {
    id: wanted?.id ?? callId(request, 1),
    name: wanted?.tool ?? offered ?? "no_such_tool",
    input: isMalformed ? undefined : (wanted?.input ?? {}),
    ...(isMalformed ? { malformed: reply.partial ?? '{"unfinished": "' } : {}),
  };
  const answer = stream({ ...reply, calls: undefined }, request, onPart);
  return { ...answer, calls: [call], finish: "tool-calls" };
}

function sendHalf(reply: ScriptedReply, onPart: OnPart): void {
  const text = reply.text ?? "";
  const half = reply.partial ?? text.slice(0, Math.ceil(text.length / 2));
  if (half !== "") onPart({ type: "text", text: half });
}

function never(): Promise<never> {
  return new Promise(() => {});
}

function toModelReply(reply: ScriptedReply, request: ModelRequest): ModelReply {
  const text = reply.text ?? "";
  const calls = reply.calls === undefined ? [] : toCalls(reply.calls, request);
  return {
    text,
    calls,
    finish: reply.finish ?? (calls.length > 0 ? "tool-calls" : "stop"),
    usage: toUsage(reply.usage) ?? estimateUsage(request, text, calls),
    served: reply.served ?? request.model,
  };
}

function toCalls(calls: NonNullable<ScriptedReply["calls"]>, request: ModelRequest): ToolCall[] {
  return calls.map(({ tool, input = {}, id }, index) => ({
    id: id ?? callId(request, index + 1),
    name: tool,
    input,
  }));
}

/** Turns count from 1 in every attempt, and a delegation's log knows each id once. */
function callId({ caller }: ModelRequest, number: number): string {
  const attempt = caller.attempt > 1 ? `${caller.attempt}_` : "";
  return `call_${attempt}${caller.turn}_${number}`;
}

function toUsage(usage: ScriptedReply["usage"]): ModelUsage | undefined {
  if (usage === undefined) return undefined;
  const { prompt, completion, cached, cacheWrite } = usage;
  return {
    prompt,
    completion,
    ...(cached === undefined ? {} : { cached }),
    ...(cacheWrite === undefined ? {} : { cacheWrite }),
  };
}

/** Four characters a token, the same every time; tools count for nothing. */
export function promptTokens({
  messages,
  system,
}: Pick<ModelRequest, "messages" | "system">): number {
  let characters = system.length;
  for (const message of messages) characters += message.text.length;
  return tokens(characters);
}

function estimateUsage(
  request: ModelRequest,
  text: string,
  calls: readonly ToolCall[],
): ModelUsage {
  let completion = text.length;
  for (const call of calls) completion += call.name.length + JSON.stringify(call.input).length;
  // No provider answers with more than it was asked for.
  const most = Math.max(1, request.maxOutputTokens);
  return { prompt: promptTokens(request), completion: Math.min(tokens(completion), most) };
}

function tokens(characters: number): number {
  return Math.max(1, Math.ceil(characters / 4));
}

export type OnPart = (part: ModelPart) => void;

/** The text in its pieces, all at once. */
function streamText(reply: ScriptedReply, onPart: OnPart): void {
  for (const text of piecesOf(reply)) onPart({ type: "text", text });
}

/** Streams the text in its pieces, spread over the reply's latency. */
async function performSlowly(
  reply: ScriptedReply,
  request: ModelRequest,
  onPart: OnPart,
  clock: Clock,
): Promise<ModelReply> {
  const pieces = piecesOf(reply);
  const pause = (reply.latency_ms ?? 0) / Math.max(1, pieces.length);
  if (pieces.length === 0) await sleep(clock, pause, request.signal);
  for (const text of pieces) {
    await sleep(clock, pause, request.signal);
    onPart({ type: "text", text });
  }
  return toModelReply(reply, request);
}

function piecesOf({ text = "", chunks = 1 }: ScriptedReply): readonly string[] {
  if (text === "") return [];
  if (chunks <= 1) return [text];
  const size = Math.ceil(text.length / chunks);
  const pieces: string[] = [];
  for (let start = 0; start < text.length; start += size)
    pieces.push(text.slice(start, start + size));
  return pieces;
}
