import { nearestKey } from "../agents/documents/nearest-key.ts";
import type { ModelsConfig } from "./config.ts";
import { type ConfigLayer, layerProblem } from "./config-layer.ts";

/**
 * What the layers together say about models, checked. `default` and `defaultPool` answer the same
 * question, so the last layer that says either has the word.
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
    const text = "models.defaultPool answers the same as models.default; keep one of them";
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
 * A pool that names a model which its own file, or one before it, does not allow is a mistake. What
 * a later file takes away is no mistake of this one: it is left out when the pool is used.
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
 * Whether a list such as `models.allow` lets a model through: by its whole name, or by a pattern that
 * ends in `*`. A pattern is let through when everything it stands for would be. No list: no limit.
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
