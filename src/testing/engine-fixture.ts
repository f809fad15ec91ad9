/** For tests: the whole product on folders of its own, checked when the test is done with it. */
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Profile } from "../agents/profiles/profile.ts";
import { verifyHome } from "../application/verify-home.ts";
import { type Config, defaultConfig } from "../control/config.ts";
import { findPlaces } from "../control/places.ts";
import { tidyCopies } from "../delegations/changes/take-over.ts";
import type { EngineParts } from "../delegations/engine-parts.ts";
import type { Invariant, Violation } from "../events/checker/check-report.ts";
import type { EventType, StoredEvent } from "../events/event.ts";
import type { Playbook } from "../models/scripted/playbook.ts";
import { type Script, scriptedModel } from "../models/scripted/scripted-model.ts";
import { openStore } from "../open-store.ts";
import type { DelegationResult, RunRequest, StartedRun } from "../ports/delegator.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { ModelRequest } from "../ports/model.ts";
import type { Store } from "../ports/store.ts";
import type { DispatchedWork, Dispatcher } from "../ports/workers.ts";
import { type Runtime, type RuntimeOptions, wireRuntime } from "../runtime.ts";
import { SqliteStore } from "../stores/sqlite/sqlite-store.ts";
import { WorkingCopies } from "../workspaces/git/copies/working-copies.ts";

export interface EngineOptions
  extends Omit<RuntimeOptions, "config" | "consent" | "environment" | "cwd" | "database"> {
  /** The consent to folders; absent: the test names its folders itself. */
  readonly consent?: RuntimeOptions["consent"];
  /** What every model answers; absent: `models` decides. */
  readonly model?: Script | Playbook;
  /** Settings that replace the defaults; `spawn` is switched on. */
  readonly config?: Partial<Config>;
  /** In addition to the home: keys and addresses of providers. */
  readonly environment?: Readonly<Record<string, string>>;
  /** What the test breaks on purpose, past the product: the checker may find just that. */
  readonly breaks?: readonly Invariant[];
}

export interface FinishedRun {
  readonly runId: string;
  readonly delegationId: string;
  readonly result: DelegationResult;
  readonly events: readonly StoredEvent[];
}

/**
 * One process's view of a home; `another` opens the same home as a second process would. On a
 * machine of its own: the same database, and a home of its own.
 */
export interface TestEngine extends Runtime, AsyncDisposable {
  /** All parts of the engine, for tests that look into it. */
  readonly parts: EngineParts;
  readonly home: string;
  /** An empty folder that runs can be given as their workspace. */
  readonly workspace: string;
  readonly database: string;
  /** Starts a run and waits for its end. */
  run(request: RunRequest): Promise<FinishedRun>;
  start(request: RunRequest): Promise<StartedRun>;
  events(runId: string): Promise<readonly StoredEvent[]>;
  /** The process dies here: nothing more is written, and no listener is called. */
  abandon(): void;
  another(options: EngineOptions, on?: "own-machine"): Promise<TestEngine>;
}

/**
 * Opens the product with the real store, engine and tools in a temporary home. When it is disposed
 * of (`await using`), the log has to pass the checker; then the folders are removed.
 *
 * @example
 * await using mandate = await openEngine({ model: () => "Done." });
 * const { result } = await mandate.run({ task: "Say that you are done" });
 */
