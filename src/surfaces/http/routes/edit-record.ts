import type { Principal } from "../../../control/records/principal.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { ControlRecord } from "../../../ports/record-store.ts";
import type { Runtime } from "../../../runtime.ts";
import { RecordConflict } from "../record-conflict.ts";

/** Compare-and-set of an allowlisted record; whoever is too late is told how it is now. */
export async function editRecord(
  { control, store }: Runtime,
  name: string,
  value: unknown,
  expectedVersion: number,
  by: Principal,
): Promise<ControlRecord | null> {
  try {
    const record = await control.plane.editAllowlisted(name, value, expectedVersion, by);
    await control.view.refresh();
    return record;
  } catch (error) {
    if (!(error instanceof MandateError) || error.code !== "conflict") throw error;
    const now = await store.readRecord("policy", name.slice("policy/".length));
    throw new RecordConflict(error.message, {
      version: now?.version ?? 0,
      value: now?.value ?? null,
    });
  }
}
