import { dearestRates, type TokenPrice } from "../contracts/token-price.ts";
import type { Delegation } from "../events/delegation.ts";
import type { Keeps } from "../events/event.ts";
import type { RunState } from "../events/run-state.ts";
import {
  type Amounts,
  addTo,
  differenceOf,
  noAmounts,
  ownOf,
  type Spending,
  spendingAbove,
} from "../events/spending.ts";
import { billionths, billionthsFor, inDollars, wholeBillionths } from "../ports/dollars.ts";

/** Tokens, and what they cost in billionths of a dollar: whole ones, so that sums are exact. */
export interface Amount {
  readonly tokens: number;
  readonly cost: number;
}

/** What a request may use at most; `prompt`: of the tokens, the bound of its prompt. */
export interface Held extends Amount {
  readonly prompt?: number;
}

/** Whose budget it is; `id`: null for a run. `log`: null where no other process spends from it. */
interface BudgetOwner {
  readonly id: string | null;
  readonly execution: { readonly log: RunState | null };
}

const alone: BudgetOwner = { id: null, execution: { log: null } };

export const nothing: Amount = Object.freeze({ tokens: 0, cost: 0 });

/**
 * What a delegation may spend, and has spent together with all below it. A child's budget is a cap,
 * not money taken from its parent in advance: the worst case of a request is reserved from the child
 * and every ancestor before the request leaves, and settled by what was reported. Both are events:
 * the budget follows the states that they lead to, and nothing else changes it.
 */
export class Budget {
  readonly tokens: number;
  /** In billionths of a dollar. A run has it from its root, which is made after it. */
  cost: number;
  readonly #above: Budget | null;
  readonly #of: BudgetOwner;
  readonly #spent: Amounts = { ...noAmounts };
  /** The state of its own delegation that is counted. */
  #followed: Delegation | null = null;
  /** What its own delegation keeps back to report: its next request is paid from it. */
  #own: Amount = nothing;
  #isOverrun = false;

  /** `dollars`: null where there is no cap. */
  constructor(
    above: Budget | null,
    tokens: number,
    dollars: number | null = null,
    of: BudgetOwner = alone,
  ) {
    this.#above = above;
    this.#of = of;
    this.tokens = tokens;
    this.cost = dollars === null ? Number.POSITIVE_INFINITY : wholeBillionths(dollars);
  }

  /** What can be reserved now: the least that this budget and those above it have free. */
  get available(): Amount {
    return this.#least(true, this.#own);
  }

  /** What can be reserved whatever other processes reserve before it is written. */
  get certain(): Amount {
    return this.#of.execution.log === null ? this.available : nothing;
  }

  /** What is free once every request under way turns out to have cost nothing. */
  get unspent(): Amount {
    return this.#least(false, this.#own);
  }

  /** What descendants may spend: `unspent` without what the delegation keeps back for itself. */
  get forChildren(): Amount {
    return this.#least(false, nothing);
  }

  fits({ cost, tokens }: Amount): boolean {
    const { available } = this;
    return tokens <= available.tokens && cost <= available.cost;
  }

