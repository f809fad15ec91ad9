import type { Delegation, Reservation } from "./delegation.ts";
import type { StoredEvent, TokenUsage } from "./event.ts";

/** The tokens and dollars that one or several delegations have spent. */
export interface Spent {
  readonly tokens: number;
  /** In US dollars. */
  readonly cost: number;
  /** Part of it is an estimate: the real amount is at most this. */
  readonly estimated?: true;
  /** An agent program with a login of its own took part: the real amount is more. */
  readonly unmetered?: true;
}

export const nothingSpent: Spent = Object.freeze({ tokens: 0, cost: 0 });

export function spentOf({ unmetered, usage }: Pick<Delegation, "unmetered" | "usage">): Spent {
  const { completion, cost, estimated, prompt } = usage;
  const marks = { ...(estimated && { estimated }), ...(unmetered && { unmetered }) };
  return { tokens: prompt + completion, cost, ...marks };
}

export function addSpent(one: Spent, other: Spent): Spent {
  return {
    tokens: one.tokens + other.tokens,
    cost: one.cost + other.cost,
    ...((one.estimated || other.estimated) && { estimated: true }),
    ...((one.unmetered || other.unmetered) && { unmetered: true }),
  };
}

export function sumOf(amounts: Iterable<Spent>): Spent {
  let sum = nothingSpent;
  for (const amount of amounts) sum = addSpent(sum, amount);
  return sum;
}

/** The sum of all delegations of a run. */
export function spentIn(run: { readonly delegations: ReadonlyMap<string, Delegation> }): Spent {
  return sumOf([...run.delegations.values()].map(spentOf));
}

/** How exact an amount is. */
export interface Exactness {
  readonly estimated?: true | undefined;
  readonly unmetered?: true | undefined;
}

/** An amount for people: `$0.11`; `≤ $0.11` with an estimate in it, `≥ $0.11` without all of it. */
export function atMost(text: string, { estimated, unmetered }: Exactness): string {
  if (unmetered) return `≥ ${text}`;
  return estimated ? `≤ ${text}` : text;
}

/** Like `atMost`, but a cost of zero is never an estimate. */
export function atMostCost(
  text: string,
  { cost, ...mark }: Pick<Spent, "cost"> & Exactness,
): string {
  return cost > 0 || mark.unmetered ? atMost(text, mark) : text;
}

/**
 * The usage of a request of which only the reservation is known: all of it. Reservations of earlier
 * versions do not name the prompt's part.
 */
export function worstCaseOf({
  cost = 0,
  prompt,
  tokens,
}: Omit<Reservation, "request">): Omit<TokenUsage, "estimated"> {
  return { prompt: prompt ?? tokens, completion: tokens - (prompt ?? tokens), cost };
}

/** What a run spent on one day with one profile and one model. */
export interface SpentLine {
  readonly profile: string;
  readonly model: string;
  /** A day in UTC. */
  readonly day: string;
  readonly prompt: number;
  readonly completion: number;
  /** In US dollars. */
  readonly cost: number;
  /** Part of it is an estimate. */
  readonly estimated?: true;
}

/** Sums what a run spent, event by event, by profile, model and day. */
export class SpentLines {
  readonly #lines = new Map<string, SpentLine & { readonly estimates: number }>();
  /** The line of each estimate, by delegation and request. */
  readonly #estimates = new Map<string, string>();
  readonly #profiles = new Map<string, string>();
  readonly #models = new Map<string, string>();
  /** The models of open requests that name theirs, by delegation and request. */
  readonly #requests = new Map<string, string>();

  see(event: StoredEvent): void {
    const { sub_agent_id: id = "" } = event;
    if (event.type === "agent.subagent_created") this.#profiles.set(id, event.payload.profile);
    // A settlement follows its turn. A failed request counts for the last model that answered.
    if (event.type === "agent.model_turn") this.#models.set(id, event.payload.requested);
    if (event.type === "agent.budget_reserved" && event.payload.model !== undefined) {
      this.#requests.set(`${id} ${event.payload.request}`, event.payload.model);
    }
    if (event.type === "agent.budget_settled") {
      const { payload } = event;
      const request = `${id} ${payload.request}`;
      const asked = this.#requests.get(request);
      if (asked !== undefined) this.#models.set(id, asked);
      this.#requests.delete(request);
      const key = this.#add(id, event.at, payload, payload.estimated ? 1 : 0);
      if (payload.estimated) this.#estimates.set(`${id} ${payload.request}`, key);
    } else if (event.type === "agent.budget_corrected") {
      const { completion, cost, prompt, replaces, request } = event.payload;
      const more = {
        prompt: prompt - replaces.prompt,
        completion: completion - replaces.completion,
        cost: cost - replaces.cost,
      };
      this.#add(id, event.at, more, -1, this.#estimates.get(`${id} ${request}`));
    }
  }

  /** A correction changes the line of its estimate. */
  #add(id: string, at: number, more: TokenUsage, estimates: number, settledAs?: string): string {
    const profile = this.#profiles.get(id) ?? "";
    const model = this.#models.get(id) ?? "unknown";
    const day = new Date(at).toISOString().slice(0, 10);
    const key = settledAs ?? JSON.stringify([profile, model, day]);
    const line = this.#lines.get(key) ?? { profile, model, day, ...nothing };
    this.#lines.set(key, {
      ...line,
      prompt: line.prompt + more.prompt,
      completion: line.completion + more.completion,
      cost: line.cost + more.cost,
      estimates: line.estimates + estimates,
    });
    return key;
  }

  all(): readonly SpentLine[] {
    return [...this.#lines.values()].map(({ estimates, ...line }) =>
      estimates > 0 ? { ...line, estimated: true } : line,
    );
  }
}

const nothing = { prompt: 0, completion: 0, cost: 0, estimates: 0 };
