/**
 * A plan that was checked: what an orchestrator, or a person with a file, wants done. Steps refer to
 * each other by their place in `steps`, which is also the order in which they are preferred and, as
 * far as dependencies allow, merged.
 */
export interface Plan {
  readonly goal: string | null;
  /** A person is asked before anything of it begins. */
  readonly approval: boolean;
  readonly steps: readonly PlanStep[];
}

export interface PlanStep {
  /** Letters, digits and dashes; unique in the plan. */
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly successCriteria: readonly string[];
  /** A profile, or a handle of the registry. */
  readonly profile: string;
  /** Places of the steps that have to be completed first, in order. */
  readonly dependsOn: readonly number[];
  /** Patterns of the paths that it alone may change; none: any path. */
  readonly owns: readonly string[];
  /** How often a failed step is given to another child. */
  readonly retries: number;
  /** Milliseconds for one attempt; null: what is configured. */
  readonly attemptTimeoutMs: number | null;
  readonly onFailure: "fail" | "continue";
  /** The profile that reviews the result; null: none. */
  readonly reviewer: string | null;
  /** Its profile can change files. */
  readonly writes: boolean;
  /** The profile of its reviewer can. */
  readonly reviewerWrites: boolean;
}

export const mostSteps = 10_000;

/** Characters of a plan's text, looked at before anything is parsed. */
export const longestPlan = 8_000_000;

/** "step 3 ("form")", as problems and reports speak of it. */
export function nameStep(place: number, id: string | undefined): string {
  return id === undefined ? `step ${place + 1}` : `step ${place + 1} ("${id}")`;
}
