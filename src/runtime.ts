/** The only wiring: puts stores, models, profiles, tools and the engine together. */
import { everything } from "./contracts/selection.ts";
import type { Config } from "./control/config.ts";
import type { ConfigFlags } from "./control/config-overrides.ts";
import { loadConfig } from "./control/load-config.ts";
import { type Environment, findPlaces } from "./control/places.ts";
import { Engine } from "./delegations/engine.ts";
import type { EngineLimits, EngineParts } from "./delegations/engine-parts.ts";
import type { RunGrant } from "./delegations/live-run.ts";
import { compose, type Middleware } from "./delegations/middleware.ts";
import { Scheduler } from "./delegations/scheduler.ts";
import { createModelRegistry } from "./models/model-registry.ts";
import { openStore, refuseOtherDatabases } from "./open-store.ts";
import { type Clock, systemClock } from "./ports/clock.ts";
import type { Model } from "./ports/model.ts";
import type { Store } from "./ports/store.ts";
import type { Profile } from "./profiles/profile.ts";
import { layerOf } from "./profiles/profile-layer.ts";
import { loadProfiles, type ProfileRegistry } from "./profiles/profile-registry.ts";
import { FolderSource, fixedSource } from "./profiles/profile-source.ts";
import { shippedProfiles } from "./profiles/shipped-profiles.ts";
import { builtInTools, optInTools } from "./tools/built-in-tools.ts";
import type { Tool } from "./tools/tool.ts";
import { Toolbox } from "./tools/toolbox.ts";

export interface RuntimeOptions {
  readonly environment?: Environment;
  /** Where mandate.yaml is looked for, upward. */
  readonly cwd?: string;
  readonly config?: Config;
  /** Win over files and environment; without effect when `config` is given. */
  readonly flags?: ConfigFlags;
  /** A file, or ":memory:" for a database that ends with the process. */
  readonly database?: string;
  readonly synchronous?: "full" | "normal";
  /** The user's own models, by `provider/model` or by provider. */
  readonly models?: Readonly<Record<string, Model>>;
  /** Answers in place of every provider. */
  readonly scripted?: Model;
  /** The same from a file; a speed of 10 divides its waits by ten. */
  readonly playbook?: { readonly file: string; readonly speed?: number };
  readonly tools?: readonly Tool[];
  readonly profiles?: readonly Profile[];
  readonly middleware?: readonly Middleware[];
  readonly application?: string;
  readonly clock?: Clock;
  readonly limits?: Partial<EngineLimits>;
  readonly maxConcurrent?: number;
  readonly principal?: RunGrant["principal"];
  readonly onDelta?: (delegationId: string, text: string) => void;
}

export interface Runtime {
  readonly store: Store;
  readonly engine: Engine;
  readonly parts: EngineParts;
  readonly profiles: ProfileRegistry;
  readonly config: Config;
  close(): Promise<void>;
}

