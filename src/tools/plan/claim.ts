import { type Ownership, ownershipOf } from "../../workspaces/git/integration/match-ownership.ts";
import type { PlanStep } from "./plan.ts";

type Owner = Pick<PlanStep, "owns" | "writes">;

/** What steps of equal ownership share. */
export interface Claim {
  readonly owns: Ownership;
  /** Ranks of its steps, the lowest first. */
  readonly ranks: number[];
  /** So many of its first steps are known to be over. */
  over: number;
}

/** An agent that can write and owns nothing in particular could change anything. */
const anything: readonly string[] = ["**"];

/** By place; null: the step keeps no other from anything. `sequence`: places by rank. */
export function claimsOf(
  steps: readonly Owner[],
  sequence: readonly number[],
  canWrite: boolean,
): (Claim | null)[] {
  const known = new Map<string, Claim>();
  const claims: (Claim | null)[] = steps.map(() => null);
  for (const [rank, place] of sequence.entries()) {
    const { owns = [], writes = false } = steps[place] ?? {};
    const patterns = owns.length === 0 && writes && canWrite ? anything : owns;
    if (patterns.length === 0) continue;
    const key = patterns.join("\n");
    const claim = known.get(key) ?? { owns: ownershipOf(patterns), ranks: [], over: 0 };
    known.set(key, claim);
    claim.ranks.push(rank);
    claims[place] = claim;
  }
  return claims;
}

/** The last step of the claim before a rank that is not over, as a rank. */
export function lastOpenBefore(
  claim: Claim,
  rank: number,
  isOver: (rank: number) => boolean,
): number | undefined {
  const { ranks } = claim;
  const rankAt = (index: number): number => ranks[index] ?? Number.POSITIVE_INFINITY;
  while (claim.over < ranks.length && isOver(rankAt(claim.over))) claim.over++;
  if (rankAt(claim.over) >= rank) return undefined;
  let [low, high] = [claim.over, ranks.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rankAt(middle) < rank) low = middle + 1;
    else high = middle;
  }
  let index = low - 1;
  while (isOver(rankAt(index))) index--;
  return rankAt(index);
}
