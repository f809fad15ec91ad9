/** The only wiring: puts stores, models, profiles, tools and the engine together. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Profile } from "./agents/profiles/profile.ts";
import { layerOf } from "./agents/profiles/profile-layer.ts";
import type { ProfileRegistry } from "./agents/profiles/profile-registry.ts";
import { createAgentPrograms } from "./application/programs/agent-programs.ts";
import { startTelemetry, type Telemetry } from "./application/telemetry/start-telemetry.ts";
import { Attendance } from "./attendance.ts";
import { configuredLimits, operatorGrant } from "./configured-limits.ts";
import type { Contract } from "./contracts/contract.ts";
import type { RunGrant } from "./contracts/run-grant.ts";
import type { Config } from "./control/config.ts";
import type { ConfigFlags } from "./control/config-overrides.ts";
import { FolderConsents } from "./control/folders/folder-consents.ts";
import {
  givenConfig,
  type LoadedConfig,
  loadConfig,
  type SettledConfig,
} from "./control/load-config.ts";
import { type Environment, findPlaces } from "./control/places.ts";
import { settleByRecords } from "./control/records/trust-records.ts";
import { reportPatternProblem } from "./control/report-pattern-problem.ts";
import { UnwrittenEnds } from "./delegations/ends/unwritten-ends.ts";
import { Engine, tellAgent } from "./delegations/engine.ts";
import type { AgentSource, EngineLimits, EngineParts } from "./delegations/engine-parts.ts";
import { compose, type Middleware } from "./delegations/middleware.ts";
import { Scheduler } from "./delegations/scheduler.ts";
import { AdmissionGate } from "./delegations/turns/admission-gate.ts";
import { createModelRegistry, type ModelRegistry } from "./models/model-registry.ts";
import { type Control, maxOutputTokens, openControl } from "./open-control.ts";
import { openQueues } from "./open-queues.ts";
import {
  databaseFiles,
  deltasOf,
  openStore,
  placeForWork,
  type StoreOptions,
} from "./open-store.ts";
import { type Clock, systemClock } from "./ports/clock.ts";
import type { Log } from "./ports/log.ts";
import { MandateError } from "./ports/mandate-error.ts";
import type { Model } from "./ports/model.ts";
import type { Store } from "./ports/store.ts";
import type { Dispatcher } from "./ports/workers.ts";
import { productVersion } from "./product-version.ts";
import type { DbosDispatcher } from "./stores/dbos/dbos-dispatcher.ts";
import { builtInTools } from "./tools/built-in-tools.ts";
import { McpServers } from "./tools/mcp/mcp-servers.ts";
import { createShellTool, type Shell } from "./tools/shell/shell-tool.ts";
import { requireTool, type Tool } from "./tools/tool.ts";
import { Toolbox } from "./tools/toolbox.ts";
import { WorkflowSource } from "./tools/workflow/workflow-source.ts";
import type { Watchdog } from "./watchdog.ts";
import {
  type DelegationMark,
  delegationMark,
  endMarkedProcesses,
} from "./workspaces/delegation-mark.ts";
import type { WorkingCopies } from "./workspaces/git/copies/working-copies.ts";
import {
  installationPaths,
  noteAgentFolder,
  noteStartFolder,
} from "./workspaces/processes/agent-folders.ts";
import { detectSandbox, mayHaveSandbox } from "./workspaces/sandbox/detect-sandbox.ts";
import { GuardRecords, sweepAfterKilled } from "./workspaces/sandbox/guard-records.ts";
import { limitsFrom } from "./workspaces/sandbox/resource-limits.ts";

export interface RuntimeOptions {
  /**
   * Who consents to work in a folder. `named`: the program itself, by naming the folder in its call.
   * `given`: a person, for each folder, before the first run in it.
   */
  readonly consent: "named" | "given";
  /** With `named`: also to the home folder, `/` and folders that hold Mandate's own data. */
  readonly force?: boolean;
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
  /** The scripted model's answers from a file; a speed of 10 divides its waits by ten. */
  readonly playbook?: { readonly file: string; readonly speed?: number };
  readonly tools?: readonly Tool[];
  /** Gives the tool that takes the place of each, under the same name. */
  readonly aroundTool?: (tool: Tool) => Tool;
  readonly profiles?: readonly Profile[];
  /** What is in the workspace counts without anybody having looked at it. */
  readonly trustWorkspace?: boolean;
  readonly middleware?: readonly Middleware[];
  readonly application?: string;
  readonly clock?: Clock;
  readonly limits?: Partial<EngineLimits>;
  readonly maxConcurrent?: number;
  /** Shared with another runtime of this process, with its limit; absent: one of its own. */
  readonly scheduler?: Scheduler;
  readonly principal?: RunGrant["principal"];
  readonly onDelta?: (delegationId: string, text: string) => void;
  /** The dispatcher of what is started here; absent: this process does the work. */
  readonly dispatcher?: Dispatcher;
  /**
   * Ends the process when its event loop is blocked beyond the deadline of a delegation. For a
   * process that is Mandate's own; absent: no process is ended.
   */
  readonly watchdog?: boolean;
  /** How long to wait at the start for a Postgres that does not answer; absent: not at all. */
  readonly waitForDatabaseMs?: number | undefined;
  /** Gets what an operator of a server or a worker wants to know. */
  readonly log?: Log | undefined;
  /** Where spans go; absent: as a registered provider or the environment say. */
  readonly telemetry?: Telemetry;
}