export async function openEngine(options: EngineOptions): Promise<TestEngine> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "mandate-engine-")));
  const home = join(root, "home");
  const workspace = join(root, "workspace");
  mkdirSync(workspace);
  const postgres = await openPostgres();
  const environment = {
    MANDATE_HOME: home,
    HOME: root,
    ...(postgres && { MANDATE_DATABASE_URL: postgres.url }),
  };
  const homes = [home];
  const closings: Promise<void>[] = [];
  return open(options, [], home, async (opened) => {
    for (const runtime of opened) await runtime.close();
    try {
      const isMany = homes.length > 1;
      for (const each of homes) {
        await requireSound(environment, each, isMany, options.breaks ?? []);
      }
    } finally {
      await postgres?.drop();
      rmSync(root, { recursive: true, force: true });
    }
  });

  async function open(
    engineOptions: EngineOptions,
    opened: Runtime[],
    ownHome: string,
    dispose: (opened: readonly Runtime[]) => Promise<void>,
  ): Promise<TestEngine> {
    const { breaks: _breaks, config, model, ...runtimeOptions } = engineOptions;
    const itself = isDistributedTest ? new SelfDispatch() : undefined;
    const { parts, runtime } = await wireRuntime({
      consent: "named",
      config: { ...testConfig(root, postgres?.url), ...config },
      synchronous: "normal",
      ...(model && { scripted: scriptedModel(model) }),
      ...(itself && { dispatcher: itself }),
      ...runtimeOptions,
      limits: { backoffMs: 1, ...runtimeOptions.limits },
      environment: { ...engineOptions.environment, ...environment, MANDATE_HOME: ownHome },
      cwd: workspace,
    });
    if (itself) itself.worker = runtime.engine.worker;
    opened.push(runtime);
    const { engine, store } = runtime;
    const isFirst = opened.length === 1;
    return {
      ...runtime,
      parts,
      home: ownHome,
      workspace,
      database: join(home, "mandate.db"),
      start: (request) => engine.startRun(request),
      async run(request) {
        const { runId, delegationId, result } = await engine.startRun(request);
        return { runId, delegationId, result: await result, events: await eventsOf(store, runId) };
      },
      events: (runId) => eventsOf(store, runId),
      abandon() {
        engine.close();
        closings.push(store.close());
        letGoOfCopies(ownHome);
      },
      async another(others, on) {
        // A worker with open connections is not declared dead.
        await Promise.all(closings);
        if (on === undefined) return open(others, opened, ownHome, dispose);
        const machine = join(root, `machine-${homes.length}`);
        homes.push(machine);
        shareStore(home, machine);
        return open(others, opened, machine, dispose);
      },
      // The first one opened is the last one disposed of, and checks what all of them wrote.
      [Symbol.asyncDispose]: () => (isFirst ? dispose(opened) : runtime.close()),
    };
  }
}

/** `MANDATE_TEST_ENGINE=distributed`: every run of every test is distributed, with this process as its only worker. */
const isDistributedTest = process.env["MANDATE_TEST_ENGINE"] === "distributed";

class SelfDispatch implements Dispatcher {
  worker: Pick<Runtime["engine"]["worker"], "workOn"> | undefined;

  async dispatch({ delegationId, runId }: DispatchedWork): Promise<void> {
    void this.#work({ delegationId, runId }).catch(() => undefined);
  }

