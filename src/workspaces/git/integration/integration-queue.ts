import { resolve } from "node:path";
import { lockFolderOf } from "../copies/copy-layout.ts";
import { acquirePlaceLock } from "../place-lock.ts";

/** What waits for the same thing: the order of integrations, or a look at the files themselves. */
export type QueuePurpose = "integration" | "files";

// Shared by all queues of this process: two runtimes on one folder are one holder of its lock.
const lastInLine = new Map<string, Promise<unknown>>();

/**
 * One at a time for each place, first come, first served, in this process and among all of this
 * machine. Whoever wants integrations in a certain order asks in that order.
 */
export class IntegrationQueue {
  readonly #home: string;

  constructor(home: string) {
    this.#home = resolve(home);
  }

  /** A signal takes somebody out of the line; work that has begun is for the work itself to end. */
  run<Result>(
    toplevel: string,
    work: () => Promise<Result>,
    options: { readonly purpose?: QueuePurpose; readonly signal?: AbortSignal } = {},
  ): Promise<Result> {
    const folder = lockFolderOf(this.#home, toplevel, options.purpose ?? "integration");
    const before = lastInLine.get(folder) ?? Promise.resolve();
    const { promise, resolve: succeed, reject } = Promise.withResolvers<Result>();
    const { signal } = options;
    const leave = (): void => reject(signal?.reason);
    signal?.addEventListener("abort", leave, { once: true });
    const turn = before.then(async () => {
      signal?.throwIfAborted();
      const release = await acquirePlaceLock(folder, options);
      try {
        // Who left at the last moment was told so: nothing may happen for them any more.
        signal?.throwIfAborted();
        signal?.removeEventListener("abort", leave);
        succeed(await work());
      } finally {
        release();
      }
    });
    const settled = turn.catch(reject);
    lastInLine.set(folder, settled);
    void settled.then(() => {
      signal?.removeEventListener("abort", leave);
      if (lastInLine.get(folder) === settled) lastInLine.delete(folder);
    });
    return promise;
  }
}
