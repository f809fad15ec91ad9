import type { ProfileLayer } from "../agents/profiles/profile-layer.ts";
import type { Selection } from "../contracts/selection.ts";
import { isRecord } from "../ports/parse-json.ts";
import { type Config, type DelegationConfig, defaultConfig, defaultWaysOut } from "./config.ts";
import { type ConfigLayer, layerProblem } from "./config-layer.ts";
import { settleModels } from "./settle-models.ts";

/**
 * Keys whose entries are replaced whole: a project's `baseUrl` must not be combined with the key
 * that the user configured for another address.
 */
const wholeValues: ReadonlySet<string> = new Set(["providers", "prices", "pools", "servers"]);

/** Merges the layers over the defaults, the last one on top. */
export async function mergeConfig(
  layers: readonly ConfigLayer[],
  userAgents: string,
): Promise<Config> {
  let merged: Tree = defaultConfig as unknown as Tree;
  for (const layer of layers) {
    const { profiles: _inline, ...spawn } = layer.settings.tools?.spawn ?? {};
    const { profiles: _profiles, ...settings } = layer.settings;
    const shell = layer.settings.tools?.shell;
    merged = merge(merged, { ...settings, tools: { spawn, ...(shell && { shell }) } });
  }
  const config = merged as unknown as Config;
  const { delegation } = config.agents;
  const models = settleModels(config.models, layers);
  requireDefaultAgent(delegation, layers);
  const notTaken = layers.flatMap((layer) => layer.notTaken ?? []);
  return {
    ...config,
    agents: {
      delegation: {
        ...delegation,
        tokenBudget: tokenBudget(config, layers),
        profiles: profileFolder(delegation.profiles.directory, layers, userAgents),
      },
    },
    models: {
      ...models,
      // Looked up by untrusted names: inherited properties must not be found.
      providers: withoutPrototype(models.providers),
      prices: withoutPrototype(models.prices),
      pools: withoutPrototype(models.pools),
    },
    mcp: { servers: withoutPrototype(config.mcp.servers) },
    network: { ...config.network, waysOut: waysOut(config, layers) },
    profiles: await profilesIn(layers, withoutPrototype(models.pools)),
    files: layers.map(({ file }) => file).filter((file) => file !== undefined),
    ...(notTaken.length > 0 && { notTaken }),
  };
}

/** The profile parser is loaded only for a file that holds profiles. */
async function profilesIn(
  layers: readonly ConfigLayer[],
  pools: Config["models"]["pools"],
): Promise<readonly ProfileLayer[]> {
  const holding = layers.filter(
    ({ settings: { profiles, tools } }) =>
      profiles !== undefined || tools?.spawn?.profiles !== undefined,
  );
  if (holding.length === 0) return [];
  const { inlineProfiles } = await import("./read-config-file.ts");
  return holding.flatMap((layer) => inlineProfiles(layer, pools));
}

type Tree = Readonly<Record<string, unknown>>;

function merge(under: Tree, over: Tree): Tree {
  const result: Record<string, unknown> = { ...under };
  for (const [key, value] of Object.entries(over)) {
    if (value === undefined) continue;
    const below = Object.hasOwn(under, key) ? under[key] : undefined;
    if (!isRecord(value) || !isRecord(below)) result[key] = value;
    else result[key] = wholeValues.has(key) ? { ...below, ...value } : merge(below, value);
  }
  return result;
}

function withoutPrototype<Value>(record: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.assign(Object.create(null) as Record<string, Value>, record);
}

/** The egress that the operator configured. Hosts of a project's file only narrow. */
function waysOut({ network }: Config, layers: readonly ConfigLayer[]): Selection {
  const said = network.waysOut ?? defaultWaysOut;
  const own = layers.findLast(
    ({ isFound, settings }) => isFound !== true && settings.network?.allow !== undefined,
  );
  const hosts = own?.settings.network?.allow ?? "*";
  return said === "*" || hosts === "*" ? said : [...new Set([...said, ...hosts])];
}

/** The folder of profiles. One that a project's file names is the project's. */
function profileFolder(
  directory: string,
  layers: readonly ConfigLayer[],
  userAgents: string,
): DelegationConfig["profiles"] {
  const namedBy = (layer: ConfigLayer): string | undefined =>
    layer.settings.agents?.delegation?.profiles?.directory;
  const own = layers.findLast((layer) => layer.isFound !== true && namedBy(layer) !== undefined);
  const found = layers.findLast((layer) => layer.isFound === true && namedBy(layer) !== undefined);
  const userDirectory = (own && namedBy(own)) || userAgents;
  if (found === undefined) return { directory: userDirectory };
  return { directory: directory || userDirectory, isProjects: true, userDirectory };
}

/** The default budget follows the maximum, unless it was configured: then it has to fit. */
function tokenBudget(config: Config, layers: readonly ConfigLayer[]) {
  const { tokenBudget: budget } = config.agents.delegation;
  if (budget.default <= budget.max) return budget;
  const path = ["agents", "delegation", "tokenBudget", "default"];
  const layer = layers.findLast(
    ({ settings }) => settings.agents?.delegation?.tokenBudget?.default !== undefined,
  );
  if (layer === undefined) return { default: budget.max, max: budget.max };
  const text = `agents.delegation.tokenBudget.default (${budget.default}) is over max (${budget.max})`;
  throw layerProblem(layer, path, `${text}; lower it, or raise max`);
}

function requireDefaultAgent(delegation: DelegationConfig, layers: readonly ConfigLayer[]): void {
  if (delegation.onUnknown !== "fallback" || delegation.defaultAgent !== undefined) return;
  const path = ["agents", "delegation", "onUnknown"];
  const layer = layers.findLast(({ settings }) => settings.agents?.delegation?.onUnknown);
  throw layerProblem(layer, path, 'onUnknown: fallback needs "defaultAgent" beside it');
}
