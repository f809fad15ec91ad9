import type { StoredEvent } from "../../events/event.ts";
import type { PreparedChange } from "../../events/prepare-record-changes.ts";
import { controlRunId } from "../../ports/identity.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { parseJson } from "../../ports/parse-json.ts";
import type { ControlRecord } from "../../ports/record-store.ts";
import type { Append } from "../../ports/store.ts";
import { headOf } from "../../text.ts";

/** The records as their changes left them, from the events of these changes. */
export function changedRecords(
  prepared: readonly PreparedChange[],
  events: readonly StoredEvent[],
  actor: string,
): readonly (ControlRecord | null)[] {
  return prepared.map(({ resourceType, resourceId, text }, index) => {
    const event = events[index];
    if (text === null || event?.type !== "control.record_changed") return null;
    const { version } = event.payload;
    const value = parseJson(text);
    return { resourceType, resourceId, version, value, updatedBy: actor, updatedAt: event.at };
  });
}

/** The event of a command. */
export function commandNote(command: string, actor: string, outcome: string): Append {
  const payload = { command: cut(command), actor: cut(actor), outcome: cut(outcome) };
  const events = [{ type: "command.executed", payload } as const];
  return { runId: controlRunId, by: "operator", events };
}

/** Commands are remembered as a line is, whatever was typed; half a character is not kept. */
function cut(text: string): string {
  return headOf(text, 500);
}

export function closed(): MandateError {
  return new MandateError("closed", "The store is closed.");
}

/** A refusal that a caller may look at later, or never, as with every append. */
export function refuseAppend(isClosed: boolean): Promise<never> {
  const refused = Promise.reject(isClosed ? closed() : notAppendable());
  refused.catch(() => undefined);
  return refused;
}

function notAppendable(): MandateError {
  return new MandateError(
    "illegal-transition",
    "The control log takes no appends: changing a record or noting a command writes to it.",
  );
}
