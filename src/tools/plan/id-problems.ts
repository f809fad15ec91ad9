import { keyOfTry, mostTries } from "../../events/planned-steps.ts";
import { nameStep } from "./plan.ts";
import { capital, type PlanProblem, stepProblem } from "./plan-problem.ts";
import type { StepDocument } from "./plan-schema.ts";

/** Two steps of one name; and a name that another step's second try or review would have. */
export function* idProblems(
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
