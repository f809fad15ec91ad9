import type { Mandate, MandateOptions } from "./mandate.ts";

/**
 * Opens Mandate in this process: its database, models, profiles and tools. They are loaded here and
 * not with the package: a program that imports it and has nothing to delegate yet starts at once.
 */
export async function createMandate(options: MandateOptions = {}): Promise<Mandate> {
  const { openMandate } = await import("./open-mandate.ts");
  return openMandate(options);
}
