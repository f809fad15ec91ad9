import type { Delegation } from "./delegation.ts";

/** What was spent, by one delegation or by several together. */
export interface Spent {
  readonly tokens: number;
  /** In US dollars. */
  readonly cost: number;
  /** Part of it was not reported by a provider: it is at most so much. */
  readonly estimated?: true;
}

export const nothingSpent: Spent = Object.freeze({ tokens: 0, cost: 0 });

export function spentOf({ usage }: Pick<Delegation, "usage">): Spent {
  const { completion, cost, estimated, prompt } = usage;
  return { tokens: prompt + completion, cost, ...(estimated && { estimated }) };
}

export function addSpent(one: Spent, other: Spent): Spent {
  return {
    tokens: one.tokens + other.tokens,
    cost: one.cost + other.cost,
    ...((one.estimated || other.estimated) && { estimated: true }),
  };
}

export function sumOf(amounts: Iterable<Spent>): Spent {
  let sum = nothingSpent;
  for (const amount of amounts) sum = addSpent(sum, amount);
  return sum;
}

/** What all delegations of a run have spent together. */
export function spentIn(run: { readonly delegations: ReadonlyMap<string, Delegation> }): Spent {
  return sumOf([...run.delegations.values()].map(spentOf));
}

/** An amount as every surface shows it: `$0.11`, and `≤ $0.11` where part of it is an estimate. */
export function atMost(
  text: string,
  { estimated }: { readonly estimated?: true | undefined },
): string {
  return estimated ? `≤ ${text}` : text;
}

/** The same of dollars: nothing, at prices of zero, is no estimate. */
export function atMostCost(
  text: string,
  { cost, estimated }: Pick<Spent, "cost"> & { readonly estimated?: true | undefined },
): string {
  return cost > 0 ? atMost(text, { estimated }) : text;
}