/** What surfaces and application services share with the engine; its other parts are its own. */
type SharedParts = Pick<
  EngineParts,
  | "agents"
  | "application"
  | "checksFor"
  | "clock"
  | "copies"
  | "forbidden"
  | "guarded"
  | "limits"
  | "models"
  | "skills"
  | "toolbox"
  | "worktrees"
>;

export interface Runtime extends SharedParts {
  /** What a surface may show: `seenBy` gives a runtime whose store has only a principal's runs. */
  readonly store: Store;
  /** The store with the runs of every principal: for checks that read rows as they are stored. */
  readonly wholeStore: Store;
  readonly engine: Engine;
  readonly profiles: ProfileRegistry;
  readonly programs: Pick<NonNullable<EngineParts["programs"]>, "modelsFor" | "obstacleTo">;
  readonly control: Control;
  /** Where agents may work, and how. */
  readonly folders: FolderConsents;
  readonly config: Config;
  readonly workflows: WorkflowSource;
  /** Where working copies are kept. */
  readonly workFolder: string;
  /** Queues that any worker takes runs from; null: this process works on its own runs. */
  readonly queues: DbosDispatcher | null;
  /**
   * A surface says that it can put questions to a person, until it calls what is returned. As long as
   * none says so, calls that would need an approval after untrusted input are refused at once.
   */
  attend(): () => void;
  /** Resolves when no working copy is being examined: only then it is known which copies are kept. */
  settleCopies(): Promise<void>;
  close(): Promise<void>;
}

export async function createRuntime(options: RuntimeOptions): Promise<Runtime> {
  return (await wireRuntime(options)).runtime;
}

