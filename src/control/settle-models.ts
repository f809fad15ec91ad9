import { nearestKey } from "../agents/documents/nearest-key.ts";
import type { ModelsConfig } from "./config.ts";
import { type ConfigLayer, layerProblem } from "./config-layer.ts";

/**
 * Validates and merges the models of all layers. `default` and `defaultPool` exclude each other, so
 * the last layer with either decides.
 */
export function settleModels(models: ModelsConfig, layers: readonly ConfigLayer[]): ModelsConfig {
  checkPools(layers);
  const chooser = layers.findLast(
    ({ settings }) => settings.models?.default !== undefined || settings.models?.defaultPool,
  );
  if (chooser?.settings.models?.defaultPool === undefined) {
    const { defaultPool: _, ...rest } = models;
    return rest;
  }
  const path = ["models", "defaultPool"];
  if (chooser.settings.models.default !== undefined) {
    const text = "models.defaultPool and models.default exclude each other; keep one of them";
    throw layerProblem(chooser, path, text);
  }
  const { default: _, ...rest } = models;
  const { defaultPool } = chooser.settings.models;
  if (!Object.hasOwn(models.pools, defaultPool)) {
    throw layerProblem(chooser, path, unknownPool(defaultPool, models.pools));
  }
  return { ...rest, defaultPool };
}

/**
 * A pool with a model that its own or an earlier file does not allow is an error. A model that a
 * later file forbids is skipped when the pool is used.
 */
function checkPools(layers: readonly ConfigLayer[]): void {
  let allow: readonly string[] | undefined;
  for (const layer of layers) {
    const { models } = layer.settings;
    allow = models?.allow ?? allow;
    const isAllowed = createModelAllowlist(allow);
    for (const [name, pool] of Object.entries(models?.pools ?? {})) {
      const refused = pool.filter((model) => !isAllowed(model));
      if (refused.length === 0) continue;
      throw layerProblem(
        layer,
        ["models", "pools", name],
        `the pool "${name}" has ${refused.join(", ")}, which models.allow does not list`,
      );
    }
  }
}

export function unknownPool(name: string, pools: Readonly<Record<string, unknown>>): string {
  const known = Object.keys(pools);
  const nearest = nearestKey(name, known);
  const hint = nearest === undefined ? "" : ` did you mean "${nearest}"?`;
  const all = known.length === 0 ? "define it under models.pools" : `known are ${known.join(", ")}`;
  return `unknown pool "${name}";${hint} ${all}`;
}

/**
 * Whether a list such as `models.allow` allows a model: by its name, or by a pattern that ends in
 * `*`. A pattern is allowed when all its models are. Without a list all are allowed.
 * @example createModelAllowlist(["openai/*"])("openai/gpt-5") // true
 */
export function createModelAllowlist(
  allow: readonly string[] | undefined,
): (name: string) => boolean {
  if (allow === undefined) return () => true;
  const exact = new Set(allow);
  const prefixes = allow.filter((each) => each.endsWith("*")).map((each) => each.slice(0, -1));
  return (name) => {
    const fixed = name.endsWith("*") ? name.slice(0, -1) : name;
    return exact.has(name) || prefixes.some((prefix) => fixed.startsWith(prefix));
  };
}
