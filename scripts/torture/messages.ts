/** What a worker tells whoever is about to kill it, one JSON line each. */
export type Message =
  | { readonly type: "opened"; readonly open: readonly OpenDelegation[] }
  | { readonly type: "committed"; readonly events: readonly Told[] }
  /** Every delegation that was open is resumed, queued again or closed. */
  | { readonly type: "taken-up" }
  /** Somebody else tried to recover as well, and took up so many runs. */
  | { readonly type: "recovered-again"; readonly runs: number }
  /** With how many commits and writes to files, for those who want to be at each of them. */
  | { readonly type: "finished"; readonly commits: number; readonly fileWrites: number };

/** A delegation as a new process finds it. */
export interface OpenDelegation {
  readonly id: string;
  readonly status: string;
  readonly resumptions: number;
  /** Its open calls only wait, for children or for a person: nothing can be expected of itself. */
  readonly waits: boolean;
}

/** A committed event, as far as it is needed to recognise it again. */
export interface Told {
  readonly run_id: string;
  readonly seq: number;
  readonly hash: string;
  readonly type: string;
  readonly id: string | null;
}

/** How a worker ends that was told in a sentence why it cannot go on, and passed that on. */
export const gaveUpCode = 3;
