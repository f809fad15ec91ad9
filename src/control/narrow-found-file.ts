import { intersect, type Selection } from "../contracts/selection.ts";
import type { TokenRates } from "../contracts/token-price.ts";
import { defaultConfig, type PriceConfig } from "./config.ts";
import { type ConfigLayer, layerProblem, placeOf } from "./config-layer.ts";
import type { ConfigFile } from "./config-schema.ts";
import { createModelAllowlist } from "./settle-models.ts";
import { findModelEntry, findShippedModel, shippedPools } from "./shipped-models.ts";

/**
 * Narrows a found file, which another person wrote, even if it is trusted. It must not choose where
 * tasks, files and keys are sent, nor answer questions for a person. Limits of the user's own file
 * are its maximum. It can lower what a run may do, cost and take, and never raise it, also where
 * the user set nothing.
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
  refuse(found, network?.waysOut, ["network", "waysOut"], "allow egress without asking");
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
  refuse(found, found.settings.sandbox, ["sandbox"], "say what programs in the sandbox may use");
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
  // Checks are harmless in a sandbox, which is the reason why they are allowed.
  const isUnsandboxed = user?.settings.tools?.shell?.unsandboxed === true;
  refuse(
    found,
    isUnsandboxed && found.settings.integration?.checks?.length ? true : undefined,
    ["integration", "checks"],
    "name commands where your own sets `tools.shell.unsandboxed`, which lets them run without a sandbox",
  );
  const { notTaken, tree } = narrowed(found.settings, user?.settings ?? {});
  return {
    ...found,
    isFound: true,
    settings: tree as ConfigFile,
    notTaken: notTaken.map((path) => describeRest(found, path, settingAt(tree, path))),
  };
}

function describeRest(found: ConfigLayer, path: SettingPath, taken: unknown): string {
  const what = taken === undefined ? "does not count" : `counts as ${JSON.stringify(taken)}`;
  return (
    `${placeOf(found, path)}: ${path.join(".")} ${what}: a project's file can lower what holds ` +
    "for you, and not raise it. Set it in your own configuration (~/.config/mandate/config.yaml)."
  );
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

function narrowed(said: ConfigFile, own: ConfigFile): FoundSettings {
  const found = new FoundSettings(said);
  const user = own as SettingsTree;
  const lower = (path: SettingPath, least: (found: unknown, user: unknown) => unknown): void =>
    found.lower(path, settingAt(user, path), least);
  lowerAmounts(found, user);
  // Where the user set nothing, the default is the maximum.
  const usual = defaultConfig as unknown as SettingsTree;
  const within = (path: SettingPath, least: (found: unknown, user: unknown) => unknown): void =>
    found.lower(path, settingAt(user, path) ?? settingAt(usual, path) ?? false, least);
  for (const path of switches) within(path, (one, most) => one === true && most === true);
  within(["tools", "spawn", "explicit_tools"], (one, most) => (most === "select" ? most : one));
  // The agent for unknown profiles has its own rights, so a project may not switch it on.
  within([...delegation, "onUnknown"], (one, most) => (most === "error" ? most : one));
  lower([...delegation, "defaultAgent"], (_, most) => most);
  // Memories of children and what callers see of them can only be restricted.
  within([...delegation, "context", "brainWriteScope"], (one, most) =>
    writeScopes.indexOf(one) < writeScopes.indexOf(most) ? one : most,
  );
  within([...delegation, "context", "sealOnComplete"], either);
  lower(["outputs", "report_path_pattern"], (_, most) => most);
  lower(["network", "allow"], (one, most) => intersect(one as Selection, most as Selection));
  lower(["models", "allow"], (one, most) =>
    (one as string[]).filter(createModelAllowlist(most as string[])),
  );
  keepModels(found, own);
  // Checks before a merge can be added, and never be removed.
  const checks = [...(own.integration?.checks ?? []), ...(said.integration?.checks ?? [])];
  if (said.integration?.checks) found.replace(["integration", "checks"], [...new Set(checks)]);
  lower(["integration", "approval"], either);
  keepPrices(found, pricesOf(said), pricesOf(own));
  return found;
}

function either(one: unknown, other: unknown): boolean {
  return one === true || other === true;
}

/** Keeps the user's choice of a model, and the pools of the user and the product. */
function keepModels(found: FoundSettings, { models = {} }: ConfigFile): void {
  const { default: model, defaultPool, pools = {} } = models;
  const chosen = model ?? defaultPool;
  found.lower(["models", "default"], chosen, () => undefined);
  found.lower(["models", "defaultPool"], chosen, () => undefined);
  const kept = new Set([
    ...Object.keys(pools),
    // Shipped profiles use these pools, and a project must not choose their models.
    ...Object.keys(shippedPools),
    ...(defaultPool === undefined ? [] : [defaultPool]),
  ]);
  found.lower(["models", "pools"], kept, (one) =>
    Object.fromEntries(Object.entries(one as object).filter(([name]) => !kept.has(name))),
  );
}

