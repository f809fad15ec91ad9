import type { EventType } from "./event.ts";

export type ControlEventType = "control.record_changed" | "control.pruned" | "command.executed";

const controlEvents: ReadonlySet<EventType> = new Set<ControlEventType>([
  "control.record_changed",
  "control.pruned",
  "command.executed",
]);

/** Whether it belongs into the control log. Such events stand nowhere else, and no others there. */
export function isControlEvent(type: EventType): type is ControlEventType {
  return controlEvents.has(type);
}
