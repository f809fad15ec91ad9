/**
 * Limits on model requests of a whole installation or tenant: set by an administrator, stored as
 * records, and enforced when a request is about to be reserved. Pure: stores count, this decides.
 */

/** What a limit is about: everything, the delegations of one queue, or the requests to one provider. */
export type LimitScope = "tenant" | `queue/${string}` | `provider/${string}`;

export interface UsageLimit {
  readonly scope: LimitScope;
  /** Model requests at the same time. */
  readonly concurrency?: number | undefined;
  /** In any sixty seconds. */
  readonly requestsPerMinute?: number | undefined;
  /** In any sixty seconds: the most that each request may use, and what it used once that is known. */
  readonly tokensPerMinute?: number | undefined;
  /** For the whole tenant, from midnight to midnight UTC. In billionths of a dollar. */
  readonly costPerDay?: number | undefined;
}

/** The numbers of a limit, as they are shown and set. */
export type LimitName = keyof Omit<UsageLimit, "scope">;

/** What was counted of one scope. */
export interface ScopeUsage {
  /** Requests that were admitted and are not settled. */
  readonly open: number;
  /** In the last minute. */
  readonly requests: number;
  readonly tokens: number;
  /** Settled and held today, in billionths of a dollar. */
  readonly spent: number;
  readonly held: number;
}

/** The most that a request may use. */
export interface RequestBound {
  readonly tokens: number;
  /** In billionths of a dollar; null: the price of the model is not known. */
  readonly cost: number | null;
}

export type Admission =
  | { readonly is: "admitted" }
  /** The limit is used up for now: ask again in `afterMs`. */
  | {
      readonly is: "later";
      readonly scope: LimitScope;
      readonly limit: LimitName;
      readonly afterMs: number;
    }
  /** No wait helps before midnight UTC. */
  | {
      readonly is: "refused";
      readonly scope: LimitScope;
      readonly limit: "costPerDay";
      readonly most: number;
      readonly spent: number;
    };

const soonMs = 250;
const nextSecondMs = 1000;

/**
 * Whether a request fits into every limit at once. A request that is larger than all of the tokens
 * of a minute is admitted alone.
 */
export function decideAdmission(
  request: RequestBound,
  limits: readonly (readonly [UsageLimit, ScopeUsage])[],
): Admission {
  let later: Admission = { is: "admitted" };
  for (const [limit, used] of limits) {
    const { concurrency, costPerDay, requestsPerMinute, scope, tokensPerMinute } = limit;
    if (costPerDay !== undefined && request.cost !== 0) {
      const { held, spent } = used;
      // A refusal counts even where another limit would only have it wait.
      if (request.cost === null || spent + request.cost > costPerDay) {
        return { is: "refused", scope, limit: "costPerDay", most: costPerDay, spent };
      }
      if (spent + held + request.cost > costPerDay) later = wait(scope, "costPerDay", soonMs);
    }
    if (concurrency !== undefined && used.open >= concurrency) {
      later = wait(scope, "concurrency", soonMs);
    }
    if (requestsPerMinute !== undefined && used.requests >= requestsPerMinute) {
      later = wait(scope, "requestsPerMinute", nextSecondMs);
    }
    const isAlone = used.tokens === 0;
    if (
      tokensPerMinute !== undefined &&
      !isAlone &&
      used.tokens + request.tokens > tokensPerMinute
    ) {
      later = wait(scope, "tokensPerMinute", nextSecondMs);
    }
  }
  return later;
}

function wait(scope: LimitScope, limit: LimitName, afterMs: number): Admission {
  return { is: "later", scope, limit, afterMs };
}

/** The limits that a request of this queue to this provider is under. */
export function limitsFor(
  limits: readonly UsageLimit[],
  { provider, queue }: { readonly provider: string; readonly queue: string },
): readonly UsageLimit[] {
  const scopes = new Set<string>(["tenant", `queue/${queue}`, `provider/${provider}`]);
  return limits.filter(({ scope }) => scopes.has(scope));
}
