import { nearestKey } from "../../agents/documents/nearest-key.ts";
import { nameStep } from "./plan.ts";
import { capital, listed, type PlanProblem, quoted, stepProblem } from "./plan-problem.ts";
import type { StepDocument } from "./plan-schema.ts";

/** Comparing names is dear, and so many sentences are not read. */
const mostHints = 50;
const mostProblems = 10_000;

/** What steps call each other: by id, or by a title that only one of them has. */
export class StepReferences {
  readonly #ids: readonly string[];
  readonly #steps: readonly StepDocument[];
  readonly #byId: ReadonlyMap<string, number>;
  readonly #byTitle = new Map<string, number[]>();
  #hints = 0;

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
      if (problems.length > mostProblems) return [];
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
      const message = `${owner} depends on itself. Take ${quoted(name)} out of its depends_on.`;
      return stepProblem("self_dependency", place, "depends_on", message);
    }
    if (found !== undefined) return found;
    if (titled.length > 1) {
      const which = listed(titled.slice(0, 21).map((each) => `"${this.#ids[each]}"`));
      const message = `${owner} depends on ${quoted(name)}, which is the title of ${titled.length} steps. Name the id that you mean: ${which}.`;
      return stepProblem("ambiguous_dependency", place, "depends_on", message);
    }
    const nearest = this.#hints++ < mostHints ? nearestKey(name, this.#known()) : undefined;
    const hint =
      nearest === undefined
        ? `Name a step by its id: ${listed(this.#ids)}.`
        : `Did you mean "${nearest}"?`;
    const message = `${owner} depends on ${quoted(name)}, which is no step of this plan. ${hint}`;
    return stepProblem("unknown_dependency", place, "depends_on", message);
  }

  /** Comparing is dear: of a huge plan the beginning is looked at. */
  #known(): string[] {
    return [...this.#ids.slice(0, 300), ...[...this.#byTitle.keys()].slice(0, 300)];
  }
}