  /**
   * Takes a new state of the delegation: the difference counts in this budget and above. Null: another live
   * delegation stands for it from now on.
   */
  follow(state: Delegation | null): void {
    const before = this.#followed;
    this.#followed = state;
    if (before !== null && state !== null && spendsAlike(before, state)) return;
    const is = state === null ? noAmounts : ownOf(state);
    this.#isOverrun = state?.overrun === true;
    this.#own = is.kept === 0 ? nothing : { tokens: is.kept, cost: is.keptCost };
    const difference = differenceOf(before === null ? noAmounts : ownOf(before), is);
    if (difference === undefined) return;
    // Where other processes spend from the budgets above, the log has all of it.
    const isShared = this.#of.execution.log !== null;
    for (let one: Budget | null = this; one !== null; one = isShared ? null : one.#above) {
      addTo(one.#spent, difference);
    }
  }

  /** What is spent from this budget and from each above it, in a run of which the log has a part. */
  #spendingIn(log: RunState): readonly Spending[] {
    const { id } = this.#of;
    const known = log.delegations.get(id ?? "");
    // What was just reserved or reported here may not be written yet.
    const unwritten = known && differenceOf(ownOf(known), this.#spent);
    return Array.from(spendingAbove(log, id), (one) => {
      const isOverrun = one.isOverrun || (one.id === id && this.#isOverrun);
      const spending = { ...one, isOverrun };
      if (unwritten !== undefined) addTo(spending, unwritten);
      return spending;
    });
  }

  /** `isHeldSpent`: what requests under way may cost counts as spent. */
  #least(isHeldSpent: boolean, own: Amount): Amount {
    const { log } = this.#of.execution;
    let least = unlimited;
    if (log === null) {
      for (let one: Budget | null = this; one !== null; one = one.#above) {
        const left = leftOf(one.tokens, one.cost, one.#spent, isHeldSpent);
        least = lesser(least, left, one.#isOverrun, own);
      }
      return least;
    }
    for (const one of this.#spendingIn(log)) {
      least = lesser(least, leftOf(one.cap, one.costCap, one, isHeldSpent), one.isOverrun, own);
    }
    return least;
  }
}

const unlimited: Amount = Object.freeze({
  tokens: Number.POSITIVE_INFINITY,
  cost: Number.POSITIVE_INFINITY,
});

function leftOf(
  cap: number,
  costCap: number,
  { cost, kept, keptCost, reserved, reservedCost, settled }: Readonly<Amounts>,
  isHeldSpent: boolean,
): Amount {
  const tokens = cap - settled - kept;
  const dollars = costCap - cost - keptCost;
  return isHeldSpent
    ? { tokens: tokens - reserved, cost: dollars - reservedCost }
    : { tokens, cost: dollars };
}

/** After an overrun no tokens are left. */
function lesser(least: Amount, left: Amount, isOverrun: boolean, own: Amount): Amount {
  const tokens = left.tokens + own.tokens;
  return {
    tokens: Math.min(least.tokens, isOverrun ? Math.min(0, tokens) : tokens),
    cost: Math.min(least.cost, left.cost + own.cost),
  };
}

/** Most events of a delegation change nothing of what its budget counts. */
function spendsAlike(before: Delegation, after: Delegation): boolean {
  return (
    before.status === "running" &&
    after.status === "running" &&
    before.usage === after.usage &&
    before.reservations === after.reservations &&
    before.keeps === after.keeps &&
    before.overrun === after.overrun
  );
}

/** What a request has used. */
export interface Used {
  readonly prompt: number;
  readonly completion: number;
  /** The dollars of the request. */
  readonly cost: number;
  /** The provider did not report it, or reported what is no count. */
  readonly isEstimated?: boolean;
}

/** A request that was settled as an estimate, and can be corrected while its delegation is open. */
export interface Estimate {
  readonly used: Used;
  readonly reserved: Held;
  readonly model: string;
}

/** What the next model turn may cost, decided before anything is sent. Pure. */
export type TurnPlan =
  /** A turn with its tools, and enough left for a last one after it. */
  | { readonly kind: "turn"; readonly reserve: Amount; readonly maxOutput: number }
  /** The last one: tools are withdrawn, the best result is asked for. */
  | { readonly kind: "last"; readonly reserve: Amount; readonly maxOutput: number }
  /** Other delegations hold reservations that will shrink, so this one waits. */
  | { readonly kind: "wait" }
  /** The budget does not suffice for a last turn. */
  | { readonly kind: "exhausted" };

export interface TurnBounds {
  /** No prompt can be more tokens than this. */
  readonly prompt: number;
  readonly maxOutput: number;
  /** Free now, after everybody's reservations. */
  readonly available: Amount;
  /** Free if all that is under way were to cost nothing. */
  readonly unspent: Amount;
  /** For a last turn: the contract's reserve, and the results that it will have to read. */
  readonly keepBack: number;
  /** The price of the model that will be asked; undefined: no price is known. */
  readonly price: TokenPrice | undefined;
}

const leastOutput = 64;

export function planTurn(bounds: TurnBounds): TurnPlan {
  const now = planWith(bounds, bounds.available);
  if (now.kind === "turn") return now;
  const later = planWith(bounds, bounds.unspent);
  return later.kind === now.kind ? now : { kind: "wait" };
}

function planWith(bounds: TurnBounds, left: Amount): TurnPlan {
  const { prompt, maxOutput, keepBack } = bounds;
  if (left.cost <= 0) return { kind: "exhausted" };
  // After this turn a last one must still fit: its prompt is at least this one's.
  const output = Math.min(maxOutput, outputWithin(left, bounds, 2 * prompt, keepBack));
  if (output >= Math.min(maxOutput, leastOutput * 4)) {
    return { kind: "turn", reserve: worstCase(bounds, output), maxOutput: output };
  }
  const last = Math.min(maxOutput, outputWithin(left, bounds, prompt, 0));
  if (last >= Math.min(maxOutput, leastOutput)) {
    return { kind: "last", reserve: worstCase(bounds, last), maxOutput: last };
  }
  return { kind: "exhausted" };
}

/** How many tokens an answer may have, beside prompts of so many and other output that is kept. */
function outputWithin(
  left: Amount,
  { price, prompt }: Pick<TurnBounds, "price" | "prompt">,
  prompts: number,
  kept: number,
): number {
  const tokens = left.tokens - prompts - kept;
  if (price === undefined || left.cost === Number.POSITIVE_INFINITY) return tokens;
  const { input, output } = dearestRates(price, prompt);
  const rest = left.cost - billionthsFor(prompts, input) - billionthsFor(kept, output);
  return Math.min(tokens, tokensFor(rest, output));
}

function tokensFor(cost: number, rate: number): number {
  if (rate === 0) return cost < 0 ? -1 : Number.POSITIVE_INFINITY;
  return Math.floor(cost / billionthsFor(1, rate));
}

/** The most that a request with such a prompt, and an answer of so many tokens, can cost. */
export function worstCase(
  { price, prompt }: Pick<TurnBounds, "price" | "prompt">,
  answer: number,
): Amount {
  const tokens = prompt + answer;
  if (price === undefined) return { tokens, cost: 0 };
  const { input, output } = dearestRates(price, prompt);
  const cost = billionthsFor(prompt, input) + billionthsFor(answer, output);
  return { tokens, cost: billionths(inDollars(cost)) };
}

/** With less than this, not even a last turn fits. */
export function leastForAnswer(bounds: Pick<TurnBounds, "maxOutput" | "price" | "prompt">): Amount {
  return worstCase(bounds, Math.min(bounds.maxOutput, leastOutput));
}

/** The prompt for which that is the least. */
export function promptOfLeast(tokens: number, maxOutput: number): number {
  return tokens - Math.min(maxOutput, leastOutput);
}

/**
 * How many bytes of an output may enter the conversation so that an ordinary turn still fits after
 * it. Each may turn out to be a token: a file of which all was shown would be the end of a small
 * budget, and one of which the beginning was shown can be read on.
 */
export function roomForOutput({
  available,
  keepBack,
  price,
  prompt,
}: Pick<TurnBounds, "available" | "keepBack" | "price" | "prompt">): number {
  const answers = keepBack + leastOutput * 4;
  const forPrompts = Math.min(available.tokens - answers, promptsFor(available, price, answers));
  return Math.max(leastShown, Math.floor(forPrompts / 2 - slack - prompt - frame));
}

/** How many tokens of prompts can be paid, beside answers of so many. */
function promptsFor({ cost }: Amount, price: TokenPrice | undefined, answers: number): number {
  if (cost <= 0) return 0;
  if (price === undefined || cost === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY;
  // With what is shown the next prompt may become a long one.
  const { input, output } = dearestRates(price, Number.POSITIVE_INFINITY);
  return tokensFor(cost - billionthsFor(answers, output), input);
}

export interface ReportBounds extends Omit<TurnBounds, "maxOutput" | "unspent"> {
  /** Results of children that it has not read, those of its open calls included. */
  readonly results: number;
  /** Tokens of text with which a result may enter the conversation. */
  readonly joinTokens: number;
  /** The most tokens of a prompt that one token of a result becomes: bytes, where none are counted. */
  readonly perToken: number;
}

/**
 * What a parent keeps back while its children work, so that they cannot drain what it needs to read
 * their results and to answer. Results get up to half of what is free: children cannot say more with the
 * other half. A result that does not fit enters as its beginning, and a child for whose result there is
 * no room is refused.
 */
export function planReport(bounds: ReportBounds): Keeps {
  const { available, joinTokens, keepBack, perToken, price, prompt, results } = bounds;
  const answered = worstCase({ price, prompt }, keepBack);
  const free = { tokens: available.tokens - answered.tokens, cost: available.cost - answered.cost };
  const forPrompts = Math.max(0, Math.min(free.tokens, promptsFor(free, price, 0)));
  const around = wrapping * perToken;
  // Where every byte counts as a token, the prompts of children need more than their answers.
  const share = perToken === 1 ? 2 : 4;
  const least = (leastJoined + leastAround) * perToken;
  const most = Math.min(joinTokens * perToken + around, Math.floor(forPrompts / share / results));
  const each = Math.max(least, most);
  // Where many results are as short as can be, children still have a quarter.
  const fitting = Math.min(results, Math.floor((forPrompts * 3) / 4 / each));
  const kept = worstCase({ price, prompt: prompt + fitting * each }, keepBack);
  const tokens = Math.max(0, Math.min(kept.tokens, available.tokens));
  const cost = inDollars(Math.max(0, Math.min(kept.cost, available.cost)));
  const result = Math.max(leastJoined, Math.floor((each - around) / perToken));
  return { tokens, ...(cost > 0 && { cost }), results: fitting, result };
}

/** Tokens of what stands around a result: how it ended, and its evidence. */
const wrapping = 340;

/** Tokens around a result that is too short for evidence. */
const leastAround = 100;

/** Tokens of a result that says where the rest is. */
const leastJoined = 70;

/** Bytes of the lines around an output in the conversation: whose output it is, and that it was cut. */
const frame = 512;

/** Less than this says nothing, and a budget that has no room for it is at its end anyway. */
const leastShown = 2000;

/**
 * The most tokens the next prompt can be: what the provider counted last time plus a token for
 * every byte added since; before the first count, a token for every byte of everything.
 */
export function promptBound(parts: {
  readonly counted: number | null;
  readonly bytesSince: number;
  readonly systemBytes: number;
  readonly toolTokens: number;
}): number {
  if (parts.counted !== null) return parts.counted + parts.bytesSince + slack;
  return parts.systemBytes + parts.toolTokens + parts.bytesSince + hiddenPrompt;
}

const slack = 32;

/** What providers add of their own when tools are offered. */
const hiddenPrompt = 512;

export interface WindowBounds {
  /** Tokens of the prompt and the answer together. */
  readonly window: number;
  readonly maxOutput: number;
  /** The bytes of the system prompt and the tools, which cannot be shortened. */
  readonly fixedBytes: number;
  readonly conversationBytes: number;
  /** The last prompt that the provider counted, with the bytes of its conversation. */
  readonly measured: { readonly tokens: number; readonly bytes: number } | null;
}

export interface WindowPlan {
  /** Bytes that the conversation may have, so that an answer has room beside it. */
  readonly conversationBytes: number;
  /** Tokens that the answer has room for, beside the conversation as it is. */
  readonly maxOutput: number;
  /** The prompt certainly does not fit. */
  readonly isTooSmall: boolean;
}

/**
 * What a window has room for, by how many bytes the tokens of the last prompt had: an estimate, since
 * the provider refuses a prompt that is too long, and no money depends on it.
 */
export function planWindow(bounds: WindowBounds): WindowPlan {
  const { conversationBytes, fixedBytes, maxOutput, measured, window } = bounds;
  // Prose has four bytes a token; schemas of tools may have more, and nothing else is like them.
  const counted = measured === null ? 0 : measured.tokens / (fixedBytes + measured.bytes);
  const perByte = Math.min(1, Math.max(1 / 4, counted));
  // An answer that is longer than the window, as the default is for small ones, gets a quarter of it.
  const answer = Math.min(maxOutput, Math.floor(window / 4));
  const prompt = Math.ceil((fixedBytes + conversationBytes) * perByte);
  return {
    conversationBytes: Math.floor((window - answer) / perByte) - fixedBytes,
    maxOutput: Math.min(maxOutput, Math.max(answer, window - prompt)),
    // No text that people write has tokens of eight bytes on average.
    isTooSmall: (fixedBytes + conversationBytes) / 8 > window,
  };
}
