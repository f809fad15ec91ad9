import type { Job } from "./job.ts";

export const storeNames = ["sqlite", "postgres"] as const;
export type StoreName = (typeof storeNames)[number];

/** Where the logs of tortured runs are. */
export interface StorePlace extends AsyncDisposable {
  readonly name: StoreName;
  /** Where that of the run with this name is. */
  placeOf(run: string): Pick<Job, "postgres">;
  /** Whoever worked on it is gone, and counts as gone from now on. */
  afterDeath(job: Job): Promise<void>;
  /** Nobody needs it any more. */
  forget(job: Job): Promise<void>;
}

/** In each run's own folder. That a process is gone is seen at once. */
export const sqlitePlace: StorePlace = {
  name: "sqlite",
  placeOf: () => ({}),
  afterDeath: async () => undefined,
  forget: async () => undefined,
  [Symbol.asyncDispose]: async () => undefined,
};
