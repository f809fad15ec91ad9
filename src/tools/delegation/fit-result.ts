import type { DelegationResult } from "../../ports/delegator.ts";

/** Three bytes a token is on the safe side for prose and code alike. */
const bytesPerToken = 3;

function bytesFor(tokens: number): number {
  return Math.max(200, tokens * bytesPerToken);
}

export function fits(text: string, tokens: number): boolean {
  const limit = bytesFor(tokens);
  // A UTF-16 unit is at most three bytes: short texts need no counting.
  return text.length * 3 <= limit || Buffer.byteLength(text) <= limit;
}

/**
 * The result's text, if it fits into what the caller allows to be poured into its conversation;
 * otherwise its beginning, and how to look at the rest.
 */
export function fitResult(result: DelegationResult, tokens: number): string {
  if (fits(result.result, tokens)) return result.result;
  const limit = bytesFor(tokens);
  const excerpt = Buffer.from(result.result)
    .subarray(0, limit)
    .toString("utf8")
    .replace(/\uFFFD$/, "");
  return `${excerpt}\n[… ${Buffer.byteLength(result.result)} bytes in all. Read on with peek_result, search_result or slice_result, delegationId ${result.delegationId}.]`;
}
