import type { ModelReply, ModelRequest, ModelUsage, ToolCall } from "../../ports/model.ts";
import type { ScriptedReply } from "./playbook.ts";

export function toModelReply(reply: ScriptedReply, request: ModelRequest): ModelReply {
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
export function callId({ caller }: ModelRequest, number: number): string {
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
