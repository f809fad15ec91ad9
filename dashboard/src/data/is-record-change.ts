import type { FollowedEvent } from "../../../src/surfaces/client/mandate-client.ts";

/** Somebody changed the registry, a pin or a profile: lists of them are loaded again. */
export function isRecordChange({ type }: FollowedEvent): boolean {
  return type === "control.record_changed";
}
