/** For tests: a home that real processes work in, and die in. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect } from "vitest";
import { verifyHome } from "../../application/verify-home.ts";
import type { EngineLimits } from "../../delegations/engine-parts.ts";
import type { StoredEvent } from "../../events/event.ts";
import type { ScriptedReply } from "../../models/scripted/playbook.ts";
import { openStore } from "../../open-store.ts";
import type { DelegationResult } from "../../ports/delegator.ts";
import { childEnvironment } from "../child-environment.test-support.ts";
import {
  eventsOf,
  type Left,
  lookAround,
  namesOf,
  stateOf,
  type Told,
} from "./aftermath.test-support.ts";

export interface FaultJob {
  readonly home: string;
  readonly workspace: string;
  /** What the child does, turn by turn; then it says what it was told last. */
  readonly child: readonly ScriptedReply[];
  /** The child's replies in a run before the one that is examined. */
  readonly warmUp?: readonly ScriptedReply[];
  /** Besides `mark` and `look`; with some of them the run has a workspace. */
  readonly tools?: readonly string[];
  /** So many of them; absent: one. */
  readonly children?: number;
  /** What a person says to the child while its first call is under way. */
  readonly tells?: readonly string[];
  /** After each mark it waits until the file `steps` in its home has a line for it. */
  readonly isStepwise?: boolean;
  readonly diesInTool?: boolean;
  readonly diesInMerge?: boolean;
  /** When an artifact has been written, and nothing says so yet. */
  readonly diesKeeping?: boolean;
  readonly diesAt?: { readonly event: string; readonly side: "before" | "after" };
  /** For so long its tool does not let go of the event loop. */
  readonly blocksMs?: number;
  readonly watchdog?: boolean;
  /** The home is on a disk of this size, which the first call of its tool fills to the last byte. */
  readonly diskBytes?: number;
  readonly timeoutMs?: number;
  readonly unsandboxed?: boolean;
  readonly limits?: Partial<EngineLimits>;
  /** Starts nothing, whatever it finds; `when lost`: waits until there is something to find. */
  readonly recovers?: boolean | "when lost";
}

/** What a process said, and how it ended. */
export interface Spoken {
  readonly signal: NodeJS.Signals | null;
  readonly recovered?: number;
  /** How many a second recovery found. */
  readonly again?: number;
  readonly ms?: number;
  readonly result?: DelegationResult | null;
  /** How much the most memory that it ever had grew by the run. */
  readonly growthBytes?: number;
  /** The hashes of events that it was told are on disk. */
  readonly acknowledged?: readonly string[];
}

export interface AfterProcesses {
  readonly states: readonly string[];
  readonly events: readonly (readonly string[])[];
  readonly ofRun: readonly string[];
  /** What the lead was told of each child. */
  readonly told: readonly Told[];
  readonly left: Left;
  readonly log: readonly StoredEvent[];
  readonly marks: readonly string[];
}

export interface FaultHome extends AsyncDisposable {
  readonly home: string;
  readonly workspace: string;
  /** Starts a process and leaves it to the caller to wait for `spoken`, or to kill it. */
  begin(job: Omit<FaultJob, "home" | "workspace">): {
    readonly process: ChildProcess;
    readonly spoken: Promise<Spoken>;
  };
  work(job: Omit<FaultJob, "home" | "workspace">): Promise<Spoken>;
  marks(): readonly string[];
  /** What is true now that everybody is gone. */
  after(): Promise<AfterProcesses>;
}

/** A file system of its own, which only this process sees. */
function onDisk(bytes: number | undefined, home: string): readonly string[] {
  if (bytes === undefined) return [];
  return ["bwrap", "--dev-bind", "/", "/", "--size", String(bytes), "--tmpfs", home];
}

export async function openFaultHome(
  environment: Readonly<Record<string, string>> = {},
): Promise<FaultHome> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "mandate-fault-")));
  const home = join(root, "home");
  const workspace = join(root, "workspace");
  mkdirSync(home, { mode: 0o700 });
  mkdirSync(workspace);
  writeFileSync(join(home, "marks"), "");
  const own = { MANDATE_HOME: home, HOME: root, ...environment };
  const program = join(import.meta.dirname, "fault-process.test-support.ts");
  let jobs = 0;
  const running = new Set<ChildProcess>();
  const marks = (): readonly string[] =>
    readFileSync(join(home, "marks"), "utf8").split("\n").filter(Boolean);
  const begin: FaultHome["begin"] = (job) => {
    const file = join(root, `job-${++jobs}.json`);
    writeFileSync(file, JSON.stringify({ ...job, home, workspace }));
    const [command = "", ...words] = [
      ...onDisk(job.diskBytes, home),
      process.execPath,
      // Collected as it is made: how far a busy collector lags behind is not what a test measures.
      ...(job.warmUp ? ["--single-threaded-gc", "--max-semi-space-size=2"] : []),
      program,
      file,
    ];
    const child = spawn(command, words, {
      cwd: workspace,
      env: {
        ...childEnvironment,
        ...own,
      },
      stdio: ["ignore", "pipe", "inherit"],
    });
    running.add(child);
    const said: object[] = [];
    const lines = createInterface({ input: child.stdout });
    lines.on("line", (line) => said.push(JSON.parse(line) as object));
    const spoken = Promise.all([once(child, "exit"), once(lines, "close")]).then(
      ([[code, signal]]) => {
        running.delete(child);
        if (code !== null && code !== 0) throw new Error(`a process ended with ${code}`);
        return Object.assign({ signal: signal as NodeJS.Signals | null }, ...said) as Spoken;
      },
    );
    return { process: child, spoken };
  };
  return {
    home,
    workspace,
    begin,
    marks,
    work: (job) => begin(job).spoken,
    async after() {
      if (existsSync(`${home}-kept`)) {
        rmSync(home, { recursive: true });
        renameSync(`${home}-kept`, home);
      }
      const store = await openStore({ environment: own, synchronous: "normal" });
      try {
        const [row] = await store.listRuns({});
        const runId = row?.id ?? "";
        const log = await eventsOf(store, runId);
        const created = log.filter(({ type }) => type === "agent.subagent_created");
        const [lead = "", ...children] = created.map(({ sub_agent_id: id = "" }) => id);
        const states = await Promise.all(children.map((id) => stateOf(store, runId, id)));
        const run = await store.readRun(runId);
        const leading = run?.delegations.get(lead);
        const words = leading?.status === "closed" ? leading.output?.text : undefined;
        return {
          states,
          events: children.map((id) => namesOf(log, id)),
          ofRun: namesOf(log),
          told: JSON.parse(words ?? "[]") as Told[],
          left: lookAround(home),
          log,
          marks: marks(),
        };
      } finally {
        await store.close();
      }
    },
    async [Symbol.asyncDispose]() {
      for (const child of running) child.kill("SIGKILL");
      try {
        if (
          environment["MANDATE_DATABASE_URL"] === undefined &&
          !existsSync(join(home, "mandate.db"))
        )
          return;
        const store = await openStore({ environment: own, synchronous: "normal" });
        try {
          const places = { home, database: join(home, "mandate.db") };
          const { violations } = await verifyHome(store, { places, settled: true });
          expect(violations).toEqual([]);
        } finally {
          await store.close();
        }
      } finally {
        rmSync(root, { recursive: true, force: true });
      }
    },
  };
}
