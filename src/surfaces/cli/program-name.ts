import { basename } from "node:path";
import type { Io } from "./io.ts";

/** In a clone there is no `mandate` in PATH: what it prints must be what works there. */
export function programName(environment: Io["environment"], script: string): string {
  const isOurs = environment["npm_package_name"] === "mandate";
  if (isOurs && environment["npm_lifecycle_event"] !== undefined) return "npm run -s mandate --";
  return basename(script) === "mandate" ? "mandate" : `node ${script}`;
}