/** The runtime together with all parts of its engine: tests of the engine look at those. */
export async function wireRuntime(
  options: RuntimeOptions,
): Promise<{ readonly runtime: Runtime; readonly parts: EngineParts }> {
  // What a program gives is judged before anything is opened.
  for (const tool of options.tools ?? []) requireTool(tool);
  for (const profile of options.profiles ?? []) layerOf(profile);
  requireReportPattern(options.limits?.reportPathPattern);
  const clock = options.clock ?? systemClock;
  const environment = options.environment ?? process.env;
  const cwd = options.cwd ?? process.cwd();
  noteStartFolder(cwd);
  const { flags = {} } = options;
  const loaded = options.config
    ? givenConfig(options.config, cwd)
    : await loadConfig({ cwd, environment, flags });
  const places = findPlaces(environment);
  const scripted = options.scripted ?? (await loadScripted(options));
  // A project's file cannot say where runs are kept, so the store is opened before it counts.
  const { database } = loaded.own;
  const stored: Omit<StoreOptions, "clock"> = {
    ...(options.database !== undefined && { database: options.database }),
    environment,
    url: database.url,
    tenant: database.tenant,
    artifacts: database.artifacts,
    synchronous: options.synchronous ?? database.synchronous,
  };
  const { log, waitForDatabaseMs } = options;
  const store = await openStore({ ...stored, clock, log, waitForDatabaseMs });
  const { config, models, waiting } = await settle(loaded, store, options, scripted);
  const watchdog = await watch(options, store, stored, options.database ?? places.database);
  const telemetry = await startTelemetry({
    store,
    environment,
    version: productVersion,
    telemetry: options.telemetry,
    clock,
  });
  const control = await openControl({ ...options, config, waiting, cwd, environment, store });
  const { profiles, skills } = control;
  const folders = new FolderConsents({
    plane: control.plane,
    environment,
    isNamed: options.consent === "named",
    force: options.force === true,
  });
  const mark = markFor(options.database ?? places.database);
  const work = placeForWork(options.database, places.home);
  for (const name of ["worktrees", "copies"]) noteAgentFolder(join(work.folder, name));
  const attendance = new Attendance(
    options.database === ":memory:" ? null : join(work.folder, "attending"),
  );
  const records = new GuardRecords(join(work.folder, "guards"));
  await sweepAfterKilled(records);
  const shell = openShell(config, environment, places.forbidden, mark, records, clock);
  const workflows = new WorkflowSource({
    environment,
    trusted: () => control.view.trustedHashes(),
    trustWorkspace: options.trustWorkspace === true,
  });
  const { tools: own = [] } = options;
  const shipped = [
    ...builtInTools(config, {
      environment,
      profiles,
      skills: control.hasSkills ? skills : null,
      memories: store,
      clock,
      workflows,
    }),
    ...(offersShell(config, environment) ? [shell.tool] : []),
  ];
  // A program's own tool takes the place of ours of the same name.
  const isReplaced = ({ name }: Tool): boolean => own.some((tool) => tool.name === name);
  const all = [...shipped.filter((tool) => !isReplaced(tool)), ...own];
  const toolbox = new Toolbox(options.aroundTool ? all.map(options.aroundTool) : all);
  const servers = new McpServers({
    environment,
    mark,
    clock,
    version: productVersion,
    folder: join(work.folder, "servers"),
    containment: {
      sandbox: () => detectSandbox(environment),
      ...{ environment, forbidden: places.forbidden, limits: limitsFrom(config.sandbox) },
      unixSockets: config.sandbox.unixSockets,
      allowPrivate: config.network.allowPrivate,
    },
    onNotice: ({ delegationId, server, text }) => {
      tellAgent(engine.liveRuns, delegationId, `About the MCP server "${server}": ${text}`);
    },
  });
  // A database of one's own, in a file or in memory, has no workers.
  const queues = options.database === undefined ? await openQueues(config, options.clock) : null;
  const unwritten = new UnwrittenEnds();
  const queueOf = await queuesByConfig(config);
  const admission = new AdmissionGate({
    store,
    clock,
    queueOf,
  });
  await admission.load();
  let copies: Promise<WorkingCopies> | undefined;
  const dispatcher = options.dispatcher ?? queues ?? undefined;
  const programs = createAgentPrograms({
    ...{ environment, clock, store, config, models, commands: shell.commands },
    version: productVersion,
    folder: join(work.folder, "programs"),
  });
  const parts: EngineParts = {
    store,
    copies() {
      copies ??= import("./workspaces/git/copies/working-copies.ts")
        .then((module) => new module.WorkingCopies(work.folder))
        .catch((error: unknown) => {
          // A disk that failed once may be well the next time.
          copies = undefined;
          throw error;
        });
      return copies;
    },
    sendsCopies: config.engine.workspaces === "bundle",
    hasCopies: () => existsSync(join(work.folder, "copies")),
    worktrees: join(work.folder, "worktrees"),
    checksFor: shell.checksFor,
    models,
    profiles,
    agents: agentSource(control),
    consentTo: (folder, user) => folders.modeOf(folder, user),
    skills,
    servers: {
      declared: (name) =>
        Object.hasOwn(config.mcp.servers, name) ? config.mcp.servers[name] : undefined,
      open: (name, server, scope) => servers.open(name, server, scope),
    },
    async release(delegationId) {
      await programs.release(delegationId);
      await Promise.all([servers.release(delegationId), shell.release(delegationId)]);
    },
    programs,
    async endStrays(delegations) {
      if (mark === undefined) return;
      await endMarkedProcesses(options.database ?? places.database, delegations, clock);
      await sweepAfterKilled(records);
    },
    unwritten,
    admission,
    toolbox,
    middleware: compose(options.middleware ?? []),
    clock,
    scheduler: options.scheduler ?? schedulerFor(config, options.maxConcurrent),
    ...(queues !== null && {
      laneOf: ({ model, profile }: Contract) => queueOf(profile.id, model.provider),
    }),
    limits: {
      ...configuredLimits(config, toolbox, models.isAllowed),
      maxOutputTokens,
      ...options.limits,
    },
    application: options.application ?? "mandate",
    forbidden: [...places.forbidden, work.folder, ...databaseFiles(options.database)],
    guarded: [...control.guarded, ...installationPaths()],
    ...(dispatcher === undefined && { isAttended: () => attendance.isAttended() }),
    ...deltasOf(store, options.onDelta),
    dispatcher,
  };
  const engine = new Engine(parts, operatorGrant(control, parts, config, options.principal));
  const { agents, application, checksFor, forbidden, guarded, limits, worktrees } = parts;
  const runtime: Runtime = {
    ...{ agents, application, checksFor, clock, forbidden, guarded, limits, skills, toolbox },
    models: parts.models,
    worktrees,
    copies: () => parts.copies(),
    store,
    wholeStore: store,
    engine,
    profiles,
    control,
    folders,
    config,
    ...{ workflows, programs, queues },
    workFolder: work.folder,
    attend: () => attendance.attend(),
    async settleCopies() {
      if (parts.hasCopies()) await (await parts.copies()).settled();
    },
    async close() {
      await watchdog?.close();
      attendance.close();
      engine.close();
      unwritten.close();
      admission.close();
      control.close();
      await programs.close();
      await shell.close();
      await servers.close();
      await queues?.close();
      await store.close();
      await telemetry?.close();
      // Last: what the store could not take any more needs no copy.
      await copies?.then((opened) => opened.settled());
      work.clear();
    },
  };
  return { runtime, parts };
}

