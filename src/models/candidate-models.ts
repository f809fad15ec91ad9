import type { ModelPolicy } from "../agents/profiles/profile.ts";
import { unknownPool } from "../control/settle-models.ts";
import { MandateError } from "../ports/mandate-error.ts";

/** What choosing among models needs to know; a registry gives it. */
export interface ModelChoices {
  readonly pools: Readonly<Record<string, readonly string[]>>;
  /** The models of a policy that names nothing; empty when no model is configured. */
  readonly defaults: readonly string[];
  isAllowed(name: string): boolean;
  /** Undefined when the model can be asked; otherwise what is missing. */
  obstacleTo(name: string): MandateError | undefined;
  /** The variable whose key would make a model reachable. */
  keyVariableFor(name: string): string | undefined;
}

/**
 * The models that a policy may run on, in the order in which they are tried: its model, or those of
 * its pool, or the default; then its fallbacks. What is not allowed or cannot be reached is left out,
 * and when that leaves nothing the error says what would help.
 */
export function candidateModels(policy: ModelPolicy, choices: ModelChoices): readonly string[] {
  const named = [...new Set([...chosen(policy, choices), ...(policy.fallbacks ?? [])])];
  if (named.length === 0) throw noModel();
  const allowed = named.filter((name) => choices.isAllowed(name));
  if (allowed.length === 0) throw noneAllowed(named);
  const obstacles = new Map<string, MandateError>();
  for (const name of allowed) {
    const obstacle = choices.obstacleTo(name);
    if (obstacle !== undefined) obstacles.set(name, obstacle);
  }
  const reachable = allowed.filter((name) => !obstacles.has(name));
  if (reachable.length === 0) throw noneReachable(policy, obstacles, choices);
  return reachable;
}

function chosen(policy: ModelPolicy, { pools, defaults }: ModelChoices): readonly string[] {
  if (policy.model !== undefined) return [policy.model];
  return policy.pool === undefined ? defaults : modelsOfPool(policy.pool, pools);
}

/** Throws "unknown-model" with the names that are known. */
export function modelsOfPool(name: string, pools: ModelChoices["pools"]): readonly string[] {
  const pool = Object.hasOwn(pools, name) ? pools[name] : undefined;
  if (pool === undefined) throw new MandateError("unknown-model", `${unknownPool(name, pools)}.`);
  return pool;
}

/** No model is configured at all: what to set, and where to look. */
function noModel(): MandateError {
  return new MandateError(
    "model-not-configured",
    "No language model is configured, so no work can start. Set ANTHROPIC_API_KEY, OPENAI_API_KEY, " +
      "GOOGLE_GENERATIVE_AI_API_KEY (or GEMINI_API_KEY) or OPENROUTER_API_KEY, or name a model: " +
      "MANDATE_MODEL=ollama/qwen3 for one on this machine. To see what is found here: mandate doctor. " +
      "Without a model: mandate demo, or scripted answers with --playbook FILE.",
  );
}

function noneAllowed(named: readonly string[]): MandateError {
  const message = `None of the models ${named.join(", ")} is allowed here: see models.allow.`;
  return new MandateError("refused-by-policy", message);
}

function noneReachable(
  { pool, model }: ModelPolicy,
  obstacles: ReadonlyMap<string, MandateError>,
  choices: ModelChoices,
): MandateError {
  const [first, ...others] = obstacles.values();
  // An unknown name is a mistake that no key fixes.
  const mistake = [first, ...others].find((each) => each?.code === "unknown-model");
  if (first !== undefined && others.length === 0) return first;
  if (mistake !== undefined) return mistake;
  const names = [...obstacles.keys()];
  const keys = names.map((name) => choices.keyVariableFor(name)).filter((key) => key !== undefined);
  const remedy =
    keys.length === 0
      ? "configure one of their providers"
      : `set ${[...new Set(keys)].join(" or ")}`;
  const source = model === undefined && pool !== undefined ? ` of the pool "${pool}"` : "";
  const elsewhere = source === "" ? "" : `, or list others under models.pools.${pool}`;
  return new MandateError(
    "model-not-configured",
    `None of the models${source} can be reached (${names.join(", ")}): ${remedy}${elsewhere}.`,
  );
}

/**
 * Whether the served model is the requested one. Providers may serve a dated snapshot of a name and
 * leave out the provider; any other name is another model. A name that leaves the choice to the
 * provider ("…-latest", "…/auto") matches every model.
 */
export function isSameModel(requested: string, served: string): boolean {
  const wanted = withoutProvider(requested);
  if (/(?:^|[-/:])(?:latest|auto)$/.test(wanted)) return true;
  return [served, withoutProvider(served)].some((name) => {
    if (name === requested || name === wanted) return true;
    const last = wanted.slice(wanted.lastIndexOf("/") + 1);
    return [wanted, last].some(
      (each) => name.startsWith(each) && isSnapshot(name.slice(each.length)),
    );
  });
}

function withoutProvider(name: string): string {
  return name.slice(name.indexOf("/") + 1);
}

/** `-20250929`, `-2025-08-07`, `@20250929`, `-001`, `:latest`, or nothing at all. */
function isSnapshot(rest: string): boolean {
  return /^(?:[-@]\d{4}-?\d{2}-?\d{2}|-\d{3,4}|:latest)?$/.test(rest);
}
