import type { OpenTarget } from "./target.ts";

export class CaseFailure extends Error {}

/** Runs one case after the other, and holds each to what is asked of all of them. */
export class CaseRunner {
  readonly #target: OpenTarget<unknown>;
  readonly #mostMs: number;
  readonly #stray: unknown[] = [];
  cases = 0;

  constructor(target: OpenTarget<unknown>, mostMs: number) {
    this.#target = target;
    this.#mostMs = mostMs;
    process.on("unhandledRejection", this.#keep);
    process.on("uncaughtException", this.#keep);
  }

  readonly #keep = (error: unknown): void => {
    this.#stray.push(error);
  };

  async run(input: unknown): Promise<void> {
    this.cases += 1;
    const took = await this.#cost(input);
    // The first time there is code to be compiled and memory to be tidied.
    if (took > this.#mostMs) {
      const again = await this.#cost(input);
      if (again > this.#mostMs) {
        throw new CaseFailure(`It took ${Math.round(again)} ms, and ${this.#mostMs} are the most.`);
      }
    }
    const [stray] = this.#stray.splice(0);
    if (stray !== undefined) throw new CaseFailure("Something failed unheard", { cause: stray });
  }

  /** In milliseconds of this process: others may have the machine meanwhile. */
  async #cost(input: unknown): Promise<number> {
    const began = process.cpuUsage();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const end = () => reject(new CaseFailure(`It had not ended after ${this.#mostMs * 10} ms.`));
      timer = setTimeout(end, this.#mostMs * 10);
    });
    try {
      const checking = this.#target.check(input);
      if (checking instanceof Promise) await Promise.race([checking, late]);
    } finally {
      clearTimeout(timer);
      late.catch(() => undefined);
    }
    const { system, user } = process.cpuUsage(began);
    return (system + user) / 1000;
  }

  close(): void {
    process.off("unhandledRejection", this.#keep);
    process.off("uncaughtException", this.#keep);
  }
}
