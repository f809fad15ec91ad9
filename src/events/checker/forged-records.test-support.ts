import { exampleRecordChange } from "../example-events.test-support.ts";
import type { LooseEvent } from "./forged-log.test-support.ts";
import { inRun, patch, repeat, type SeededBug } from "./seeded-bug.test-support.ts";

const pin = "policy/profile-pin:me";

/** A change of the pin that follows from its last one, the seventh change of all. */
function next(events: readonly LooseEvent[], fields: object): LooseEvent {
  const last = events.findLast(
    (event) => event.type === "control.record_changed" && event.payload.record === pin,
  );
  if (last?.type !== "control.record_changed") throw new Error("the pin was never changed");
  const { after_hash: before_hash, version } = last.payload;
  const payload = { ...last.payload, version: version + 1, before_hash, ...fields };
  return { ...last, payload } as LooseEvent;
}

/** Control logs that do not fit their records, and events in the wrong log. */
export const forgedRecords: readonly SeededBug[] = [
  inRun("control", "two changes are made from one version: an update is lost", "I1", (events) =>
    repeat(events, events.length - 1),
  ),
  inRun("control", "a version is left out", "I1", (events) =>
    patch(events, events.length - 1, { version: 4 }),
  ),
  inRun("control", "a version goes down", "I1", (events) =>
    patch(events, events.length - 1, { version: 1 }),
  ),
  inRun("control", "a change begins with something else than was there", "I1", (events) =>
    patch(events, events.length - 2, { before_hash: "0".repeat(64) }),
  ),
  inRun("control", "a record is deleted that was not there", "I1", (events) =>
    patch(events, 0, { before_hash: null, after_hash: null }),
  ),
  inRun("control", "a change is told, and its record was never written", "I7", (events) => [
    ...events,
    { ...exampleRecordChange, at: 1 },
  ]),
  inRun("control", "a change is told, and the record is still the old one", "I7", (events) => [
    ...events,
    next(events, { after_hash: "0".repeat(64) }),
  ]),
  inRun("control", "a deletion is told, and the record is still there", "I7", (events) => [
    ...events,
    next(events, { after_hash: null }),
  ]),
  inRun("control", "a run's event stands in the control log", "I4", (events) => [
    ...events,
    { type: "run.planned", at: 1, payload: { by: "a", call_id: "1", steps: [] } },
  ]),
  inRun("control", "an event of the control log is about a delegation", "I4", (events) =>
    events.map((event) =>
      event.type === "command.executed" ? { ...event, sub_agent_id: "c00000" } : event,
    ),
  ),
  inRun("rich", "a record is changed in a run", "I4", (events) =>
    events.toSpliced(1, 0, { ...exampleRecordChange, at: 1 }),
  ),
  inRun("rich", "a command is noted in a run", "I4", (events) =>
    events.toSpliced(1, 0, {
      type: "command.executed",
      at: 1,
      payload: { command: "/help", actor: "me", outcome: "done" },
    }),
  ),
];
