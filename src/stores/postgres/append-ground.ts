import type { Client } from "pg";
import { emptyRun, type RunState } from "../../events/run-state.ts";
import { runNumberOf } from "../../ports/identity.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Pending } from "../shared/append-queue.ts";
import type { Ground } from "../shared/transaction.ts";
import { type BatchReader, lastSeqOf, pageSize } from "./batch-rows.ts";
import { type Database, type Row, run } from "./database.ts";
import { migrations } from "./migrations.ts";
import { newer } from "./open-database.ts";
import type { RunCache } from "./run-cache.ts";
import { encodeText } from "./stored-text.ts";
import type { WorkerLease } from "./worker-lease.ts";

export interface GroundParts {
  readonly database: Database;
  readonly reader: BatchReader;
  readonly cache: RunCache;
  readonly lease: WorkerLease;
}

interface Answers {
  /** All workers that there are, and which schema they work on. */
  readonly workers: readonly Row[];
  readonly started: readonly Row[];
}

/**
 * What a transaction finds once it holds the lock: everything that was committed before it, whether
 * this worker still counts, and whether those whose runs are taken over really are dead.
 */
export class AppendGround implements Ground {
  readonly lastSeq: number;
  /** Another process listens for commits. */
  readonly hasListeners: boolean;
  readonly #cache: RunCache;
  readonly #lease: WorkerLease;
  readonly #states: ReadonlyMap<string, RunState>;
  readonly #enrolled: ReadonlySet<unknown>;
  readonly #started: ReadonlySet<unknown>;

  private constructor(
    { cache, lease }: GroundParts,
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

  /** Begins the transaction and takes the lock; what is stored does not change until it ends. */
  static async find(
    client: Client,
    parts: GroundParts,
    pending: readonly Pending[],
    states: ReadonlyMap<string, RunState>,
  ): Promise<AppendGround> {
    const { cache, database, lease, reader } = parts;
    const { lock, quoted } = database.schema;
    const claimed = pending.flatMap(({ claimedFrom }) => claimedFrom ?? []);
    const starting = pending.filter(({ append }) => append.events[0]?.type === "run.started");
    // All at once: who holds the lock is waited for by everybody.
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
    // Expired, and yet no run was taken over: see WorkerLease for why it continues.
    const isLate = workers.some((row) => row["id"] === lease.worker && row["is_alive"] === false);
    if (isLate) await client.query(lease.beat());
    await hearAll(client, parts, rows);
    return new AppendGround(parts, states, { workers, started });
  }

  stateOf(runId: string, isNew: boolean): RunState {
    const taken = this.#states.get(runId);
    const live = this.#cache.get(runId);
    // Later events of it could not be read: no work may continue from before them.
    if (taken?.outcome === null && taken !== live) throw damaged(runId);
    const known = taken ?? live;
    if (known !== undefined) return known;
    const run = emptyRun(runId);
    // From here on it is live, and empty until its first event is committed.
    if (isNew) this.#cache.keep(run);
    return run;
  }

  /** Why an append is refused whatever its run says, if it is. */
  refusalOf({ append, claimedFrom }: Pending): MandateError | undefined {
    const { by, events, runId } = append;
    if (by !== "operator" && this.#lease.ours.has(by.worker) && !this.#enrolled.has(by.worker)) {
      void this.#lease.noticeDeath(by.worker);
      const why = "this process was not heard of for too long, and another one took its runs over";
      return new MandateError("fenced", `Nothing more is written for run ${runId}: ${why}.`);
    }
    if (claimedFrom !== undefined && this.#enrolled.has(encodeText(claimedFrom))) {
      return new MandateError("fenced", `Run ${runId} is worked on by a process that lives.`);
    }
    const isKnown = this.#started.has(runNumberOf(runId)) && !this.#cache.get(runId);
    if (events[0]?.type === "run.started" && isKnown) {
      const message = `Run ${runId} has started already: it takes no run.started.`;
      return new MandateError("illegal-transition", message);
    }
    return undefined;
  }
}

function damaged(runId: string): MandateError {
  const message = `The log of run ${runId} does not hold: the database was changed. \`mandate verify\` says where; restore the database from a copy.`;
  return new MandateError("database-unusable", message);
}

async function hearAll(
  client: Client,
  { cache, reader }: GroundParts,
  first: readonly Row[],
): Promise<void> {
  for (let rows = first; ; ) {
    cache.hearRows(rows);
    if (rows.length < pageSize) return;
    rows = await run(client, reader.pageAfter(lastSeqOf(rows)));
  }
}