/**
 * Caps on cost depend on prices, so a found file can only raise a known price. It cannot add an
 * unknown price, which would let a model run under a cap that refuses it.
 */
function keepPrices(found: FoundSettings, said: Prices, user: Prices): void {
  for (const [name, own] of Object.entries(said)) {
    const known = findModelEntry(user, name) ?? findShippedModel(name)?.price;
    if (known !== undefined) found.replace(["models", "prices", name], dearerPrice(own, known));
    else found.lower(["models", "prices", name], null, () => undefined);
  }
}

type Prices = Record<string, PriceConfig>;

function pricesOf({ models }: ConfigFile): Prices {
  return (models?.prices ?? {}) as Prices;
}

const delegation = ["agents", "delegation"];

/** Write scopes of memories, from the narrowest to the widest. */
const writeScopes: readonly unknown[] = ["none", "delegated", "shared"];

const switches = [
  [...delegation, "enabled"],
  ["tools", "spawn", "enabled"],
  ["tools", "shell", "enabled"],
];

/** The higher of two prices for every use. */
export function dearerPrice(left: PriceConfig, right: PriceConfig): PriceConfig {
  const long = [left.longPrompt, right.longPrompt].filter((each) => each !== undefined);
  if (long.length === 0) return highest([left, right]);
  const over = Math.min(...long.map((each) => each.over));
  return {
    ...highest([left, right]),
    longPrompt: { over, ...highest([left, right, ...long]) },
  };
}

function highest(rates: readonly TokenRates[]): TokenRates {
  return {
    input: Math.max(...rates.map(({ input }) => input)),
    output: Math.max(...rates.map(({ output }) => output)),
    cachedInput: Math.max(...rates.map(({ input, cachedInput }) => cachedInput ?? input)),
    cacheWrite: Math.max(...rates.map(({ input, cacheWrite }) => cacheWrite ?? input)),
  };
}

/** Limits on cost and time; the default is the maximum where the user set nothing. */
const bounds: readonly SettingPath[] = [
  [...delegation, "maxDepth"],
  [...delegation, "tokenBudget", "max"],
  ...within("limits", ["runTokens", "maxChildren", "joinTokens"]),
  ...within("deadlines", ["firstTokenMs", "stallMs", "toolMs", "idleMs"]),
  ...within("retry", ["maxAttempts", "initialDelayMs", "maxDelayMs"]),
];

/** Amounts within those limits; the user's value is the maximum, if set. */
const amounts: readonly SettingPath[] = [
  [...delegation, "defaultTimeout"],
  [...delegation, "maxConcurrent"],
  ...within("execution", ["attemptTimeoutMs", "maxRetries"]),
  ["ask", "deadlineMs"],
];

function lowerAmounts(found: FoundSettings, user: SettingsTree): void {
  const usual = defaultConfig as unknown as SettingsTree;
  const mostOf = (path: SettingPath) => settingAt(user, path) ?? settingAt(usual, path);
  for (const path of bounds) found.lower(path, mostOf(path));
  for (const path of amounts) found.lower(path, settingAt(user, path));
  // The default budget must not exceed the lowered maximum.
  const budget = [...delegation, "tokenBudget"];
  const own = settingAt(user, [...budget, "default"]);
  found.lower([...budget, "default"], own ?? mostOf([...budget, "max"]));
}

function within(group: string, names: readonly string[]): readonly SettingPath[] {
  return names.map((name) => [group, name]);
}

/** The settings of a file, by key. */
type SettingsTree = Record<string, unknown>;

type SettingPath = readonly string[];

function settingAt(tree: SettingsTree, path: SettingPath): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, key)
        ? (value as SettingsTree)[key]
        : undefined,
    tree,
  );
}

/** The settings of a found file while they are narrowed, and which of them changed. */
class FoundSettings {
  readonly tree: SettingsTree;
  readonly #notTaken: SettingPath[] = [];

  constructor(settings: object) {
    this.tree = structuredClone(settings) as SettingsTree;
  }

  get notTaken(): readonly SettingPath[] {
    return this.#notTaken;
  }

  /** Replaces a setting by the stricter of two values. */
  lower(
    path: SettingPath,
    most: unknown,
    least: (found: unknown, most: unknown) => unknown = smaller,
  ): void {
    const own = settingAt(this.tree, path);
    if (own === undefined || most === undefined) return;
    const taken = least(own, most);
    if (JSON.stringify(taken) === JSON.stringify(own)) return;
    this.replace(path, taken);
    this.#notTaken.push(path);
  }

  /** Undefined removes the setting. */
  replace(path: SettingPath, value: unknown): void {
    const holder = settingAt(this.tree, path.slice(0, -1)) as SettingsTree;
    const key = path.at(-1) ?? "";
    if (value === undefined) delete holder[key];
    else holder[key] = value;
  }
}

function smaller(found: unknown, most: unknown): number {
  return Math.min(Number(found), Number(most));
}
