import type { LoadedConfig } from "../load-config.ts";
import { type SettledConfig, settleConfig } from "../settle-config.ts";
import { readAcknowledged } from "./acknowledgements.ts";
import type { ControlStore } from "./control-store.ts";

/** Says of the configuration files that were found which of them counts, by the store's records. */
export async function settleByRecords(
  loaded: LoadedConfig,
  store: ControlStore,
  trustWorkspace = false,
): Promise<SettledConfig> {
  if (loaded.found.length === 0) return { config: loaded.own, waiting: [] };
  const trusted = await readAcknowledged(store);
  return settleConfig(loaded, (hash) => trustWorkspace || trusted.has(hash));
}
