import { z } from "zod";

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
  /** The profile of the step can change files. */
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

const name = z.string().trim().min(1).max(200);
const text = z.string().trim().min(1).max(50_000);

/** Letters, digits and dashes, since the children of a plan are known by it. */
const id = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, "use letters, digits and dashes, beginning with a letter");

/** Relative, in the words of `.gitignore`: what leaves the workspace cannot be owned. */
const pattern = z
  .string()
  .trim()
  .min(1)
  .max(500)
  .refine(
    (glob) => !/^[/~]|\\|(?:^|\/)\.\.(?:\/|$)|^[A-Za-z]:/.test(glob),
    'write a path or pattern relative to the workspace, with "/" and without ".."',
  );

const dependency = z
  .string({ error: "write the id or the title of a step; a number could be counted from 0 or 1" })
  .trim()
  .min(1)
  .max(200);

export const planStepSchema = z.strictObject({
  id: id.optional().describe("What other steps call it; left out: step-1, step-2, …"),
  title: name.describe("A few words."),
  description: text.describe("What to do, complete in itself: nothing else of what you know."),
  success_criteria: z
    .array(text)
    .max(100)
    .optional()
    .describe("What must be true when it is done."),
  profile: name.describe("Who does it."),
  depends_on: z
    .array(dependency)
    .max(1000)
    .optional()
    .describe("Ids or titles of the steps that have to be completed first."),
  owns: z
    .array(pattern)
    .max(200)
    .optional()
    .describe("Paths or patterns that this step alone may change, such as src/login/**."),
  attempt_timeout_ms: z
    .int()
    .min(1000)
    .max(86_400_000)
    .optional()
    .describe("For one attempt at it, waiting for others aside; 90,000 unless configured."),
  retries: z.int().min(0).max(3).optional().describe("Tries after a failure; 0 unless you say."),
  on_failure: z
    .enum(["fail", "continue"])
    .optional()
    .describe("continue: steps that do not depend on it go on. fail, the default: nothing new."),
  review: z
    .union([z.boolean(), z.strictObject({ profile: name })])
    .optional()
    .describe("true: a reviewer judges it afterwards; or name the profile that does."),
});

/** A plan as people and models write it. Sizes and references are judged apart. */
export const planSchema = z.strictObject({
  goal: z.string().trim().min(1).max(10_000).optional().describe("What all of it is for."),
  approval: z.boolean().optional().describe("true: a person is asked before it begins."),
  steps: z.array(planStepSchema).describe("In the order of preference."),
});

type PlanDocument = z.infer<typeof planSchema>;
export type StepDocument = PlanDocument["steps"][number];
