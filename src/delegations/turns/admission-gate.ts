import { type Admission, limitsFor, type UsageLimit } from "../../contracts/usage-limit.ts";
import { readLimits, usageLimitOf } from "../../control/records/limit-records.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Store } from "../../ports/store.ts";
import type { LimitedRequest } from "../../ports/usage-store.ts";

export interface AdmissionGateOptions {
  readonly store: Pick<Store, "listRecords" | "subscribe" | "usage">;
  readonly clock: Clock;
  /** The queue of a delegation, by its profile and provider. */
  readonly queueOf: (profile: string, provider: string) => string;
}

export interface AdmissionWait {
  /** Called when others wait before it. */
  queue(): void;
  /** Called before every pause; its request is not admitted yet. */
  pause(by: Extract<Admission, { is: "later" }>): Promise<void>;
  /** Rejects when the delegation is stopped. */
  interruptible<Value>(waiting: Promise<Value>): Promise<Value>;
}

/**
 * Admits the model requests of this process under the stored limits. Without a limit nothing is
 * awaited. Requests of one queue to one provider are admitted in their order, and only the first of
 * them asks the store again and again.
 */
export class AdmissionGate {
  readonly queueOf: AdmissionGateOptions["queueOf"];
  /** False: no limit is stored, as far as this process knows, so that nothing has to be awaited. */
  mayLimit: boolean;
  readonly #store: AdmissionGateOptions["store"];
  readonly #unsubscribe: () => void;
  readonly #lines = new Map<string, Promise<void>>();
  #limits: readonly UsageLimit[] | undefined;
  #reading: Promise<readonly UsageLimit[]> | undefined;

  constructor({ queueOf, store }: AdmissionGateOptions) {
    this.queueOf = queueOf;
    this.#store = store;
    this.mayLimit = store.usage !== undefined;
    this.#unsubscribe = store.subscribe((events) => {
      for (const { payload, type } of events) {
        if (type !== "control.record_changed") continue;
        const { record } = payload as { readonly record?: unknown };
        if (!String(record).startsWith("limit/")) continue;
        this.#limits = undefined;
        this.#reading = undefined;
        this.mayLimit = store.usage !== undefined;
      }
    });
  }

  /** Reads the limits in advance, so that without limits not even the first request waits. */
  async load(): Promise<void> {
    // Limits that cannot be read refuse requests, not the start.
    await this.#current().catch(() => undefined);
  }

  /** Resolves when the request is admitted, or refused for today. */
  async admit(
    request: LimitedRequest,
    wait: AdmissionWait,
  ): Promise<Exclude<Admission, { is: "later" }>> {
    if (limitsFor(await this.#current(), request).length === 0) return { is: "admitted" };
    const name = `${request.provider} ${request.queue}`;
    const last = this.#lines.get(name);
    if (last !== undefined) wait.queue();
    const before = last ?? Promise.resolve();
    const { promise: done, resolve: leave } = Promise.withResolvers<void>();
    // A request that is stopped while it waits leaves when those before it have left.
    const turn = Promise.all([before, done]).then(() => undefined);
    this.#lines.set(name, turn);
    try {
      await wait.interruptible(before);
      for (;;) {
        const limits = limitsFor(await this.#current(), request);
        const { usage } = this.#store;
        if (usage === undefined || limits.length === 0) return { is: "admitted" };
        const admission = await usage.admit(request, limits);
        if (admission.is !== "later") return admission;
        await wait.pause(admission);
      }
    } finally {
      leave();
      if (this.#lines.get(name) === turn) {
        void turn.then(() => this.#lines.get(name) === turn && this.#lines.delete(name));
      }
    }
  }

  close(): void {
    this.#unsubscribe();
  }

  async #current(): Promise<readonly UsageLimit[]> {
    if (this.#limits !== undefined) return this.#limits;
    this.#reading ??= readLimits(this.#store).then((all) => all.map(usageLimitOf));
    const reading = this.#reading;
    try {
      const limits = await reading;
      // A limit may have been changed during the wait: it is read again.
      if (this.#reading === reading) {
        this.#limits = limits;
        this.mayLimit = this.#store.usage !== undefined && limits.length > 0;
      }
      return limits;
    } catch (error) {
      if (this.#reading === reading) this.#reading = undefined;
      throw error;
    }
  }
}
