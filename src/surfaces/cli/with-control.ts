import { loadConfig } from "../../control/load-config.ts";
import { settleByRecords } from "../../control/records/settle-by-records.ts";
import { type Control, openControl } from "../../open-control.ts";
import { openStore } from "../../open-store.ts";
import type { Io } from "./io.ts";

/** Opens profiles, skills and records, without models or agents, and closes them whatever happens. */
export async function withControl<Value>(
  io: Io,
  use: (control: Control) => Promise<Value>,
): Promise<Value> {
  const { cwd, environment } = io;
  const loaded = await loadConfig({ cwd, environment });
  const store = await openStore({ ...loaded.own.database, environment });
  try {
    const settled = await settleByRecords(loaded, store);
    const control = await openControl({ ...settled, cwd, environment, store });
    try {
      return await use(control);
    } finally {
      control.close();
    }
  } finally {
    await store.close();
  }
}
