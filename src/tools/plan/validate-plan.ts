import { nearestKey } from "../../agents/documents/nearest-key.ts";
import { withoutEmpty } from "../../agents/documents/without-empty.ts";
import type { Profile } from "../../agents/profiles/profile.ts";
import type { ProfileRegistry } from "../../agents/profiles/profile-registry.ts";
import { keyOfTry, mostTries } from "../../events/planned-steps.ts";
import {
  mostSteps,
  nameStep,
  type Plan,
  type PlanStep,
  planSchema,
  type StepDocument,
} from "./plan.ts";
import {
  capital,
  listed,
  type PlanProblem,
  quoted,
  StepReferences,
  schemaProblems,
  stepProblem,
} from "./plan-problem.ts";

type CheckedPlan =
  | { readonly plan: Plan; readonly problems?: undefined }
  | { readonly problems: readonly PlanProblem[] };

interface PlanBounds {
  readonly profiles: PlanProfiles;
  /** Delegations that a run may have, the runner of the plan included. */
  readonly maxChildren: number;
}

/**
 * A plan from a document, or everything that is wrong with it. Steps whose ownership
 * overlaps are no mistake: they wait for each other, the earlier one first.
 */
export function validatePlan(
  document: unknown,
  { maxChildren, profiles }: PlanBounds,
): CheckedPlan {
  const size = sizeProblem(document);
  if (size !== undefined) return { problems: [size] };
  const parsed = planSchema.safeParse(withoutEmpty(planSchema, document));
  if (!parsed.success) return { problems: schemaProblems(parsed.error, document) };
  const { approval = false, goal = null, steps } = parsed.data;
  const problems: PlanProblem[] = childrenProblem(steps, maxChildren);
  const ids = steps.map(({ id }, place) => id ?? `step-${place + 1}`);
  problems.push(...idProblems(ids, steps));
  const dependencies = new StepReferences(ids, steps).resolve(problems);
  problems.push(...cycleProblems(dependencies, ids));
  const checked = steps.map((step, place) => {
    const id = ids[place] ?? "";
    const dependsOn = dependencies[place] ?? [];
    const reviewer = reviewerOf(step);
    const writes = findProfile(step.profile, place, id, "profile", profiles, problems);
    const reviewerWrites =
      reviewer !== null && findProfile(reviewer, place, id, "review", profiles, problems);
    return planStep(step, { id, dependsOn, reviewer, writes, reviewerWrites });
  });
  if (problems.length > 0) return { problems: problems.sort(byStep) };
  return { plan: { goal, approval, steps: checked } };
}

function planStep(
  step: StepDocument,
  found: Pick<PlanStep, "id" | "dependsOn" | "reviewer" | "writes" | "reviewerWrites">,
): PlanStep {
  return {
    ...found,
    title: step.title,
    description: step.description,
    successCriteria: step.success_criteria ?? [],
    profile: step.profile,
    owns: step.owns ?? [],
    retries: step.retries ?? 0,
    attemptTimeoutMs: step.attempt_timeout_ms ?? null,
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
    const message = `${owner} ${role} ${quoted(name)}, which cannot do it: ${found.problem}`;
    problems.push(stepProblem("unusable_profile", place, field, message));
    return true;
  }
  const known = profiles.names();
  const nearest = nearestKey(name, known);
  const hint = nearest === undefined ? `There are: ${listed(known)}.` : `Did you mean ${nearest}?`;
  const message = `${owner} ${role} ${quoted(name)}, which is no profile. ${hint}`;
  problems.push(stepProblem("unknown_profile", place, field, message));
  return true;
}

function byStep(one: PlanProblem, other: PlanProblem): number {
  return (one.step ?? -1) - (other.step ?? -1);
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

/** The suffixes of the children of a step, after its id. */
function derivedKeys(id: string): string[] {
  const tries = Array.from({ length: mostTries }, (_, index) => keyOfTry(id, index + 1));
  return [...tries.slice(1), ...tries.map((key) => `${key}-review`)];
}

/**
 * Cycles of dependencies, as lists of places in which each depends on the next and the last on the
 * first. Not all cycles, but at least one of each strongly connected group: after removing them, a
 * second look finds fewer.
 */
export function findCycles(dependencies: readonly (readonly number[])[]): readonly number[][] {
  const inKnot = notReducible(dependencies);
  const seen = new Set<number>();
  const cycles: number[][] = [];
  for (const start of inKnot) {
    const way: number[] = [];
    const at = new Map<number, number>();
    let place: number | undefined = start;
    while (place !== undefined && !seen.has(place)) {
      seen.add(place);
      at.set(place, way.length);
      way.push(place);
      place = dependencies[place]?.find((each) => inKnot.has(each));
    }
    const first = place === undefined ? undefined : at.get(place);
    if (first !== undefined) cycles.push(way.slice(first));
  }
  return cycles;
}

/** The steps that remain after repeatedly removing steps without remaining dependencies. */
function notReducible(dependencies: readonly (readonly number[])[]): ReadonlySet<number> {
  const left = new Set(dependencies.keys());
  const missing = dependencies.map(({ length }) => length);
  const dependents = dependencies.map((): number[] => []);
  for (const [place, all] of dependencies.entries()) {
    for (const each of all) dependents[each]?.push(place);
  }
  const free = [...left].filter((place) => missing[place] === 0);
  for (let place = free.pop(); place !== undefined; place = free.pop()) {
    left.delete(place);
    for (const dependent of dependents[place] ?? []) {
      const count = (missing[dependent] ?? 0) - 1;
      missing[dependent] = count;
      if (count === 0) free.push(dependent);
    }
  }
  return left;
}

/** The profiles to which a step can be given. */
interface PlanProfiles {
  /** Finds a profile; undefined: the name is unknown. */
  find(name: string): { readonly writes: boolean } | { readonly problem: string } | undefined;
  /** The names that a plan can use, for hints. */
  names(): readonly string[];
}

/** `behind`: the profile that a handle leads to, or the name itself. */
export function planProfiles(
  registry: Pick<ProfileRegistry, "get" | "problemOf" | "offered">,
  behind: (name: string) => string | undefined,
): PlanProfiles {
  return {
    find(name) {
      const id = behind(name);
      const profile = id === undefined ? undefined : registry.get(id);
      if (profile !== undefined) return judge(profile);
      const problem = id === undefined ? undefined : registry.problemOf(id)?.message;
      return problem === undefined ? undefined : { problem };
    },
    names: () => registry.offered().map(({ name }) => name),
  };
}

function judge(profile: Profile): { readonly writes: boolean } | { readonly problem: string } {
  const { capabilities } = profile;
  if (capabilities.some((each) => each === "subtask" || each === "orchestrator")) {
    return { writes: canWrite(profile) };
  }
  return { problem: `it is a profile for ${capabilities.join(" and ")} agents only.` };
}

/** Tools that change no file. Other tools may. */
const harmless: ReadonlySet<string> = new Set([
  ...["read_file", "list_files", "glob", "grep", "document_query", "load_skill"],
  ...["web_fetch", "web_search", "search", "memory_load", "memory_save"],
  ...["complete_task", "submit_for_review", "ask_user"],
  ...["list_sub_agents", "get_delegation_result", "peek_result", "search_result", "slice_result"],
]);

/** Whether a step may write. In doubt it may: such steps run one after the other, which only costs time. */
function canWrite({ tools, workspace }: Profile): boolean {
  if (workspace?.allowWrites === false) return false;
  return tools === undefined || tools === "*" || tools.some((tool) => !harmless.has(tool));
}
