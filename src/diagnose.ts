/** What this machine has of what Mandate can use: for `mandate doctor`, and for remote callers. */
import type { Config } from "./control/config.ts";
import {
  type LoadedConfig,
  loadConfig,
  type SettledConfig,
  settleConfig,
} from "./control/load-config.ts";
import { type Environment, type ExposedPath, exposedPaths, findPlaces } from "./control/places.ts";
import { readStops } from "./control/records/stop-records.ts";
import { settleByRecords } from "./control/records/trust-records.ts";
import {
  detectLocalEndpoints,
  isAnswering,
  type LocalEndpoint,
} from "./models/detect-local-endpoints.ts";
import { createModelRegistry } from "./models/model-registry.ts";
import { type Ping, pingModel } from "./models/ping-model.ts";
import { builtInProviders } from "./models/provider-catalog.ts";
import { keyIn, resolveProvider } from "./models/resolve-provider.ts";
import { openQueues } from "./open-queues.ts";
import { describeStore, openStore } from "./open-store.ts";
import { MandateError } from "./ports/mandate-error.ts";
import type { ServerDescription } from "./stores/postgres/describe-server.ts";
import { GitFailure } from "./workspaces/git/git-failure.ts";
import { requireGit } from "./workspaces/git/run-git.ts";
import { noteStartFolder } from "./workspaces/processes/agent-folders.ts";
import { findProgram, findSystemProgram } from "./workspaces/processes/find-program.ts";
import { findDelegatedGroup } from "./workspaces/sandbox/control-group.ts";
import { detectSandbox } from "./workspaces/sandbox/detect-sandbox.ts";
import { defaultLimits } from "./workspaces/sandbox/resource-limits.ts";

export interface Diagnosis {
  readonly node: { readonly version: string; readonly isSupported: boolean };
  readonly home: string;
  /** What of it other users of this machine can reach. */
  readonly exposed: readonly ExposedPath[];
  readonly database: Finding & {
    readonly path: string;
    readonly synchronous: string;
    readonly schema: number;
    readonly runs: number;
  };
  /** The Postgres server; null: the database is embedded, or the server cannot be asked. */
  readonly server: ServerDescription | null;
  /** The queues of distributed runs; null: each process works on its own. */
  readonly engine: EngineFinding | null;
  readonly configuration: Finding & {
    readonly files: readonly string[];
    /** What a project's file says and may not. */
    readonly notTaken: readonly string[];
    /** Files of the project that have no effect: they are not trusted as they are now. */
    readonly waiting: readonly string[];
  };
  readonly models: ModelsFinding;
  /** What the default model answered just now; null: it was not asked. */
  readonly ping: Ping | null;
  readonly programs: Readonly<Record<string, string | null>>;
  /** What can be enforced here beyond file tools, which need nothing of the machine. */
  readonly enforcement: Readonly<Record<"files" | "shell" | "copies", string>>;
}

interface EngineFinding extends Finding {
  /** The number of workers that are alive. */
  readonly workers: number;
  /** The versions of the living workers. */
  readonly versions: readonly string[];
  /** Delegations that wait for a worker. */
  readonly waiting: number;
  /** Queues in which work waits and no worker has any: perhaps none takes work from them. */
  readonly idle: readonly { readonly queue: string; readonly waiting: number }[];
  /** Queues and workers that an operator has stopped. */
  readonly stopped: readonly string[];
}

interface Finding {
  readonly isUsable: boolean;
  readonly problem?: string;
}

interface ModelsFinding {
  /** Null: no model is configured. */
  readonly default: string | null;
  /** Why the default cannot answer, and what to do; null: nothing that shows without asking it. */
  readonly problem: string | null;
  /** Without a price its cost counts as nothing, and no cap on cost is ever reached. */
  readonly hasPrice: boolean;
  /** The day of the shipped prices. */
  readonly pricesAsOf: string;
  readonly providers: readonly ProviderFinding[];
  /** The local model servers that answered just now. */
  readonly local: readonly LocalEndpoint[];
  readonly pools: readonly PoolFinding[];
}

interface PoolFinding {
  readonly pool: string;
  readonly models: readonly string[];
  /** The first model of the pool that can be used; null: none. */
  readonly first: string | null;
}

