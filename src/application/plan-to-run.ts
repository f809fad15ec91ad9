import type { ProfileRegistry } from "../agents/profiles/profile-registry.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { storedLine } from "../text.ts";
import { planProfiles } from "../tools/plan/plan-profiles.ts";
import { validatePlan } from "../tools/plan/validate-plan.ts";
import type { PlanReaders } from "./read-plan-file.ts";

/** What is asked of a run that carries out a plan. */
export interface PlanToRun {
  readonly task: string;
  readonly profile: string;
  /** The document as JSON: it is kept, and the run records its hash. */
  readonly text: string;
  /** Who carries out its steps: profiles and handles. */
  readonly agents: readonly string[];
}

const mostProblems = 20;

/** Who runs what is written down: shipped, and no language model. */
const runner = "plan-runner";

/**
 * A plan that was sent as data, ready to be run. Throws "plan-invalid" with everything that is
 * wrong with it, and "profile-invalid" where the name of the runner is taken.
 */
export function planToRun(
  document: unknown,
  readers: PlanReaders,
  registry: Pick<ProfileRegistry, "get">,
): PlanToRun {
  const { behind, maxChildren } = readers;
  const profiles = planProfiles(readers.profiles, (name) => {
    return name.startsWith("@") ? behind(name) : name;
  });
  const { plan, problems } = {
    plan: undefined,
    ...validatePlan(document, { profiles, maxChildren }),
  };
  if (plan === undefined) {
    const lines = (problems ?? []).map(({ message }) => message);
    const left = lines.length - mostProblems;
    const shown = [...lines.slice(0, mostProblems), ...(left > 0 ? [`… and ${left} more`] : [])];
    throw new MandateError("plan-invalid", shown.join("\n"));
  }
  // A profile of that name from elsewhere would be an agent that is asked to read a hash.
  if (registry.get(runner)?.model?.model !== "mandate/plan") {
    throw new MandateError(
      "profile-invalid",
      `Plans are run by the shipped profile "${runner}", and here that is another one. Give that one another name.`,
    );
  }
  const size = `plan of ${plan.steps.length} ${plan.steps.length === 1 ? "step" : "steps"}`;
  const goal = storedLine(plan.goal ?? "", 200);
  const task = goal === "" ? `Run the ${size}` : `${goal} (${size})`;
  const agents = plan.steps.map((step) => step.profile);
  return { task, profile: runner, text: JSON.stringify(document), agents };
}
