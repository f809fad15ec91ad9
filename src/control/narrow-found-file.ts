import { intersect, type Selection } from "../contracts/selection.ts";
import type { PriceConfig } from "./config.ts";
import type { ConfigLayer } from "./config-layer.ts";
import { layerProblem } from "./config-layer.ts";
import type { ConfigFile } from "./config-schema.ts";
import { dearerPrice } from "./dearer-price.ts";
import { findModelEntry } from "./find-model-entry.ts";
import { createModelAllowlist } from "./model-allowlist.ts";
import { findShippedModel } from "./shipped-models.ts";

/**
 * A file that was merely found may belong to a repository that somebody else wrote. It may not say
 * where tasks, files and keys are sent, nor answer questions in a person's place; and what the user
 * set in a file of their own is the most it can have.
 */
export function narrowFoundFile(found: ConfigLayer, user: ConfigLayer | undefined): ConfigLayer {
  refuse(
    found,
    found.settings.models?.providers,
    ["models", "providers"],
    "say where models are reached",
  );
  const { network, tools } = found.settings;
  refuse(found, network?.allowPrivate, ["network", "allowPrivate"], "open your own network");
  refuse(found, network?.waysOut, ["network", "waysOut"], "say what leads out unasked");
  refuse(
    found,
    tools?.shell?.network || undefined,
    ["tools", "shell", "network"],
    "open the network",
  );
  refuse(
    found,
    tools?.shell?.unsandboxed || undefined,
    ["tools", "shell", "unsandboxed"],
    "take the sandbox away",
  );
  refuse(found, found.settings.mcp?.servers, ["mcp", "servers"], "start programs in your name");
  refuse(
    found,
    found.settings.database,
    ["database"],
    "say where and how safely your runs are kept",
  );
  refuse(found, found.settings.retention, ["retention"], "say when your runs are removed");
  refuse(found, found.settings.engine, ["engine"], "say who works on your runs");
  refuse(found, found.settings.ask?.default, ["ask", "default"], "answer questions in your place");
  // In a sandbox they can do no harm; nobody has acknowledged them for anything else.
  const isUnsandboxed = user?.settings.tools?.shell?.unsandboxed === true;
  refuse(
    found,
    isUnsandboxed && found.settings.integration?.checks?.length ? true : undefined,
    ["integration", "checks"],
    "name commands where your own sets `tools.shell.unsandboxed`, which lets them run without a sandbox",
  );
  return { ...found, isFound: true, settings: narrowed(found.settings, user?.settings ?? {}) };
}

function refuse(found: ConfigLayer, value: unknown, path: readonly string[], what: string): void {
  if (value === undefined) return;
  throw layerProblem(
    found,
    path,
    `a project's file may not ${what}. Move \`${path.join(".")}\` to your own configuration ` +
      "(~/.config/mandate/config.yaml), or set MANDATE_CONFIG to this file if you trust it.",
  );
}

function narrowed(found: ConfigFile, user: ConfigFile): ConfigFile {
  const result = structuredClone(found) as Tree;
  const limits = user as Tree;
  for (const path of amounts)
    lower(result, limits, path, (own, most) => Math.min(Number(own), Number(most)));
  for (const path of switches)
    lower(result, limits, path, (own, most) => own === true && most === true);
  lower(result, limits, ["tools", "spawn", "explicit_tools"], (own, most) =>
    most === "select" ? most : own,
  );
  // What children leave for others, and what their callers see of them, can only become less.
  lower(result, limits, [...context, "brainWriteScope"], (own, most) =>
    writeScopes.indexOf(own) < writeScopes.indexOf(most) ? own : most,
  );
  lower(
    result,
    limits,
    [...context, "sealOnComplete"],
    (own, most) => own === true || most === true,
  );
  lower(result, limits, ["network", "allow"], (own, most) =>
    intersect(own as Selection, most as Selection),
  );
  lower(result, limits, ["models", "allow"], (own, most) =>
    (own as string[]).filter(createModelAllowlist(most as string[])),
  );
  // A name that the user gave to some models stays the user's.
  lower(result, limits, ["models", "pools"], (own, most) => without(own as Tree, most as Tree));
  // What stands in the way of a merge can be added to, and never taken away.
  lower(result, limits, ["integration", "checks"], (own, most) => [
    ...new Set([...(most as string[]), ...(own as string[])]),
  ]);
  lower(result, limits, ["integration", "approval"], (own, most) => own === true || most === true);
  raisePrices(pricesOf(result as ConfigFile), pricesOf(user));
  return result as ConfigFile;
}

function without(own: Tree, most: Tree): Tree {
  return Object.fromEntries(Object.entries(own).filter(([name]) => !Object.hasOwn(most, name)));
}

/** What a token costs is what caps on cost are counted by, so a found file can only make it dearer. */
function raisePrices(found: Prices, user: Prices): void {
  for (const [name, own] of Object.entries(found)) {
    const known = findModelEntry(user, name) ?? findShippedModel(name)?.price;
    if (known !== undefined) found[name] = dearerPrice(own, known);
  }
}

type Prices = Record<string, PriceConfig>;

function pricesOf({ models }: ConfigFile): Prices {
  return (models?.prices ?? {}) as Prices;
}

type Tree = Record<string, unknown>;

const amounts = [
  ["agents", "delegation", "maxDepth"],
  ["agents", "delegation", "defaultTimeout"],
  ["agents", "delegation", "maxConcurrent"],
  ["agents", "delegation", "tokenBudget", "default"],
  ["agents", "delegation", "tokenBudget", "max"],
  ["execution", "attemptTimeoutMs"],
  ["execution", "maxRetries"],
  ["limits", "runTokens"],
  ["limits", "maxChildren"],
  ["limits", "joinTokens"],
];

const context = ["agents", "delegation", "context"];

/** From the least to the most. */
const writeScopes: readonly unknown[] = ["none", "delegated", "shared"];

const switches = [
  ["agents", "delegation", "enabled"],
  ["tools", "spawn", "enabled"],
  ["tools", "shell", "enabled"],
];

/** Where both files say something, the found one's word is replaced by what allows least. */
function lower(
  found: Tree,
  user: Tree,
  path: readonly string[],
  least: (found: unknown, user: unknown) => unknown,
): void {
  const [own, most] = [at(found, path), at(user, path)];
  if (own === undefined || most === undefined) return;
  const holder = at(found, path.slice(0, -1)) as Tree;
  holder[path.at(-1) ?? ""] = least(own, most);
}

function at(tree: Tree, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, key)
        ? (value as Tree)[key]
        : undefined,
    tree,
  );
}
