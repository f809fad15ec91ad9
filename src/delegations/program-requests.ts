import type { Contract } from "../contracts/contract.ts";
import { costOf } from "../contracts/token-price.ts";
import { type Cause, describeCause } from "../events/cause.ts";
import { inDollars } from "../ports/dollars.ts";
import { headOf } from "../text.ts";
import type {
  ModelRequests,
  ProgramReply,
  ProgramRequest,
  Reserved,
  ReservedRequest,
} from "./agent-programs.ts";
import { planTurn, type Used, worstCase } from "./budget.ts";
import { event, heldBy, type LiveDelegation, requestsOf } from "./live-delegation.ts";
import { counted, settled, unused, usageOf } from "./turns/request-model.ts";
import { whyNoRoom } from "./turns/take-turn.ts";

/** The longest text of an answer in the log: the answer itself belongs to the program. */
const longestText = 4000;

/** The most different refusals that the log of one delegation has: a loop must not fill the disk. */
const mostRefusals = 100;

/**
 * The requests to models that another program makes under a contract. Each reserves its worst case
 * like a turn of our own, from the same budget, and is settled by what the provider reports.
 */
export class ProgramRequests implements ModelRequests {
  readonly #live: LiveDelegation;
  readonly #refusals = new Set<string>();
  readonly #clamped = new Set<string>();
  readonly #whenExhausted = new Set<() => void>();
  #exhaustedBy: Cause | null = null;
  /** Why the latest request was refused; null: none was, or a later one was answered. */
  refusedBy: Cause | null = null;
  /** The number of requests that were answered. */
  answered = 0;

  constructor(live: LiveDelegation) {
    this.#live = live;
  }

  get contract(): Contract {
    return this.#live.contract;
  }

  /** Why the budget refused a request; null: it refused none. */
  get exhaustedBy(): Cause | null {
    return this.#exhaustedBy;
  }

  /** Calls back when the budget refuses a request; returns how to stop listening. */
  onExhausted(listener: () => void): () => void {
    this.#whenExhausted.add(listener);
    return () => this.#whenExhausted.delete(listener);
  }

  /** Why no further request is made; null: the delegation is open. */
  get stoppedBy(): Cause | null {
    const { process, work } = this.#live;
    if (work.interruption !== null) return work.interruption.cause;
    return process.end.isEnding ? { code: "already_closed" } : null;
  }

  /** Calls back when the delegation is stopped; returns how to stop listening. */
  onStop(listener: (cause: Cause) => void): () => void {
    return this.#live.work.onStop(({ cause }) => listener(cause));
  }

  /**
   * Reserves the worst case of a request from the delegation and its ancestors. Resolves when the
   * reservation is on disk. Waits while others hold what it needs.
   */
  async reserve(asked: ProgramRequest): Promise<Reserved> {
    const live = this.#live;
    let { promptBound } = asked;
    let isCounted = asked.count === undefined;
    for (;;) {
      const stopped = this.stoppedBy;
      if (stopped !== null) return { refused: stopped };
      asked.signal.throwIfAborted();
      const { max_turns: most } = live.contract.execution;
      if (most !== undefined && requestsOf(live) >= most) {
        return { refused: { code: "turns_spent", turns: most } };
      }
      const plan = planTurn({
        prompt: promptBound,
        maxOutput: asked.maxOutput,
        available: live.budget.available,
        unspent: live.budget.unspent,
        keepBack: live.contract.budget.reserve,
        price: asked.price,
      });
      if (plan.kind !== "turn" && !isCounted) {
        isCounted = true;
        promptBound = Math.min(promptBound, (await asked.count?.()) ?? promptBound);
      } else if (plan.kind === "wait") {
        await this.#untilReleased(asked.signal);
      } else if (plan.kind === "exhausted") {
        const { maxOutput, price } = asked;
        return { refused: whyNoRoom(live, { prompt: promptBound, maxOutput, price }) };
      } else {
        const { cost, tokens } = plan.reserve;
        const request = new OpenRequest(
          live,
          { ...asked, promptBound, maxOutput: plan.maxOutput },
          () => this.#wasAnswered(),
        );
        const dollars = cost > 0 && { cost: inDollars(cost) };
        const { model } = asked;
        live.record(
          event(live, "agent.budget_reserved", {
            ...{ request: request.number, model, tokens, prompt: promptBound, ...dollars },
          }),
        );
        // The reservation is on disk before the request leaves, so a crash cannot lose it.
        await live.process.appends.durable();
        return { request };
      }
    }
  }

