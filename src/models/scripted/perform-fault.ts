import { type Clock, sleep } from "../../ports/clock.ts";
import { ModelFault, type ModelReply, type ModelRequest } from "../../ports/model.ts";
import { untilAborted } from "../until-aborted.ts";
import type { ScriptedFault, ScriptedReply } from "./playbook.ts";
import { type OnPart, streamText } from "./stream-text.ts";
import { callId, toModelReply } from "./to-model-reply.ts";

export async function performFault(
  reply: ScriptedReply,
  fault: ScriptedFault,
  request: ModelRequest,
  onPart: OnPart,
  clock: Clock,
): Promise<ModelReply> {
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