/** What counts of the configuration, and the models that it leads to; closes the store if neither. */
async function settle(
  loaded: LoadedConfig,
  store: Store,
  options: RuntimeOptions,
  scripted: Model | undefined,
): Promise<SettledConfig & { readonly models: ModelRegistry }> {
  const { environment = process.env, flags = {} } = options;
  try {
    const settled = await settleByRecords(loaded, store, options);
    const models = createModelRegistry({
      // The environment, with the flag in place of the variable.
      environment:
        flags.model === undefined ? environment : { ...environment, MANDATE_MODEL: flags.model },
      config: settled.config.models,
      ...(options.models && { models: options.models }),
      ...(scripted && { scripted }),
      ...(options.clock && { clock: options.clock }),
    });
    return { ...settled, models };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** What ends with its process has no log that anybody could take it up from. */
async function watch(
  { database, watchdog }: RuntimeOptions,
  store: Store,
  stored: Omit<StoreOptions, "clock">,
  marks: string,
): Promise<Watchdog | undefined> {
  if (watchdog !== true || database === ":memory:") return undefined;
  const { startWatchdog } = await import("./watchdog.ts");
  return startWatchdog(store, marks, stored);
}

/** What a program gives is held to the same as a configuration file. */
function requireReportPattern(pattern: string | null | undefined): void {
  const problem = pattern == null ? undefined : reportPatternProblem(pattern);
  if (problem === undefined) return;
  throw new MandateError("config-invalid", `limits.reportPathPattern ${problem}.`);
}

/** The queue of a delegation, also where no worker takes it from there: limits are set for queues. */
async function queuesByConfig({
  engine,
}: Config): Promise<(profile: string, provider: string) => string> {
  if (engine.kind === "local" && Object.keys(engine.queues).length === 0) return () => "default";
  const { routeOf } = await import("./stores/dbos/queues.ts");
  return (profile, provider) => routeOf(engine, { profile, provider }).queue;
}

/** A worker's own places: a queue may have fewer of them than all together. */
function schedulerFor({ agents, engine }: Config, maxConcurrent: number | undefined): Scheduler {
  const limit = maxConcurrent ?? agents.delegation.maxConcurrent;
  if (engine.kind === "local") return new Scheduler(limit);
  return new Scheduler(limit, (queue) => engine.queues[queue]?.workerConcurrency ?? limit);
}

/** Runs commands: those of agents where that is offered, and the checks before a merge anyway. */
function openShell(
  config: Config,
  environment: Environment,
  forbidden: readonly string[],
  mark: DelegationMark | undefined,
  records: GuardRecords,
  clock: Clock,
): Shell {
  const { network, unsandboxed } = config.tools.shell;
  const sandbox = () => detectSandbox(environment);
  const { allowPrivate } = config.network;
  const { unixSockets } = config.sandbox;
  return createShellTool({
    ...{ sandbox, unsandboxed, network, environment, forbidden, mark, records, clock },
    ...{ allowPrivate, unixSockets, limits: limitsFrom(config.sandbox) },
  });
}

/** A database in memory ends with its process: nothing can look for its processes later. */
function markFor(database: string): DelegationMark | undefined {
  return database === ":memory:" ? undefined : delegationMark(database);
}

/** Where commands can be held to a contract, or the operator said that they need not be. */
function offersShell(config: Config, environment: Environment): boolean {
  const { enabled, unsandboxed } = config.tools.shell;
  return enabled && (unsandboxed || mayHaveSandbox(environment));
}

function agentSource({ plane, view }: Control): AgentSource {
  return {
    entry: (agentId) => view.entry(agentId),
    all: () => view.all(),
    refresh: (always) => view.refresh(always),
    pinned: (context) => plane.effectivePin(context),
  };
}

async function loadScripted({ clock, playbook }: RuntimeOptions): Promise<Model | undefined> {
  if (playbook === undefined) return undefined;
  const { loadPlaybook } = await import("./models/scripted/load-playbook.ts");
  const { hasten } = await import("./models/scripted/load-playbook.ts");
  const { scriptedModel } = await import("./models/scripted/scripted-model.ts");
  return scriptedModel(hasten(await loadPlaybook(playbook.file), playbook.speed ?? 1), clock);
}
