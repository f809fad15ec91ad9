import type { z } from "zod";
import { nearestKey } from "../../agents/documents/nearest-key.ts";
import { clip } from "../../text.ts";
import { nameStep, planSchema, planStepSchema, type StepDocument } from "./plan.ts";

/** One thing that is wrong with a plan, as a sentence that says what to do about it. */
export interface PlanProblem {
  readonly kind:
    | "schema"
    | "empty"
    | "too_many_steps"
    | "duplicate_id"
    | "unknown_dependency"
    | "ambiguous_dependency"
    | "self_dependency"
    | "cycle"
    | "unknown_profile"
    | "unusable_profile";
  /** The place of the problem in the document. */
  readonly path: readonly (string | number)[];
  /** The place of the step, from 0; absent: it is about the plan as a whole. */
  readonly step?: number;
  readonly field?: string;
  readonly message: string;
}

export function stepProblem(
  kind: PlanProblem["kind"],
  step: number,
  field: string,
  message: string,
): PlanProblem {
  return { kind, path: ["steps", step, field], step, field, message };
}

/** What the schema found, in sentences that name the step and the field. */
export function schemaProblems(error: z.ZodError, document: unknown): PlanProblem[] {
  return error.issues.flatMap((issue) => {
    const path = issue.path.map((part) => (typeof part === "symbol" ? String(part) : part));
    const step = path[0] === "steps" && typeof path[1] === "number" ? path[1] : undefined;
    const [field] = step === undefined ? path : path.slice(2);
    const where = {
      path,
      ...(step !== undefined && { step }),
      ...(typeof field === "string" && { field }),
    };
    const owner = step === undefined ? "The plan" : capital(nameStep(step, idIn(document, step)));
    return sentences(issue, path.slice(step === undefined ? 0 : 2)).map((text) => {
      return { kind: "schema" as const, ...where, message: `${owner}: ${text}` };
    });
  });
}

function sentences(issue: z.core.$ZodIssue, path: readonly (string | number)[]): string[] {
  const field = path.map((part) => (typeof part === "number" ? `[${part}]` : part)).join(".");
  const place = field.replaceAll(".[", "[");
  if (issue.code === "unrecognized_keys") {
    const known = Object.keys((path.length === 0 && issue.path.length > 0 ? step : plan).shape);
    return issue.keys.slice(0, 20).map((key) => unknownKey(key, path.length > 0 ? [] : known));
  }
  if (issue.code === "invalid_union") return [`${place} is true, false, or { profile: NAME }.`];
  if (issue.code === "invalid_type" && issue.message.endsWith("received undefined")) {
    return [`${place} is missing.`];
  }
  const text = issue.message.replace(/^(?:Invalid (?:input|option)|Too (?:big|small)): /, "");
  return [place === "" ? `${text}.` : `${place}: ${text}.`];
}

const plan = planSchema;
const step = planStepSchema;

function unknownKey(key: string, known: readonly string[]): string {
  const nearest = nearestKey(key, known);
  if (nearest !== undefined) return `there is no key ${quoted(key)}; did you mean "${nearest}"?`;
  const list = known.length === 0 ? "" : `; known are ${known.join(", ")}`;
  return `there is no key ${quoted(key)}${list}.`;
}

/** The id of a step, only for the sentence: problems of the id are reported separately. */
function idIn(document: unknown, place: number): string | undefined {
  const steps = (document as { steps?: unknown } | null)?.steps;
  const id = Array.isArray(steps) ? (steps[place] as { id?: unknown } | null)?.id : undefined;
  return typeof id === "string" && id.length <= 64 ? id : undefined;
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A name as a message quotes it. */
export function quoted(name: string): string {
  return `"${clip(name, 80)}"`;
}

export function listed(names: readonly string[]): string {
  const shown = names.slice(0, 20).join(", ");
  return names.length > 20 ? `${shown}, …` : shown;
}

const mostShown = 20;

/** All of them, one a line; of very many the first. */
export function describeProblems(problems: readonly PlanProblem[]): string {
  const shown = problems.slice(0, mostShown).map(({ message }) => message);
  const left = problems.length - shown.length;
  return [...shown, ...(left > 0 ? [`… and ${left} more problems.`] : [])].join("\n");
}

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
