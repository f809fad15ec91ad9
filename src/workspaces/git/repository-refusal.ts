import { MandateError } from "../../ports/mandate-error.ts";

/** Why a folder cannot be given to a child as a working copy, or merged into, as it is now. */
export type RefusalCode =
  | "bare"
  | "inside-git-directory"
  | "foreign-owner"
  | "work-tree-elsewhere"
  | "foreign-git-directory"
  | "unusual-path"
  | "corrupt"
  | "unreadable"
  | "locked"
  | "operation-in-progress"
  | "sparse-checkout"
  | "case-collision"
  | "too-large"
  | "changed-meanwhile"
  | "copy-exists"
  | "copy-unknown"
  | "range-unknown"
  | "bundle-damaged"
  | "journal-damaged";

export interface RepositoryRefusal {
  readonly code: RefusalCode;
  /** What, which, what next. */
  readonly sentence: string;
  readonly paths?: readonly string[];
}

/** Thrown before anything was made, or after everything that was made has been removed again. */
export class RepositoryRefused extends MandateError {
  readonly refusal: RepositoryRefusal;

  constructor(refusal: RepositoryRefusal, options?: ErrorOptions) {
    super("usage", refusal.sentence, options);
    this.name = "RepositoryRefused";
    this.refusal = refusal;
  }
}

/** A few names of many, for a sentence. */
export function namesOf(paths: readonly string[]): string {
  const shown = paths.slice(0, 5).map((path) => `"${path}"`);
  const more = paths.length - shown.length;
  return more > 0 ? `${shown.join(", ")} and ${more} more` : shown.join(", ");
}
