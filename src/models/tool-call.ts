import type { Message, ModelCaller, ToolCall } from "../ports/model.ts";
import { parseJson } from "../ports/parse-json.ts";

/** A call as providers give it: the arguments are still text. */
export interface RawCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: string;
}

export interface CallIds {
  /** Those in use; a call's own is added. */
  readonly taken: Set<string>;
  /** Which number to try next, by the id that was wanted: a thousand alike take a thousand steps. */
  readonly next: Map<string, number>;
}

export interface CallContext extends CallIds {
  readonly isUnfinished: boolean;
  readonly caller: ModelCaller;
}

/** Arguments that are not JSON are kept as they came, for the error that the model is shown. */
export function parseToolCall(raw: RawCall, context: CallContext): ToolCall {
  const id = uniqueId(raw.toolCallId, context);
  const name = raw.toolName;
  if (context.isUnfinished) return { id, name, input: undefined, malformed: raw.input };
  if (raw.input.trim() === "") return { id, name, input: {} };
  try {
    return { id, name, input: parseJson(raw.input) };
  } catch {
    return { id, name, input: undefined, malformed: raw.input };
  }
}

export function callIdsOf(messages: readonly Message[]): CallIds {
  const taken = new Set<string>();
  for (const message of messages) {
    if (message.role === "assistant") for (const call of message.calls) taken.add(call.id);
  }
  return { taken, next: new Map() };
}

/**
 * The log needs every call of a delegation to have its own id; small servers repeat theirs, or send
 * none. The id goes back to the provider with call and result alike, so it may be any.
 */
function uniqueId(wanted: string, { taken, next, caller }: CallContext): string {
  let id = wanted;
  let number = next.get(wanted) ?? 1;
  for (; id === "" || taken.has(id); number += 1) {
    id = `${wanted || "call"}_${caller.attempt}_${caller.turn}_${number}`;
  }
  next.set(wanted, number);
  taken.add(id);
  return id;
}
