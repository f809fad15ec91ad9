import type { Reservation } from "./delegation.ts";
import type { TokenUsage } from "./event.ts";

/**
 * What a request has used at most, when nothing but its reservation is known: all of it. A
 * reservation of an earlier version does not say which part of it was for the prompt.
 */
export function worstCaseOf({
  cost = 0,
  prompt,
  tokens,
}: Omit<Reservation, "request">): Omit<TokenUsage, "estimated"> {
  return { prompt: prompt ?? tokens, completion: tokens - (prompt ?? tokens), cost };
}
