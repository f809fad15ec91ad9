import type { Config } from "./config.ts";
import { type ConfigRequest, loadConfig, settleConfig } from "./load-config.ts";

/** The configuration of a person who trusts the project's file. */
export async function loadTrustedConfig(request: ConfigRequest): Promise<Config> {
  return (await settleConfig(await loadConfig(request), () => true)).config;
}
