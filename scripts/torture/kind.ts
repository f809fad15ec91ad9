import type { Random } from "./random.ts";
import type { StoreName } from "./store-place.ts";
import type { Ground, RunReport } from "./torture-run.ts";

/** What the undisturbed run of a kind came to, for those who want to be everywhere in it. */
export interface Measured extends RunReport {
  readonly store: StoreName;
  /** How often each system call that writes was made; zero where nobody could look. */
  readonly calls: { readonly pwrite64: number; readonly fsync: number };
}

/** One round: a run at one point. */
export interface Round {
  /** Also the name of its folder. */
  readonly name: string;
  readonly point: string;
  readonly random: Random;
  readonly ground: Ground;
}

/** One way in which runs are tortured. */
export interface Kind {
  readonly name: string;
  /** After "a run …". */
  readonly does: string;
  readonly stores: readonly StoreName[];
  /** So many rounds on each store when nothing else is asked for, and with --long. */
  readonly rounds: { readonly usual: number; readonly long: number | "all" };
  readonly job: Omit<Ground["job"], "synchronous">;
  /** Rounds that must not run beside each other. */
  readonly isAlone?: boolean;
  readonly needsTrace?: boolean;
  /** Why it cannot be done here. */
  lack?(): string | undefined;
  /** All points there are; none: rounds are told apart by their number alone, and have no end. */
  points?(measured: Measured): readonly string[];
  play(round: Round): Promise<unknown>;
}