  /** A request was not sent. The log has each different refusal once, before the program is answered. */
  async refuse(cause: Cause, model: string | undefined): Promise<void> {
    this.noteRefusal(cause);
    const key = JSON.stringify([cause.code, model]);
    if (this.#refusals.has(key) || this.#refusals.size >= mostRefusals) return;
    this.#refusals.add(key);
    if (this.stoppedBy !== null) return;
    const live = this.#live;
    const named = model !== undefined && { model: headOf(model, 200) };
    const error = describeCause(cause);
    live.record(event(live, "agent.request_refused", { ...named, cause, error }));
    await live.process.appends.durable();
  }

  /** What follows from a refusal, without its event: a replay has that from the recording. */
  noteRefusal(cause: Cause): void {
    this.refusedBy = cause;
    if (!closesForBudget.has(cause.code) || this.#exhaustedBy !== null) return;
    this.#exhaustedBy = cause;
    for (const listener of this.#whenExhausted) listener();
  }

  /** Notes that another model answers than the model that the program named. */
  clamp(requested: string, granted: string): void {
    const key = `${requested} ${granted}`;
    if (this.#clamped.has(key) || this.#clamped.size >= mostRefusals) return;
    this.#clamped.add(key);
    if (this.stoppedBy !== null) return;
    const live = this.#live;
    live.record(event(live, "agent.model_clamped", { requested: headOf(requested, 200), granted }));
  }

  #wasAnswered(): void {
    this.answered++;
    this.refusedBy = null;
  }

  async #untilReleased(signal: AbortSignal): Promise<void> {
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const stop = (): void => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    try {
      const released = this.#live.process.time.untilReleased();
      await Promise.race([this.#live.work.interruptible(released), aborted]);
    } catch (error) {
      if (this.stoppedBy === null) throw error;
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }
}

const closesForBudget: ReadonlySet<Cause["code"]> = new Set([
  ...(["budget_overrun", "cost_spent", "cost_too_small", "tokens_too_small"] as const),
  "turns_spent",
]);

/** A request that is reserved, and is settled exactly once: by one of its methods, or by the close. */
class OpenRequest implements ReservedRequest {
  readonly number: number;
  readonly maxOutput: number;
  /** Bytes of the answer that have arrived: no output is more tokens. */
  received = 0;
  readonly #live: LiveDelegation;
  readonly #asked: ProgramRequest;
  readonly #onAnswer: () => void;

  constructor(live: LiveDelegation, asked: ProgramRequest, onAnswer: () => void) {
    this.#live = live;
    this.#onAnswer = onAnswer;
    this.#asked = asked;
    this.number = requestsOf(live) + 1;
    this.maxOutput = asked.maxOutput;
    live.process.cuts ??= new Map();
    live.process.cuts.set(this.number, () => this.#cut());
  }

  /** The answer is complete. Resolves when its settlement is on disk. */
  async complete(reply: ProgramReply): Promise<void> {
    if (!this.isOpen) return;
    this.#onAnswer();
    const live = this.#live;
    const { model, price } = this.#asked;
    const reported = counted(reply.usage);
    const { prompt = 0, completion = 0 } = reported ?? {};
    const used: Used =
      reported === null
        ? this.#unreported()
        : { prompt, completion, cost: price === undefined ? 0 : costOf(price, reported) };
    live.record(
      event(live, "agent.model_turn", {
        request: this.number,
        requested: model,
        served: reply.served === null ? null : headOf(reply.served, 200),
        usage: usageOf(live, used, this.number),
        finish_reason: headOf(reply.finish, 40),
        ...(reply.text === "" ? {} : { text: headOf(reply.text, longestText) }),
      }),
      settled(live, used, this.number),
    );
    await this.#settled();
  }

  /** The provider refused it before it answered, and charges nothing for that. */
  async unanswered(): Promise<void> {
    if (!this.isOpen) return;
    this.#live.record(settled(this.#live, unused, this.number));
    await this.#settled();
  }

  /** Ends a request that was cut: what it used is estimated. */
  async cut(): Promise<void> {
    if (!this.isOpen) return;
    this.#live.record(settled(this.#live, this.#cut(), this.number));
    await this.#settled();
  }

  get isOpen(): boolean {
    const { end } = this.#live.process;
    return !end.isEnding && !this.#live.work.isParked && heldBy(this.#live, this.number).tokens > 0;
  }

  async #settled(): Promise<void> {
    this.#live.process.cuts?.delete(this.number);
    await this.#live.process.appends.durable();
  }

  /** The answer arrived, without a count: thoughts may not have been sent, so dollars are the worst. */
  #unreported(): Used {
    const { cost } = heldBy(this.#live, this.number);
    return { ...this.#cut(), cost: inDollars(cost) };
  }

  #cut(): Used {
    const { isSeen, price, promptBound: prompt } = this.#asked;
    // The program decides when it is cut: otherwise answers that it never waits for would cost nothing.
    const completion = isSeen ? Math.min(this.received, this.maxOutput) : this.maxOutput;
    const cost = inDollars(worstCase({ price, prompt }, completion).cost);
    return { prompt, completion, cost, isEstimated: true };
  }
}
