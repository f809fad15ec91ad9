/** Plans that a person writes: as a file for the command line, as data for a server. */
import { readTextFile } from "../agents/documents/read-text-file.ts";
import { parseYaml } from "../agents/documents/read-yaml.ts";
import type { ProfileRegistry } from "../agents/profiles/profile-registry.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { storedLine } from "../text.ts";
import { longestPlan, type Plan } from "../tools/plan/plan.ts";
import { type OwnershipWait, ownershipWaits, planWaves } from "../tools/plan/plan-order.ts";
import { planProfiles, validatePlan } from "../tools/plan/validate-plan.ts";

/** What a plan is checked against. */
interface PlanReaders {
  readonly profiles: Parameters<typeof planProfiles>[0];
  /** The profile that a handle of the registry leads to. */
  readonly behind: (handle: string) => string | undefined;
  /** The most delegations that a run may have. */
  readonly maxChildren: number;
}

/** A plan from a file, ready to run. */
export interface PlanFile {
  readonly plan: Plan;
  /** The steps that could run side by side, by their index, wave after wave. */
  readonly waves: readonly (readonly number[])[];
  /** Steps of one wave that wait for each other, because they own the same paths. */
  readonly waits: readonly OwnershipWait[];
  /** The document as JSON, for the runner. */
  readonly text: string;
}

const code = "plan-invalid";
const mostProblems = 20;

/**
 * Reads and checks a plan, YAML or JSON. Throws a MandateError "plan-invalid" with all problems, a
 * line each: file, line, step, and what to do.
 */
export function readPlanFile(file: string, readers: PlanReaders): PlanFile {
  const text = readTextFile(file, { code, maximumBytes: longestPlan });
  const { lineOf, value } = parseYaml(text, file, { code, maximumLength: longestPlan });
  const checked = check(value, readers);
  if (checked.problems !== undefined) {
    const shown = checked.problems
      .slice(0, mostProblems)
      .map(({ message, path }) => ({ line: lineOf(path), message }))
      .sort((one, other) => one.line - other.line)
      .map(({ line, message }) => `${file}:${line}: ${message}`);
    throw invalidPlan(shown, checked.problems.length);
  }
  const { plan } = checked;
  const waves = planWaves(plan);
  return { plan, waves, waits: ownershipWaits(plan, waves), text: JSON.stringify(value) };
}

function check(document: unknown, { behind, maxChildren, ...readers }: PlanReaders) {
  const profiles = planProfiles(readers.profiles, (name) => {
    return name.startsWith("@") ? behind(name) : name;
  });
  return validatePlan(document, { profiles, maxChildren });
}

function invalidPlan(shown: readonly string[], count: number): MandateError {
  const left = count - shown.length;
  const more = left > 0 ? [`… and ${left} more`] : [];
  return new MandateError(code, [...shown, ...more].join("\n"));
}

/** The request of a run that carries out a plan. */
interface PlanToRun {
  readonly task: string;
  readonly profile: string;
  /** The document as JSON: it is stored, and the run records its hash. */
  readonly text: string;
  /** The profiles and handles of its steps. */
  readonly agents: readonly string[];
}

/** The shipped profile that runs plans, without a language model. */
const runner = "plan-runner";

/**
 * The run of a plan that was sent as data. Throws "plan-invalid" with all problems of the plan, and
 * "profile-invalid" where another profile has the name of the runner.
 */
export function planToRun(
  document: unknown,
  readers: PlanReaders,
  registry: Pick<ProfileRegistry, "get">,
): PlanToRun {
  const { plan, problems } = { plan: undefined, ...check(document, readers) };
  if (plan === undefined) {
    const all = problems ?? [];
    const shown = all.slice(0, mostProblems).map(({ message }) => message);
    throw invalidPlan(shown, all.length);
  }
  // A profile of that name from elsewhere would be an agent that is asked to read a hash.
  if (registry.get(runner)?.model?.model !== "mandate/plan") {
    throw new MandateError(
      "profile-invalid",
      `Plans are run by the shipped profile "${runner}", but another profile has that name here. Rename that profile.`,
    );
  }
  const size = `plan of ${plan.steps.length} ${plan.steps.length === 1 ? "step" : "steps"}`;
  const goal = storedLine(plan.goal ?? "", 200);
  const task = goal === "" ? `Run the ${size}` : `${goal} (${size})`;
  const agents = plan.steps.map((step) => step.profile);
  return { task, profile: runner, text: JSON.stringify(document), agents };
}