interface ProviderFinding {
  readonly provider: string;
  readonly isUsable: boolean;
  /** What to set when it is not; never a value. */
  readonly set?: string;
}

/** The names of the variables that a server reads: those that hold keys, and the others. */
export interface ServerVariables {
  readonly keys: readonly string[];
  readonly others: readonly string[];
}

/** For clients that pass a server only the variables that are named. A project's file names none. */
export async function serverVariables(
  environment: Environment,
  cwd: string,
): Promise<ServerVariables> {
  const loaded = await attempt(() => loadConfig({ cwd, environment }));
  const builtIn = Object.values(builtInProviders);
  const own = Object.values(loaded.value?.own.models.providers ?? {});
  const keys = [
    ...builtIn.flatMap(({ keyVariable, otherKeyVariables = [] }) => [
      ...(keyVariable === undefined ? [] : [keyVariable]),
      ...otherKeyVariables,
    ]),
    ...own.flatMap(({ apiKeyEnv }) => (apiKeyEnv === undefined ? [] : [apiKeyEnv])),
    "MANDATE_DATABASE_URL",
  ];
  const others = [
    ...builtIn.map(({ baseUrlVariable }) => baseUrlVariable),
    ...["OLLAMA_MODEL", "MANDATE_MODEL", "MANDATE_PLAYBOOK", "MANDATE_HOME", "MANDATE_CONFIG"],
    ...["MANDATE_TENANT", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "NODE_EXTRA_CA_CERTS"],
  ];
  return { keys: [...new Set(keys)], others: [...new Set(others)] };
}

/** Never throws for what it finds, and never returns a key. `ping`: asks the default model a word. */
export async function diagnose(
  environment: Environment,
  cwd: string,
  { ping = false }: { readonly ping?: boolean } = {},
): Promise<Diagnosis> {
  const places = findPlaces(environment);
  noteStartFolder(cwd);
  const own = await attempt(() => loadConfig({ cwd, environment }));
  const settled = await attempt(async () => own.value && settleHere(own.value, environment));
  const config = settled.value?.config ?? own.value?.own;
  // First: the database knows in which folders agents have worked, and no program there is tried.
  // Before the database is opened, which migrates it.
  const server = await lookAtServer(environment, config);
  const database = await lookAtDatabase(environment, config);
  const engine = await lookAtEngine(environment, config, database.isUsable);
  const { enforcement, models, node, programs } = await diagnoseMachine(environment, config);
  return {
    node,
    home: places.home,
    exposed: exposedPaths(places),
    database,
    server,
    engine,
    configuration: {
      ...finding(own.problem ?? settled.problem),
      files: config?.files ?? [],
      notTaken: config?.notTaken ?? [],
      waiting: settled.value?.waiting.map(({ file }) => file) ?? [],
    },
    models,
    ping: ping ? await pingDefault(models, environment, config) : null,
    programs,
    enforcement,
  };
}

/** Null: there is no language model to ask. */
async function pingDefault(
  { default: name }: ModelsFinding,
  environment: Environment,
  config: Config | undefined,
): Promise<Ping | null> {
  if (name === null || name.startsWith("scripted/")) return null;
  const models = createModelRegistry({ environment, ...(config && { config: config.models }) });
  return pingModel(models, name);
}

/** The store knows what is trusted. A store that cannot be opened is reported as the database's own problem. */
async function settleHere(loaded: LoadedConfig, environment: Environment): Promise<SettledConfig> {
  if (loaded.found.length === 0) return { config: loaded.own, waiting: [] };
  const opened = await attempt(() => openStore({ ...loaded.own.database, environment }));
  if (opened.value === undefined) return settleConfig(loaded, () => false);
  try {
    return await settleByRecords(loaded, opened.value);
  } finally {
    await opened.value.close();
  }
}

/** The part that concerns no database: what is there, what can be enforced, who would answer. */
export async function diagnoseMachine(
  environment: Environment,
  config: Config | undefined,
): Promise<Pick<Diagnosis, "node" | "models" | "programs" | "enforcement">> {
  return {
    node: { version: process.version, isSupported: isSupported(process.versions.node) },
    models: await lookAtModels(environment, config),
    programs: {
      git: placeOf("git", environment),
      ripgrep: placeOf("rg", environment),
      bubblewrap: placeOf("bwrap", environment),
    },
    enforcement: {
      files: "always: every path is checked at the call, links included",
      shell: aboutShell(environment, config),
      copies: await aboutCopies(),
    },
  };
}

