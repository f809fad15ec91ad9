import type { EventPayloads, SentMessage, StoredEvent } from "../event.ts";
import type { CheckedRun, Known, RunCheck } from "./checked-run.ts";

interface Messages {
  readonly sent: Map<string, SentMessage>;
  readonly delivered: Set<string>;
}

/**
 * I10: a message is sent once under its id, and delivered at most once, after that, as it was sent.
 * One that a delegation had not read when it handed in, failed or was cancelled is never delivered:
 * that is no fault, and its surfaces say so.
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
      const problem = follow(event, messages);
      if (problem === undefined) return;
      report("I10", problem, { delegationId: delegation.id, seq: event.seq });
      // What follows from it proves nothing.
      delegation.isBroken = true;
    },
  };
}

function follow(
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
    return from === "caller" ? "A message is delivered without saying which." : undefined;
  }
  const message = sent.get(id);
  if (message === undefined) return `Message ${id} is delivered and was not sent.`;
  if (delivered.has(id)) return `Message ${id} is delivered a second time.`;
  delivered.add(id);
  return isSame(event.payload, message)
    ? undefined
    : `Message ${id} is delivered otherwise than it was sent.`;
}

function isSame(delivered: EventPayloads["agent.interjected"], sent: SentMessage): boolean {
  const { carries = [], from, message } = delivered;
  const { carries: carried = [] } = sent;
  const isAsSent = from === sent.from && message === sent.message;
  return isAsSent && carries.join() === carried.join();
}
