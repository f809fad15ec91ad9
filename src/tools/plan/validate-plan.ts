import { nearestKey } from "../../documents/nearest-key.ts";
import { keyOfTry, mostTries } from "../../events/planned-steps.ts";
import { findCycles } from "./find-cycles.ts";
import { mostSteps, nameStep, type Plan, type PlanStep } from "./plan.ts";
import { capital, clip, type PlanProblem, schemaProblems, stepProblem } from "./plan-problem.ts";
import type { PlanProfiles } from "./plan-profiles.ts";
import { planSchema, type StepDocument } from "./plan-schema.ts";

export type CheckedPlan =
  | { readonly plan: Plan; readonly problems?: undefined }
  | { readonly problems: readonly PlanProblem[] };

export interface PlanBounds {
  readonly profiles: PlanProfiles;
  /** Delegations that a run may have, whoever runs the plan included. */
  readonly maxChildren: number;
}

/**
 * A plan from what somebody wrote, or everything that is wrong with it. Steps whose ownership
 * overlaps are no mistake: they wait for each other, the earlier one first.
 */
export function validatePlan(
  document: unknown,
  { maxChildren, profiles }: PlanBounds,
): CheckedPlan {
  const size = sizeProblem(document);
  if (size !== undefined) return { problems: [size] };
  const parsed = planSchema.safeParse(document);
  if (!parsed.success) return { problems: schemaProblems(parsed.error, document) };
  const { approval = false, goal = null, steps } = parsed.data;
  const problems: PlanProblem[] = childrenProblem(steps, maxChildren);
  const ids = steps.map(({ id }, place) => id ?? `step-${place + 1}`);
  problems.push(...idProblems(ids, steps));
  const dependencies = new References(ids, steps).resolve(problems);
  problems.push(...cycleProblems(dependencies, ids));
  const checked = steps.map((step, place) => {
    const id = ids[place] ?? "";
    const dependsOn = dependencies[place] ?? [];
    const reviewer = reviewerOf(step);
    const writes = findProfile(step.profile, place, id, "profile", profiles, problems);
    if (reviewer !== null) findProfile(reviewer, place, id, "review", profiles, problems);
    return planStep(step, { id, dependsOn, reviewer, writes });
  });
  if (problems.length > 0) return { problems: problems.sort(byStep) };
  return { plan: { goal, approval, steps: checked } };
}

function planStep(
  step: StepDocument,
  found: Pick<PlanStep, "id" | "dependsOn" | "reviewer" | "writes">,
): PlanStep {
  return {
    ...found,
    title: step.title,
    description: step.description,
    successCriteria: step.success_criteria ?? [],
    profile: step.profile,
    owns: step.owns ?? [],
    retries: step.retries ?? 0,
    onFailure: step.on_failure ?? "fail",
  };
}

/** Before the schema looks at each step: a hostile plan must not cost minutes. */
function sizeProblem(document: unknown): PlanProblem | undefined {
  const steps = (document as { steps?: unknown } | null | undefined)?.steps;
  if (!Array.isArray(steps)) return undefined;
  const path = ["steps"];
  if (steps.length === 0) {
    const message = "The plan has no steps. Give it at least one, or delegate without a plan.";
    return { kind: "empty", path, field: "steps", message };
  }
  if (steps.length <= mostSteps) return undefined;
  const message = `The plan has ${steps.length} steps; ${mostSteps} are the most. Cut it into several plans, or into coarser steps.`;
  return { kind: "too_many_steps", path, field: "steps", message };
}

/** Each step is a delegation, and so is each review; a run has only so many. */
function childrenProblem(steps: readonly StepDocument[], most: number): PlanProblem[] {
  const needed = steps.length + steps.filter((step) => reviewerOf(step) !== null).length;
  if (needed < most) return [];
  const message = `The plan needs ${needed} delegations, and a run may have ${most}, with the one that runs the plan. Cut it into coarser steps, or let the operator raise limits.maxChildren.`;
  return [{ kind: "too_many_steps", path: ["steps"], field: "steps", message }];
}

/** Two steps of one name; and a name that another step's second try or review would have. */
function* idProblems(
  ids: readonly string[],
  steps: readonly StepDocument[],
): Generator<PlanProblem> {
  const first = new Map<string, number>();
  for (const [place, id] of ids.entries()) {
    const other = first.get(id);
    if (other === undefined) first.set(id, place);
    else {
      const isGiven = steps[place]?.id !== undefined && steps[other]?.id !== undefined;
      const cause = isGiven ? "" : ", which is what a step without an id is called";
      const message = `Steps ${other + 1} and ${place + 1} both have the id "${id}"${cause}. Give each its own.`;
      yield stepProblem("duplicate_id", place, "id", message);
    }
  }
  for (const [id, place] of first) {
    for (const name of derivedKeys(id)) {
      const taken = first.get(name);
      if (taken === undefined) continue;
      const message = `${capital(nameStep(taken, name))} has the name that a further try or the review of ${nameStep(place, id)} would have. Call one of them otherwise.`;
      yield stepProblem("duplicate_id", taken, "id", message);
    }
  }
}

