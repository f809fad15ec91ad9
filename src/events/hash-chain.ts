import { hash } from "node:crypto";
import type { NewEvent } from "./event.ts";

/** The first hash of a run's chain. It depends on the run's id, so that events cannot be moved between runs. */
export function genesis(runId: string): string {
  return hash("sha256", `mandate run ${runId}`);
}

/**
 * The text of an event that is stored and hashed. Parsing and stringifying it gives the same text, so a
 * chain can be verified from stored rows.
 */
export function canonical(event: NewEvent, at: number, summary: string): string {
  // Types and ids need no escaping. Building the array by hand is twice as fast.
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
