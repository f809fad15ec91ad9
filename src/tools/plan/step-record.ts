import type { DelegationResult } from "../../ports/delegator.ts";

/** What came of one step so far: its last try, and who judged it. */
export interface StepRecord {
  readonly tries: number;
  /** It was completed before the runner of the plan was interrupted. */
  readonly isEarlier?: true;
  /** Of the last try; absent: no child was made. */
  readonly result?: DelegationResult;
  /** Why there was no child. */
  readonly refusal?: string;
  readonly review?: { readonly result?: DelegationResult; readonly refusal?: string };
}