/** What the children of a step are called besides its id. */
function derivedKeys(id: string): string[] {
  const tries = Array.from({ length: mostTries }, (_, index) => keyOfTry(id, index + 1));
  return [...tries.slice(1), ...tries.map((key) => `${key}-review`)];
}

/** What steps call each other: by id, or by a title that only one of them has. */
class References {
  readonly #ids: readonly string[];
  readonly #steps: readonly StepDocument[];
  readonly #byId: ReadonlyMap<string, number>;
  readonly #byTitle = new Map<string, number[]>();

  constructor(ids: readonly string[], steps: readonly StepDocument[]) {
    this.#ids = ids;
    this.#steps = steps;
    this.#byId = new Map(ids.map((id, place) => [id, place]));
    for (const [place, { title }] of steps.entries()) {
      const places = this.#byTitle.get(title);
      if (places === undefined) this.#byTitle.set(title, [place]);
      else places.push(place);
    }
  }

  resolve(problems: PlanProblem[]): readonly (readonly number[])[] {
    return this.#steps.map(({ depends_on = [] }, place) => {
      const found = depends_on.map((name) => this.#find(name, place));
      problems.push(...found.filter((each) => typeof each !== "number"));
      const places = new Set(found.filter((each) => typeof each === "number"));
      return [...places].sort((one, other) => one - other);
    });
  }

  #find(name: string, place: number): number | PlanProblem {
    const owner = capital(nameStep(place, this.#ids[place]));
    const titled = this.#byTitle.get(name) ?? [];
    const found = this.#byId.get(name) ?? (titled.length === 1 ? titled[0] : undefined);
    if (found === place) {
      const message = `${owner} depends on itself. Take "${clip(name)}" out of its depends_on.`;
      return stepProblem("self_dependency", place, "depends_on", message);
    }
    if (found !== undefined) return found;
    if (titled.length > 1) {
      const which = titled.map((each) => `"${this.#ids[each]}"`).join(", ");
      const message = `${owner} depends on "${clip(name)}", which is the title of ${titled.length} steps. Name the id that you mean: ${which}.`;
      return stepProblem("ambiguous_dependency", place, "depends_on", message);
    }
    const nearest = nearestKey(name, this.#known());
    const hint =
      nearest === undefined
        ? `Name a step by its id: ${listed(this.#ids)}.`
        : `Did you mean "${nearest}"?`;
    const message = `${owner} depends on "${clip(name)}", which is no step of this plan. ${hint}`;
    return stepProblem("unknown_dependency", place, "depends_on", message);
  }

  /** Comparing is dear: of a huge plan the beginning is looked at. */
  #known(): string[] {
    return [...this.#ids.slice(0, 300), ...[...this.#byTitle.keys()].slice(0, 300)];
  }
}

function* cycleProblems(
  dependencies: readonly (readonly number[])[],
  ids: readonly string[],
): Generator<PlanProblem> {
  for (const cycle of findCycles(dependencies)) {
    const [first = 0] = cycle;
    const names = cycle.map((place) => ids[place] ?? "");
    const shown = names.length > 12 ? [...names.slice(0, 11), "…"] : names;
    const message = `Steps wait for each other in a circle, each for the next: ${[...shown, names[0]].join(" → ")}. Take one of these dependencies out.`;
    yield stepProblem("cycle", first, "depends_on", message);
  }
}

function reviewerOf({ review }: StepDocument): string | null {
  if (review === undefined || review === false) return null;
  return review === true ? "reviewer" : review.profile;
}

/** Whether the profile can change files; one that cannot be used is a problem. */
function findProfile(
  name: string,
  place: number,
  id: string,
  field: "profile" | "review",
  profiles: PlanProfiles,
  problems: PlanProblem[],
): boolean {
  const found = profiles.find(name);
  if (found !== undefined && "writes" in found) return found.writes;
  const owner = capital(nameStep(place, id));
  const role = field === "profile" ? "is for" : "is to be reviewed by";
  if (found !== undefined) {
    const message = `${owner} ${role} "${clip(name)}", which cannot do it: ${found.problem}`;
    problems.push(stepProblem("unusable_profile", place, field, message));
    return true;
  }
  const known = profiles.names();
  const nearest = nearestKey(name, known);
  const hint = nearest === undefined ? `There are: ${listed(known)}.` : `Did you mean ${nearest}?`;
  const message = `${owner} ${role} "${clip(name)}", which is no profile. ${hint}`;
  problems.push(stepProblem("unknown_profile", place, field, message));
  return true;
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, 20).join(", ");
  return names.length > 20 ? `${shown}, …` : shown;
}

function byStep(one: PlanProblem, other: PlanProblem): number {
  return (one.step ?? -1) - (other.step ?? -1);
}
