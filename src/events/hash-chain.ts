import { hash } from "node:crypto";
import type { NewEvent } from "./event.ts";

/** Every run's chain starts from its own id, so that events cannot be moved between runs. */
export function genesis(runId: string): string {
  return hash("sha256", `mandate run ${runId}`);
}

/**
 * The exact text of an event that is stored and hashed. `JSON.stringify` of what `JSON.parse` read
 * gives the same text again, so a chain can be verified from stored rows.
 */
export function canonical(event: NewEvent, at: number, summary: string): string {
  // Types and ids need no escaping; putting the array together by hand is twice as fast.
  const id = event.sub_agent_id === undefined ? "null" : `"${event.sub_agent_id}"`;
  const said = JSON.stringify(summary);
  return `["${event.type}",${id},${at},${JSON.stringify(event.payload)},${said}]`;
}

export function link(previous: string, canonicalText: string): string {
  return hash("sha256", previous + canonicalText);
}

export function sha256(text: string): string {
  return hash("sha256", text);
}
