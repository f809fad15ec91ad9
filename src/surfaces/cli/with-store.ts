import type { KeptWork } from "../../application/kept-work/kept-work.ts";
import { loadConfig } from "../../control/load-config.ts";
import { findPlaces } from "../../control/places.ts";
import type { Control } from "../../open-control.ts";
import { openStore } from "../../open-store.ts";
import type { Store } from "../../ports/store.ts";
import type { Io } from "./io.ts";

/** Opens the database without models or agents, and always closes it. */
export async function withStore<Value>(
  io: Io,
  use: (store: Store) => Promise<Value>,
): Promise<Value> {
  const { cwd, environment } = io;
  const { own } = await loadConfig({ cwd, environment });
  const store = await openStore({ ...own.database, environment });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** Opens the copies in which agents left changes, without models or agents. */
export function withKeptWork<Value>(
  io: Io,
  use: (work: KeptWork, store: Store) => Promise<Value>,
): Promise<Value> {
  return withStore(io, async (store) => {
    const { KeptWork } = await import("../../application/kept-work/kept-work.ts");
    return use(new KeptWork({ store, home: findPlaces(io.environment).home }), store);
  });
}

/** Opens profiles, skills and records without models or agents, and always closes them. */
export function withControl<Value>(
  io: Io,
  use: (control: Control) => Promise<Value>,
): Promise<Value> {
  return withControlStore(io, use);
}

/** Opens profiles, skills, records and the database, and always closes them. */
export async function withControlStore<Value>(
  io: Io,
  use: (control: Control, store: Store) => Promise<Value>,
): Promise<Value> {
  const { cwd, environment } = io;
  const { openControl } = await import("../../open-control.ts");
  const { settleByRecords } = await import("../../control/records/trust-records.ts");
  const loaded = await loadConfig({ cwd, environment });
  const store = await openStore({ ...loaded.own.database, environment });
  try {
    const settled = await settleByRecords(loaded, store);
    const control = await openControl({ ...settled, cwd, environment, store });
    try {
      return await use(control, store);
    } finally {
      control.close();
    }
  } finally {
    await store.close();
  }
}
