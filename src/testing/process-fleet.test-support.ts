import { type ChildProcess, fork } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkStore } from "../events/checker/check-store.ts";
import { scriptedModel } from "../models/scripted/scripted-model.ts";
import { createRuntime, type Runtime } from "../runtime.ts";
import { childEnvironment } from "./child-environment.test-support.ts";
import { dropDatabase, freshDatabase } from "./postgres.test-support.ts";
import { until } from "./until.ts";

export interface FleetOptions {
  readonly workers: number;
  /** The places of one worker. */
  readonly atOnce?: number;
  /** By way of which address workers reach the database; absent: its own. */
  readonly through?: (url: string) => string;
  /** False: nothing is noted of what models are asked. */
  readonly notes?: boolean;
  /** What the user's own profile files say, by name. */
  readonly profiles?: Readonly<Record<string, string>>;
  /** "bundle": each worker has a home of its own. */
  readonly workspaces?: "bundle" | "shared";
}

interface AddedWorker extends Pick<FleetOptions, "atOnce" | "through"> {
  readonly tenant?: string;
}

/** Workers as processes of their own, on one Postgres, and a client beside them. */
export interface ProcessFleet extends AsyncDisposable {
  readonly client: Runtime;
  readonly workers: readonly ChildProcess[];
  readonly url: string;
  /** Of the client: what another program of this fleet is started with. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The folder of the client, which all of them see. */
  readonly workspace: string;
  /** One more, or one in the place of one that is gone. */
  add(worker?: AddedWorker): Promise<ChildProcess>;
  /** Starts a run as somebody who leaves as soon as a worker has taken something. Gives its id. */
  startAndLeave(task: string): Promise<string>;
  /** Kills whoever works on the run's root. */
  loseHolder(runId: string): Promise<void>;
  /** What models were asked so far: `delegation turn`, a line each. */
  notes(): readonly string[];
}

export async function openProcessFleet(options: FleetOptions): Promise<ProcessFleet> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "mandate-fleet-")));
  const notes = join(home, "notes");
  const workspace = join(home, "workspace");
  mkdirSync(workspace);
  // Any answer costs something: runs can be given a cap in dollars.
  const prices = { "scripted/playbook": { input: 100, output: 100 } };
  mkdirSync(join(home, ".config", "mandate"), { recursive: true });
  const configuration = join(home, ".config", "mandate", "config.yaml");
  const { workspaces = "shared" } = options;
  writeFileSync(configuration, JSON.stringify({ models: { prices }, engine: { workspaces } }));
  mkdirSync(join(home, ".config", "mandate", "agents"));
  for (const [name, text] of Object.entries(options.profiles ?? {})) {
    writeFileSync(join(home, ".config", "mandate", "agents", `${name}.md`), text);
  }
  writeFileSync(notes, "");
  const url = await freshDatabase();
  const environment = (address: string, own = "mandate") => ({
    ...childEnvironment,
    HOME: home,
    XDG_CONFIG_HOME: join(home, ".config"),
    MANDATE_HOME: join(home, workspaces === "bundle" ? own : "mandate"),
    MANDATE_DATABASE_URL: address,
    MANDATE_ENGINE: "dbos",
    MANDATE_MAX_CHILDREN: "100000",
    ...(options.notes !== false && { FLEET_NOTES: notes }),
    FLEET_AT_ONCE: String(options.atOnce ?? 10),
  });
  const open = () =>
    createRuntime({
      consent: "named",
      environment: environment(url),
      cwd: workspace,
      scripted: scriptedModel(() => "A client answers nothing."),
      limits: { runTokens: 1_000_000_000, maxTokens: 500_000_000 },
    });
  const client = await open();
  const workers: ChildProcess[] = [];
  const add: ProcessFleet["add"] = async (worker = {}) => {
    const { atOnce, tenant, through = options.through } = worker;
    const program = join(import.meta.dirname, "fleet-worker.test-support.ts");
    const env = {
      ...environment(through?.(url) ?? url, `worker-${workers.length}`),
      ...(atOnce !== undefined && { FLEET_AT_ONCE: String(atOnce) }),
      ...(tenant !== undefined && { MANDATE_TENANT: tenant }),
    };
    const added = fork(program, { cwd: workspace, env, execArgv: ["--no-deprecation"] });
    workers.push(added);
    await new Promise<void>((resolve, reject) => {
      added.once("message", () => resolve());
      added.once("exit", (code) => reject(new Error(`a worker ended with ${code}`)));
    });
    return added;
  };
  await Promise.all(Array.from({ length: options.workers }, () => add()));
  const asked = () => readFileSync(notes, "utf8").split("\n").filter(Boolean);
  return {
    client,
    workers,
    url,
    environment: environment(url),
    workspace,
    add,
    async startAndLeave(task) {
      const starter = await open();
      const { runId } = await starter.engine.startRun({ task, profile: "general" });
      await until("a worker takes something", () => asked().length > 0);
      await starter.close();
      return runId;
    },
    async loseHolder(runId) {
      const [root] = (await client.store.readRun(runId))?.delegations.values() ?? [];
      const holder = (await client.store.workers?.())?.find(({ id }) => id === root?.share?.worker);
      workers.find(({ pid }) => pid === holder?.pid)?.kill("SIGKILL");
    },
    notes: asked,
    async [Symbol.asyncDispose]() {
      for (const worker of workers) worker.kill("SIGKILL");
      try {
        const { violations } = await checkStore(client.store);
        if (violations.length > 0) {
          throw new Error(`This does not hold:\n${JSON.stringify(violations, null, 1)}`);
        }
      } finally {
        await client.close();
        await dropDatabase(url);
        rmSync(home, { recursive: true, force: true });
      }
    },
  };
}
