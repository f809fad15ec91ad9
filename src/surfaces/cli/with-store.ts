import { loadConfig } from "../../control/load-config.ts";
import { openStore } from "../../open-store.ts";
import type { Store } from "../../ports/store.ts";
import type { Io } from "./io.ts";

/** Opens the database for reading, and closes it whatever happens. */
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
