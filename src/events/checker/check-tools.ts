import { type Contract, externalProvider } from "../../contracts/contract.ts";
import { isDeniedOutright } from "../../contracts/judge-by-rules.ts";
import { includes } from "../../contracts/selection.ts";
import type { EventPayloads, SentMessage, StoredEvent } from "../event.ts";
import type { CheckedRun, Known, RunCheck } from "./checked-run.ts";

interface Calls {
  /** The calls of the model's last turn, or all calls of an agent program. */
  asked: ReadonlySet<string>;
  /** By call: the tool while the call is running; null once it has ended or was denied. */
  readonly begun: Map<string, string | null>;
}

/**
 * I10: a call of the model starts at most once, only if the contract grants its tool, and ends exactly
 * once. A denied call does not start.
 */
export function checkTools({ report }: CheckedRun): RunCheck {
  const callsOf = new Map<Known, Calls>();
  return {
    see(event, delegation) {
      if (delegation === undefined) return;
      let calls = callsOf.get(delegation);
      if (calls === undefined) {
        calls = { asked: new Set(), begun: new Map() };
        callsOf.set(delegation, calls);
      }
      const problem = followCall(event, calls, delegation);
      if (problem) report("I10", problem, { delegationId: delegation.id, seq: event.seq });
      if (event.type === "agent.subagent_closed") callsOf.delete(delegation);
    },
  };
}

function followCall(event: StoredEvent, calls: Calls, { contract }: Known): string | undefined {
  switch (event.type) {
    case "agent.model_turn":
      // A request of an agent program, which calls our tools at any time.
      if (event.payload.request !== undefined) return undefined;
      calls.asked = new Set(event.payload.calls?.map(({ id }) => id));
      return unended(calls);
    case "agent.program_called":
      calls.asked = new Set(calls.asked).add(event.payload.call_id);
      return undefined;
    case "agent.subagent_waiting_for_merge":
    case "agent.subagent_failed":
      return unended(calls);
    case "agent.tool_started": {
      const { call_id: id, tool } = event.payload;
      const isExternal = contract?.model.provider === externalProvider;
      if (!isExternal && !calls.asked.has(id)) return `The model made no call ${id}.`;
      if (calls.begun.has(id)) return `Call ${id} begins a second time.`;
      calls.begun.set(id, tool);
      if (contract !== undefined && contract !== null && !isGranted(contract, tool)) {
        return `${tool} runs, but the contract does not grant it.`;
      }
      return undefined;
    }
    case "agent.tool_completed":
    case "agent.tool_failed":
    case "agent.tool_outcome_unknown": {
      const { call_id: id, tool } = event.payload;
      const begun = calls.begun.get(id);
      calls.begun.set(id, null);
      if (begun === undefined) return `Call ${id} ends, but never began.`;
      if (begun === null) return `Call ${id} ends a second time.`;
      return begun === tool ? undefined : `Call ${id} begins as ${begun} and ends as ${tool}.`;
    }
    case "agent.tool_denied": {
      const { call_id: id } = event.payload;
      if (calls.begun.has(id)) return `Call ${id} is refused after it began.`;
      calls.begun.set(id, null);
      return undefined;
    }
    default:
      return undefined;
  }
}

function isGranted({ permissions }: Contract, tool: string): boolean {
  return (
    includes(permissions.allowed_tools, tool) && !isDeniedOutright(permissions.rules ?? [], tool)
  );
}

function unended({ begun }: Calls): string | undefined {
  for (const [id, tool] of begun) {
    if (tool === null) continue;
    begun.set(id, null);
    return `Call ${id} of ${tool} never ends.`;
  }
  return undefined;
}

interface Messages {
  readonly sent: Map<string, SentMessage>;
  readonly delivered: Set<string>;
}

/**
 * I10: the id of a sent message is unique, and the message is delivered at most once, later and unchanged.
 * A message may stay undelivered when its delegation hands in, fails or is cancelled.
 */
export function checkMessages({ report }: CheckedRun): RunCheck {
  const messagesOf = new Map<Known, Messages>();
  return {
    see(event, delegation) {
      if (delegation === undefined) return;
      if (event.type === "agent.subagent_closed") messagesOf.delete(delegation);
      const isMessage = event.type === "agent.message_sent" || event.type === "agent.interjected";
      if (!isMessage) return;
      const messages = messagesOf.get(delegation) ?? { sent: new Map(), delivered: new Set() };
      messagesOf.set(delegation, messages);
      const problem = followMessage(event, messages);
      if (problem === undefined) return;
      report("I10", problem, { delegationId: delegation.id, seq: event.seq });
      // Further violations would be consequences of this one.
      delegation.isBroken = true;
    },
  };
}

function followMessage(
  event: StoredEvent<"agent.message_sent"> | StoredEvent<"agent.interjected">,
  { delivered, sent }: Messages,
): string | undefined {
  if (event.type === "agent.message_sent") {
    const { message_id: id } = event.payload;
    if (sent.has(id)) return `Message ${id} is sent a second time.`;
    sent.set(id, event.payload);
    return undefined;
  }
  const { from, message_id: id } = event.payload;
  if (id === undefined) {
    return from === "caller" ? "A message is delivered without its id." : undefined;
  }
  const message = sent.get(id);
  if (message === undefined) return `Message ${id} is delivered, but was not sent.`;
  if (delivered.has(id)) return `Message ${id} is delivered a second time.`;
  delivered.add(id);
  return isSame(event.payload, message)
    ? undefined
    : `Message ${id} is delivered with another content than it was sent.`;
}

function isSame(delivered: EventPayloads["agent.interjected"], sent: SentMessage): boolean {
  const { carries = [], from, message } = delivered;
  const { carries: carried = [] } = sent;
  const isAsSent = from === sent.from && message === sent.message;
  return isAsSent && carries.join() === carried.join();
}