async function aboutCopies(): Promise<string> {
  try {
    await requireGit();
    return "children that write work in a copy of their own; it is merged in order, or kept";
  } catch (error) {
    if (!(error instanceof GitFailure)) throw error;
    return `children that write are refused: ${error.message}`;
  }
}

function aboutShell(environment: Environment, config: Config | undefined): string {
  const finding = detectSandbox(environment);
  const { enabled = true, network = false, unsandboxed = false } = config?.tools.shell ?? {};
  if (!enabled) return "switched off (tools.shell.enabled)";
  if (finding.isUsable) {
    const reach = network ? "the hosts that a contract grants" : "no network";
    return `in a sandbox (${finding.sandbox.name}): writes below the write roots only, ${reach}; ${aboutLimits(config)}`;
  }
  return unsandboxed
    ? `WITHOUT a sandbox, as configured; read-only agents have none. ${finding.problem}`
    : `not offered: ${finding.problem}`;
}

function aboutLimits(config: Config | undefined): string {
  const { memoryMb = defaultLimits.memoryMb, processes = defaultLimits.processes } =
    config?.sandbox ?? {};
  const by = findDelegatedGroup() === undefined ? "a watcher" : "a control group (cgroup v2)";
  return `at most ${memoryMb} MB and ${processes} processes, held by ${by}`;
}

async function lookAtDatabase(
  environment: Environment,
  config: Config | undefined,
): Promise<Diagnosis["database"]> {
  const synchronous = config?.database.synchronous ?? "full";
  const options = { ...config?.database, environment, synchronous };
  const described = await attempt(() => describeStore(options));
  const opened = await attempt(async () => {
    const store = await openStore(options);
    try {
      return (await store.listRuns({ limit: 1_000_000 })).length;
    } finally {
      await store.close();
    }
  });
  return {
    ...finding(opened.problem),
    path: described.value?.path ?? "",
    synchronous,
    schema: described.value?.schema ?? 0,
    runs: opened.value ?? 0,
  };
}

async function lookAtServer(
  environment: Environment,
  config: Config | undefined,
): Promise<ServerDescription | null> {
  const { tenant, url } = config?.database ?? {};
  if (url === undefined) return null;
  const described = await attempt(async () => {
    const { describeServer } = await import("./stores/postgres/describe-server.ts");
    const named = tenant ?? (environment["MANDATE_TENANT"] || undefined);
    return describeServer({ url, ...(named !== undefined && { tenant: named }) });
  });
  return described.value ?? null;
}

async function lookAtEngine(
  environment: Environment,
  config: Config | undefined,
  isReachable: boolean,
): Promise<EngineFinding | null> {
  if (config === undefined || config.engine.kind === "local") return null;
  const none = { workers: 0, versions: [], waiting: 0, idle: [], stopped: [] };
  const looked = await attempt(async () => {
    const { loadDbos } = await import("./stores/dbos/load-dbos.ts");
    await loadDbos();
    if (config.database.url !== undefined && !isReachable) return none;
    const queues = await openQueues(config);
    try {
      const store = await openStore({ ...config.database, environment });
      try {
        const rows = (await store.workers?.()) ?? [];
        const alive = rows.filter(({ executor, isAlive }) => isAlive && executor !== null);
        const overview = await queues?.overview();
        return {
          workers: alive.length,
          versions: [...new Set(alive.map(({ version }) => version ?? "unknown"))],
          idle: (overview?.queues ?? []).flatMap(({ name, suspended, waiting, working }) =>
            waiting > 0 && working + suspended === 0 ? [{ queue: name, waiting }] : [],
          ),
          waiting: overview?.queues.reduce((sum, { waiting }) => sum + waiting, 0) ?? 0,
          stopped: (await readStops(store)).map(({ scope }) => scope),
        };
      } finally {
        await store.close();
      }
    } finally {
      await queues?.close();
    }
  });
  return { ...finding(looked.problem), ...(looked.value ?? none) };
}

