import type { Clock } from "../../ports/clock.ts";
import type { ModelReply, ModelRequest } from "../../ports/model.ts";
import { performFault } from "./perform-fault.ts";
import type { ScriptedReply } from "./playbook.ts";
import { type OnPart, streamSlowly, streamText } from "./stream-text.ts";
import { toModelReply } from "./to-model-reply.ts";

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
  if (reply.fault !== undefined) return performFault(reply, reply.fault, request, onPart, clock);
  if (reply.latency_ms) return performSlowly(reply, reply.latency_ms, request, onPart, clock);
  streamText(reply, onPart);
  return toModelReply(reply, request);
}

async function performSlowly(
  reply: ScriptedReply,
  latency: number,
  request: ModelRequest,
  onPart: OnPart,
  clock: Clock,
): Promise<ModelReply> {
  await streamSlowly(reply, latency, request.signal, onPart, clock);
  return toModelReply(reply, request);
}
