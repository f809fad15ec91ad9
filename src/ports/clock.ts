/**
 * Time and randomness as a parameter, so that tests can control both. `now` is for people and for the
 * log; `monotonic` is for deadlines, so that a clock change or a sleeping laptop does not expire one.
 */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds since a fixed moment; never decreases. */
  monotonic(): number;
  /** Calls `act` once, `ms` from now. */
  after(ms: number, act: () => void): Timer;
  /** Calls `act` every `ms`, until it is cancelled. */
  every(ms: number, act: () => void): Timer;
  /** From 0 to below 1, for jitter. Not for ids or secrets. */
  random(): number;
}

export interface Timer {
  cancel(): void;
  /** Lets the process end while this timer is waiting. */
  unref(): Timer;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  // Whole milliseconds, because engines store small integers without boxing.
  monotonic: () => Math.floor(performance.now()),
  after: (ms, act) => new SystemTimer(ms, act, "once"),
  every: (ms, act) => new SystemTimer(ms, act, "repeated"),
  random: () => Math.random(),
};

/** Waits `ms`. An abort rejects with the signal's reason. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const timer = clock.after(ms, () => {
      signal?.removeEventListener("abort", stop);
      resolve();
    });
    function stop(): void {
      timer.cancel();
      reject(signal?.reason);
    }
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** The result of `work`; undefined: it takes longer than `ms`, and continues. */
export async function within<Value>(
  clock: Clock,
  ms: number,
  work: Promise<Value>,
): Promise<Value | undefined> {
  let timer: Timer | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = clock.after(ms, () => resolve(undefined));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    timer?.cancel();
  }
}

/** Aborts with a `TimeoutError` in `ms`; does not keep the process alive. */
export function timeoutSignal(clock: Clock, ms: number): AbortSignal {
  const controller = new AbortController();
  const expire = () =>
    controller.abort(new DOMException(`Not done within ${ms} ms.`, "TimeoutError"));
  clock.after(ms, expire).unref();
  return controller.signal;
}

/** The longest delay of a Node timer. A longer one would fire at once. */
const longestMs = 2 ** 31 - 1;

class SystemTimer implements Timer {
  readonly #act: () => void;
  readonly #mode: "once" | "repeated";
  readonly #ms: number;
  #handle: NodeJS.Timeout;
  #isUnref = false;

  constructor(ms: number, act: () => void, mode: "once" | "repeated") {
    this.#ms = ms;
    this.#act = act;
    this.#mode = mode;
    this.#handle = this.#wait(ms);
  }

  cancel(): void {
    clearTimeout(this.#handle);
  }

  unref(): this {
    this.#isUnref = true;
    this.#handle.unref();
    return this;
  }

  #wait(ms: number): NodeJS.Timeout {
    const handle =
      ms > longestMs
        ? setTimeout(() => this.#continue(ms - longestMs), longestMs)
        : setTimeout(() => this.#fire(), ms);
    return this.#isUnref ? handle.unref() : handle;
  }

  #continue(ms: number): void {
    this.#handle = this.#wait(ms);
  }

  #fire(): void {
    if (this.#mode === "repeated") this.#handle = this.#wait(this.#ms);
    this.#act();
  }
}

/**
 * The work's outcome, or the signal's reason as soon as it aborts, whether or not the work itself
 * listens: a provider that ignores a cancelled request must not hold its caller.
 */
export function untilAborted<Value>(signal: AbortSignal, work: Promise<Value>): Promise<Value> {
  if (signal.aborted) {
    work.catch(ignore);
    return Promise.reject(signal.reason);
  }
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

function ignore(): void {}

/** Waits for `event`, but no longer than `ms`. */
export async function waitAtMost(clock: Clock, ms: number, event: Promise<unknown>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = clock.after(ms, resolve);
  try {
    await Promise.race([event, late]);
  } finally {
    timer.cancel();
  }
}