async function lookAtModels(
  environment: Environment,
  config: Config | undefined,
): Promise<ModelsFinding> {
  const models = createModelRegistry({ environment, ...(config && { config: config.models }) });
  const local = await detectLocalEndpoints(environment);
  const name = models.defaultModel;
  const resolved = await attempt(async () =>
    name === null ? models.candidates({}) : models.resolve(name),
  );
  return {
    default: name,
    problem:
      resolved.problem ??
      (name === null ? null : await localObstacle(name, local, environment, config)),
    hasPrice: name !== null && models.price(name) !== undefined,
    pricesAsOf: models.pricesAsOf,
    providers: lookAtProviders(environment, config),
    local,
    pools: await Promise.all(
      Object.entries(models.pools).map(async ([pool, names]) => {
        const { value } = await attempt(async () => models.candidates({ pool }));
        return { pool, models: names, first: value?.[0] ?? null };
      }),
    ),
  };
}

/** A local server has to run, and to have the model; what it listed was asked just now. */
async function localObstacle(
  name: string,
  found: readonly LocalEndpoint[],
  environment: Environment,
  config: Config | undefined,
): Promise<string | null> {
  const provider = name.slice(0, name.indexOf("/"));
  const model = name.slice(provider.length + 1);
  const isOurs = Object.hasOwn(builtInProviders, provider) && builtInProviders[provider]?.isLocal;
  if (!isOurs || Object.hasOwn(config?.models.providers ?? {}, provider)) return null;
  const endpoint = found.find((each) => each.provider === provider);
  if (endpoint === undefined) {
    const { baseUrl } = resolveProvider(provider, environment, {});
    const where = builtInProviders[provider]?.baseUrlVariable ?? "its address";
    if (await isAnswering(baseUrl)) {
      return `What answers at ${baseUrl} lists no models, so it may not be ${provider}. Set ${where} to where ${provider} runs.`;
    }
    return `${provider} does not answer at ${baseUrl}. Start it, or set ${where} to where it runs.`;
  }
  const { models } = endpoint;
  const isThere = models.some((each) => each === model || each === `${model}:latest`);
  // A list that is as long as lists get may have been cut.
  if (isThere || models.length >= 50) return null;
  const has = models.length === 0 ? "It has none yet." : `It has ${models.slice(0, 8).join(", ")}.`;
  const pull = provider === "ollama" ? ` Fetch it with: ollama pull ${model}` : "";
  return `${provider} answers, but has no model "${model}". ${has}${pull}`;
}

function lookAtProviders(environment: Environment, config: Config | undefined): ProviderFinding[] {
  const names = new Set([
    ...Object.keys(builtInProviders),
    ...Object.keys(config?.models.providers ?? {}),
  ]);
  return [...names].map((provider) => {
    const builtIn = Object.hasOwn(builtInProviders, provider)
      ? builtInProviders[provider]
      : undefined;
    const isConfigured = Object.hasOwn(config?.models.providers ?? {}, provider);
    // A local server counts as configured only when its address was set.
    if (builtIn && !builtIn.needsKey && !isConfigured && !environment[builtIn.baseUrlVariable]) {
      return { provider, isUsable: false, set: builtIn.baseUrlVariable };
    }
    try {
      resolveProvider(provider, environment, config?.models ?? { providers: {} });
      return { provider, isUsable: true };
    } catch (error) {
      if (!(error instanceof MandateError)) throw error;
      const variable = builtIn?.keyVariable;
      // If the variable with the key is set, the problem is another one.
      const isKeyless = builtIn && variable && !keyIn(environment, builtIn);
      const keys = [variable, ...(builtIn?.otherKeyVariables ?? [])].join(" or ");
      return { provider, isUsable: false, set: isKeyless ? keys : error.message };
    }
  });
}

/** Where a helper is that would be used; without starting anything. */
function placeOf(name: string, environment: Environment): string | null {
  const find = name === "bwrap" ? findSystemProgram : findProgram;
  const finding = find(name, environment["PATH"]);
  return finding.isFound ? finding.program.calledAs : null;
}

function isSupported(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 18);
}

async function attempt<Value>(
  work: () => Promise<Value>,
): Promise<{ value?: Value; problem?: string }> {
  try {
    return { value: await work() };
  } catch (error) {
    if (!(error instanceof MandateError)) throw error;
    return { problem: error.message };
  }
}

function finding(problem: string | undefined): Finding {
  return problem === undefined ? { isUsable: true } : { isUsable: false, problem };
}
