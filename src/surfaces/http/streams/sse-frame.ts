import type { StoredEvent } from "../../../events/event.ts";
import type { InboxItem } from "../../../events/inbox-item.ts";
import { tellEvent } from "../../../events/summarize.ts";

/**
 * One thing of a stream as it goes over the wire. It is made once, however many clients get it, and
 * never contains a line break but those between its fields: JSON escapes them.
 */
export function eventFrame(event: StoredEvent): Buffer {
  const data = JSON.stringify(tellEvent(event));
  return Buffer.from(`id: ${event.seq}\nevent: ${event.type}\ndata: ${data}\n\n`);
}

export function inboxFrame(item: InboxItem): Buffer {
  return Buffer.from(`id: ${item.id}\nevent: inbox\ndata: ${JSON.stringify(item)}\n\n`);
}

/** Without an id: what is not in the log is no place to go on from. */
export function deltaFrame(runId: string, delegationId: string, text: string): Buffer {
  const data = JSON.stringify({ run_id: runId, sub_agent_id: delegationId, text });
  return Buffer.from(`event: delta\ndata: ${data}\n\n`);
}

/** Moves the place from which a client would go on, without telling it anything. */
export function placeFrame(id: number): Buffer {
  return Buffer.from(`id: ${id}\n\n`);
}

/** The first bytes: when to come back after a cut, and from where. */
export function openingFrame(id: number): Buffer {
  return Buffer.from(`retry: 1000\nid: ${id}\n\n`);
}

/** Keeps proxies from taking a quiet stream for a dead one. */
export const heartbeatFrame: Buffer = Buffer.from(": still here\n\n");