  /** Works as a worker of a queue does: it claims what it had and released. */
  async #work(work: Pick<DispatchedWork, "delegationId" | "runId">): Promise<void> {
    while ((await this.worker?.workOn(work)) === "busy") {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

/** Another machine reaches the same database and artifacts, and nothing else of this home. */
function shareStore(home: string, machine: string): void {
  mkdirSync(machine, { mode: 0o700 });
  for (const name of ["mandate.db", "artifacts"])
    symlinkSync(join(home, name), join(machine, name));
}

/** A process that died holds nothing; the one that plays it here lives on. */
function letGoOfCopies(home: string): void {
  for (const holder of globSync("copies/*/holder", { cwd: home })) rmSync(join(home, holder));
}

/** MANDATE_TEST_STORE=postgres: the same tests on a database of their own in a real server. */
async function openPostgres(): Promise<{ url: string; drop(): Promise<void> } | undefined> {
  if (process.env["MANDATE_TEST_STORE"] !== "postgres") return undefined;
  // Only where our own tests run: what it needs is not part of the package.
  const support = "./postgres.test-support.ts";
  const { dropDatabase, freshDatabase } = (await import(support)) as {
    dropDatabase(url: string): Promise<void>;
    freshDatabase(): Promise<string>;
  };
  const url = await freshDatabase();
  return { url, drop: () => dropDatabase(url) };
}

/** The shipped defaults with spawning switched on, so that every tool is there. */
function testConfig(userFolder: string, url: string | undefined): Config {
  const { agents, database, tools, ...rest } = defaultConfig;
  const directory = join(userFolder, "agents");
  return {
    ...rest,
    agents: { delegation: { ...agents.delegation, profiles: { directory } } },
    tools: { ...tools, spawn: { ...tools.spawn, enabled: true } },
    database: { ...database, ...(url !== undefined && { url }) },
    profiles: [],
    files: [],
  };
}

/**
 * Remembers what a model was shown, as it was then: the conversation itself keeps growing.
 *
 * @example
 * const { model, seen } = recording(() => "Done.");
 * await using mandate = await openEngine({ model });
 */
export function recording(script: Script): {
  readonly seen: ModelRequest[];
  readonly model: Script;
} {
  const seen: ModelRequest[] = [];
  return {
    seen,
    model(request) {
      const { model, system, messages, tools, maxOutputTokens, temperature, caller } = request;
      const copy = { model, system, messages: [...messages], tools, maxOutputTokens, temperature };
      seen.push({ ...copy, caller, signal: request.signal });
      return script(request);
    },
  };
}

/**
 * A profile that says as little as possible.
 *
 * @example testProfile("reader", { tools: ["read_file"] });
 */
export function testProfile(name: string, fields: Partial<Profile> = {}): Profile {
  return {
    name,
    description: `The ${name} of a test`,
    capabilities: ["subtask"],
    prompt: `You are ${name}.`,
    origin: "test",
    ...fields,
  };
}

/**
 * The events of one type, of one delegation if it is named.
 *
 * @example const [denied] = ofType(events, "agent.tool_denied");
 */
export function ofType<Type extends EventType>(
  events: readonly StoredEvent[],
  type: Type,
  delegationId?: string,
): StoredEvent<Type>[] {
  const found = events.filter(
    (event) =>
      event.type === type && (delegationId === undefined || event.sub_agent_id === delegationId),
  );
  return found as StoredEvent[] as StoredEvent<Type>[];
}

async function eventsOf(store: Store, runId: string): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const event of store.readEvents({ runId })) events.push(event);
  return events;
}

async function startAgain(home: string, store: Store): Promise<void> {
  letGoOfCopies(home);
  const copies = new WorkingCopies(home);
  await tidyCopies({ copies: async () => copies, hasCopies: () => true, store });
}

/** Checks the database and the home from outside, after every engine has closed them. */
async function requireSound(
  environment: Readonly<Record<string, string>>,
  home: string,
  isOneOfMany: boolean,
  breaks: readonly Invariant[],
): Promise<void> {
  const { database } = findPlaces(environment);
  const store = await openStore({ environment, synchronous: "normal" });
  try {
    // What others did with its work, a machine may find out only when it starts again.
    if (isOneOfMany) await startAgain(home, store);
    const places = { home, database };
    let unexpected: readonly Violation[] = [];
    // On a busy machine a process that was ended is still there for a while.
    for (let look = 0; look < 5; look++) {
      const { violations } = await verifyHome(store, { places, settled: true });
      unexpected = violations.filter(({ invariant }) => !breaks.includes(invariant));
      if (!unexpected.some(({ invariant }) => invariant === "I16")) break;
    }
    if (unexpected.length === 0) return;
    const lines = unexpected.map(({ invariant, runId, delegationId, seq, message }) =>
      [invariant, runId, delegationId, seq, message].filter((part) => part !== undefined).join(" "),
    );
    throw new Error(`This does not hold:\n${lines.join("\n")}`);
  } finally {
    await store.close();
  }
}

/**
 * Opens the database of a home, or of a copy of one that tests keep, to read recorded runs from it:
 * `mandate.db`, and `artifacts` beside it.
 *
 * @example const recording = await recordingOf("r1a2b3c", openRecordedStore("./recorded-home"));
 */
export function openRecordedStore(home: string): Store {
  const path = join(home, "mandate.db");
  if (!existsSync(path)) {
    throw new MandateError("database-unusable", `There is no recording at ${path}.`);
  }
  return new SqliteStore({ path, synchronous: "normal", artifacts: join(home, "artifacts") });
}
