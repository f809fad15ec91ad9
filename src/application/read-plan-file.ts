import { readTextFile } from "../agents/documents/read-text-file.ts";
import { parseYaml } from "../agents/documents/read-yaml.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { type OwnershipWait, ownershipWaits } from "../tools/plan/ownership-waits.ts";
import { longestPlan, type Plan } from "../tools/plan/plan.ts";
import { planProfiles } from "../tools/plan/plan-profiles.ts";
import { planWaves } from "../tools/plan/plan-waves.ts";
import { validatePlan } from "../tools/plan/validate-plan.ts";

/** What a plan is checked against. */
export interface PlanReaders {
  readonly profiles: Parameters<typeof planProfiles>[0];
  /** The profile that a handle of the registry leads to. */
  readonly behind: (handle: string) => string | undefined;
  /** Delegations that a run may have. */
  readonly maxChildren: number;
}

/** A plan from a file, ready to run. */
export interface PlanFile {
  readonly plan: Plan;
  /** What would run side by side: places of steps, wave after wave. */
  readonly waves: readonly (readonly number[])[];
  /** What would, if it did not want the same paths as others. */
  readonly waits: readonly OwnershipWait[];
  /** The document as JSON, for the runner. */
  readonly text: string;
}

const code = "plan-invalid";
const mostProblems = 20;

/**
 * Reads and checks a plan, YAML or JSON. Throws a MandateError "plan-invalid" with everything that
 * is wrong with it, a line each: file, line, step, and what to do.
 */
export function readPlanFile(file: string, readers: PlanReaders): PlanFile {
  const { behind, maxChildren } = readers;
  const text = readTextFile(file, { code, maximumBytes: longestPlan });
  const { lineOf, value } = parseYaml(text, file, { code, maximumLength: longestPlan });
  const profiles = planProfiles(readers.profiles, (name) => {
    return name.startsWith("@") ? behind(name) : name;
  });
  const checked = validatePlan(value, { profiles, maxChildren });
  if (checked.problems === undefined) {
    const { plan } = checked;
    const waves = planWaves(plan);
    return { plan, waves, waits: ownershipWaits(plan, waves), text: JSON.stringify(value) };
  }
  const shown = checked.problems
    .slice(0, mostProblems)
    .map(({ message, path }) => ({ line: lineOf(path), message }))
    .sort((one, other) => one.line - other.line)
    .map(({ line, message }) => `${file}:${line}: ${message}`);
  const left = checked.problems.length - shown.length;
  if (left > 0) shown.push(`… and ${left} more`);
  throw new MandateError(code, shown.join("\n"));
}
