import type { FollowedEvent } from "../../../src/surfaces/client/mandate-client.ts";

/** The registry, a pin or a profile has changed: lists of them are loaded again. */
export function isRecordChange({ type }: FollowedEvent): boolean {
  return type === "control.record_changed";
}
