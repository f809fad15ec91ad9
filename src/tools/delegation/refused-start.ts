import type { StartOutcome } from "../../ports/delegator.ts";
import type { ToolResult } from "../tool.ts";

type Refused = Extract<StartOutcome, { readonly started: false }>;

/** What a call answers whose child was not started. */
export function refusedStart(outcome: Refused, text = `Error: ${outcome.reason}`): ToolResult {
  return { text, isError: true, ...(outcome.isFault && { spawnFailed: true }) };
}
