import type { Client } from "pg";
import { emptyRun, type RunState } from "../../events/run-state.ts";
import { runNumberOf } from "../../ports/identity.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Pending } from "../shared/append-queue.ts";
import type { LogState } from "../shared/transaction.ts";
import { type BatchReader, lastSeqOf, pageSize } from "./batch-rows.ts";
import { type Database, type Row, run } from "./database.ts";
import { migrations } from "./migrations.ts";
import { newer } from "./open-database.ts";
import type { RunCache } from "./run-cache.ts";
import { encodeText } from "./stored-text.ts";
import type { WorkerLease } from "./worker-lease.ts";

export interface AppendContextParts {
  readonly database: Database;
  readonly reader: BatchReader;
  readonly cache: RunCache;
  readonly lease: WorkerLease;
}

interface Answers {
  /** All enrolled workers, and the schema version of the database. */
  readonly workers: readonly Row[];
  readonly started: readonly Row[];
}

/**
 * What a transaction reads when it holds the lock: everything that was committed before, whether
 * this worker is still enrolled, and whether the workers whose runs are taken over are dead.
 */
export class AppendContext implements LogState {
  readonly lastSeq: number;
  /** Whether another process listens for commits. */
  readonly hasListeners: boolean;
  readonly #cache: RunCache;
  readonly #lease: WorkerLease;
  readonly #states: ReadonlyMap<string, RunState>;
  readonly #enrolled: ReadonlySet<unknown>;
  readonly #started: ReadonlySet<unknown>;

  private constructor(
    { cache, lease }: AppendContextParts,
    states: ReadonlyMap<string, RunState>,
    answers: Answers,
  ) {
    this.#cache = cache;
    this.#lease = lease;
    this.#states = states;
    this.lastSeq = cache.lastSeq;
    const ids = answers.workers.map((row) => row["id"]);
    const alive = answers.workers.filter((row) => row["is_alive"] === true);
    this.hasListeners = alive.some((row) => !lease.ours.has(String(row["id"])));
    this.#enrolled = new Set(ids);
    this.#started = new Set(answers.started.map((row) => row["number"]));
  }

  /** Begins the transaction and takes the lock: the stored rows do not change until it ends. */
  static async find(
    client: Client,
    parts: AppendContextParts,
    pending: readonly Pending[],
    states: ReadonlyMap<string, RunState>,
  ): Promise<AppendContext> {
    const { cache, database, lease, reader } = parts;
    const { lock, quoted } = database.schema;
    const claimed = pending.flatMap(({ claimedFrom }) => claimedFrom ?? []);
    const starting = pending.filter(({ append }) => append.events[0]?.type === "run.started");
    // Sent together, because every other writer waits while the lock is held.
    const [, , , workers, started, rows] = await Promise.all([
      client.query("BEGIN ISOLATION LEVEL READ COMMITTED"),
      client.query(`SELECT pg_catalog.pg_advisory_xact_lock(${lock})`),
      claimed.length === 0 ? [] : run(client, lease.declareDead(claimed)),
      run(client, lease.standings()),
      starting.length === 0
        ? []
        : run(client, {
            name: "started",
            text: `SELECT number FROM ${quoted}.runs WHERE number = ANY($1)`,
            values: [starting.map(({ append }) => runNumberOf(append.runId) ?? -1)],
          }),
      run(client, reader.pageAfter(cache.lastSeq)),
    ]);
    const version = Number(workers[0]?.["schema"]);
    if (version !== migrations.length) throw newer(database, version);
    // The lease expired but no run was taken over: see WorkerLease for why this worker continues.
    const isLate = workers.some((row) => row["id"] === lease.worker && row["is_alive"] === false);
    if (isLate) await client.query(lease.beat());
    await receiveAll(client, parts, rows);
    return new AppendContext(parts, states, { workers, started });
  }

  stateOf(runId: string, isNew: boolean): RunState {
    const taken = this.#states.get(runId);
    const live = this.#cache.get(runId);
    // Later events of the run could not be read: no work may continue from an old state.
    if (taken?.outcome === null && taken !== live) throw damaged(runId);
    const known = taken ?? live;
    if (known !== undefined) return known;
    const run = emptyRun(runId);
    // From here on the run is live, and empty until its first event is committed.
    if (isNew) this.#cache.keep(run);
    return run;
  }

  /** Why an append is refused regardless of the state of its run; undefined: it is not. */
  refusalOf({ append, claimedFrom }: Pending): MandateError | undefined {
    const { by, events, runId } = append;
    if (by !== "operator" && this.#lease.ours.has(by.worker) && !this.#enrolled.has(by.worker)) {
      void this.#lease.noticeDeath(by.worker);
      const why = "the lease of this process expired, and another process took over its runs";
      return new MandateError("fenced", `Nothing more is written for run ${runId}: ${why}.`);
    }
    if (claimedFrom !== undefined && this.#enrolled.has(encodeText(claimedFrom))) {
      return new MandateError("fenced", `Run ${runId} is owned by a live process.`);
    }
    const isKnown = this.#started.has(runNumberOf(runId)) && !this.#cache.get(runId);
    if (events[0]?.type === "run.started" && isKnown) {
      const message = `Run ${runId} has started already and cannot start again.`;
      return new MandateError("illegal-transition", message);
    }
    return undefined;
  }
}

function damaged(runId: string): MandateError {
  const message = `The log of run ${runId} is damaged: the database was modified. Run \`mandate verify\` to see where, and restore the database from a backup.`;
  return new MandateError("database-unusable", message);
}

async function receiveAll(
  client: Client,
  { cache, reader }: AppendContextParts,
  first: readonly Row[],
): Promise<void> {
  for (let rows = first; ; ) {
    cache.receiveRows(rows);
    if (rows.length < pageSize) return;
    rows = await run(client, reader.pageAfter(lastSeqOf(rows)));
  }
}