export async function createRuntime(options: RuntimeOptions): Promise<Runtime> {
  const environment = options.environment ?? process.env;
  const cwd = options.cwd ?? process.cwd();
  const { flags = {} } = options;
  const config = options.config ?? (await loadConfig({ cwd, environment, flags }));
  refuseOtherDatabases(config.database.url);
  const places = findPlaces(environment);
  const scripted = options.scripted ?? (await loadScripted(options.playbook));
  const models = createModelRegistry({
    // As in the configuration: the flag wins over the variable.
    environment:
      flags.model === undefined ? environment : { ...environment, MANDATE_MODEL: flags.model },
    config: config.models,
    ...(options.models && { models: options.models }),
    ...(scripted && { scripted }),
  });
  const folders = [
    shippedProfiles,
    { path: config.agents.delegation.profiles.directory, origin: "user" },
    { path: `${cwd}/profiles`, origin: "workspace" },
    { path: `${cwd}/.mandate/agents`, origin: "workspace" },
  ];
  const profiles = loadProfiles({
    sources: [
      ...folders.map((folder) => new FolderSource(folder)),
      fixedSource([...config.profiles, ...(options.profiles ?? [])].map(layerOf)),
    ],
  });
  const toolbox = new Toolbox([
    ...builtInTools(config, () => profiles.names()),
    ...(options.tools ?? []),
  ]);
  const store = openStore({
    ...options,
    environment,
    synchronous: options.synchronous ?? config.database.synchronous,
  });
  const parts: EngineParts = {
    store,
    models,
    profiles,
    toolbox,
    middleware: compose(options.middleware ?? []),
    clock: options.clock ?? systemClock,
    scheduler: new Scheduler(options.maxConcurrent ?? config.agents.delegation.maxConcurrent),
    limits: {
      ...limitsOf(config, toolbox, models.isAllowed),
      ...options.limits,
    },
    application: options.application ?? "mandate",
    forbidden: [...places.forbidden, ...databaseFiles(options.database)],
    // What the next start will read and obey: a child may look at it, and not write it.
    guarded: [
      ...config.files,
      config.agents.delegation.profiles.directory,
      `${cwd}/profiles`,
      `${cwd}/.mandate`,
    ],
    ...(options.onDelta && { onDelta: options.onDelta }),
  };
  const engine = new Engine(parts, grantOf(parts, options, config.tools.spawn.enabled === true));
  return {
    store,
    engine,
    parts,
    profiles,
    config,
    async close() {
      engine.close();
      await store.close();
    },
  };
}

/** A database that lies elsewhere than in the home is as far out of reach as one in it. */
function databaseFiles(database: string | undefined): readonly string[] {
  if (database === undefined || database === ":memory:") return [];
  return ["", "-wal", "-shm", "-journal", "-reserve"].map((suffix) => `${database}${suffix}`);
}

async function loadScripted(playbook: RuntimeOptions["playbook"]): Promise<Model | undefined> {
  if (playbook === undefined) return undefined;
  const { loadPlaybook } = await import("./models/scripted/load-playbook.ts");
  const { hasten } = await import("./models/scripted/hasten.ts");
  const { scriptedModel } = await import("./models/scripted/scripted-model.ts");
  return scriptedModel(hasten(await loadPlaybook(playbook.file), playbook.speed ?? 1));
}

/** What the operator holds: everything this runtime has, within the configured limits. */
function grantOf(parts: EngineParts, options: RuntimeOptions, spawnIsOn: boolean): RunGrant {
  return {
    authority: {
      tools: parts.toolbox.names.filter((name) => spawnIsOn || !optInTools.has(name)),
      skills: everything,
      mcp_servers: everything,
      models: everything,
      scopes: everything,
      write_roots: [],
      network: [],
    },
    sessionTools: parts.toolbox.names,
    principal: options.principal ?? { id: "local", role: "operator" },
    depth: parts.limits.maxDepth,
    timeMs: parts.limits.runTimeMs,
    cost: null,
  };
}

function limitsOf(
  config: Config,
  toolbox: Toolbox,
  allowsModel: (name: string) => boolean,
): EngineLimits {
  const { delegation } = config.agents;
  return {
    maxDepth: delegation.maxDepth,
    defaultTokens: delegation.tokenBudget.default,
    maxTokens: delegation.tokenBudget.max,
    defaultTimeMs: delegation.defaultTimeout,
    allowsModel,
    spawningTools: toolbox.spawning,
    explicitTools: config.tools.spawn.explicit_tools,
    runTokens: config.limits.runTokens,
    runTimeMs: 3_600_000,
    maxChildren: config.limits.maxChildren,
    maxOutputTokens: 8192,
    maxRetries: config.execution.maxRetries,
    joinTokens: config.limits.joinTokens,
    askDeadlineMs: config.ask.deadlineMs,
    askDefault: config.ask.default ?? null,
    deadlines: config.deadlines,
    requestTries: config.retry.maxAttempts,
    backoffMs: config.retry.initialDelayMs,
    maxBackoffMs: config.retry.maxDelayMs,
    toolOutputBytes: 64 * 1024,
    reportPathPattern: ".mandate/reports/<run>/step-<idx>-result.md",
    onUnknownProfile:
      delegation.onUnknown === "fallback" ? (delegation.defaultAgent ?? null) : null,
  };
}
