import type { Delegation } from "../../events/delegation.ts";
import type { StoredEvent } from "../../events/event.ts";
import { childrenAfterAnswer, isPaused, type RunState } from "../../events/run-state.ts";
import type { DelegationResult } from "../../ports/delegator.ts";
import type { Store } from "../../ports/store.ts";
import type { Runtime } from "../../runtime.ts";
import type { Display } from "./display.ts";
import { exitCode } from "./exit-code.ts";
import type { Io } from "./io.ts";
import { Questions } from "./questions.ts";
import { type RunView, RunWatch } from "./run-view.ts";

/** A run that this process works on. */
export type StartedRun = Awaited<ReturnType<Runtime["engine"]["startRun"]>>;

export type WorkOutcome =
  | { readonly ended: "result"; readonly run: StartedRun; readonly result: DelegationResult }
  | {
      readonly ended: "interrupted";
      readonly run: StartedRun;
      readonly code: number;
      /** The runs that the command started or resumed, in their order. */
      readonly stopped: readonly StoppedRun[];
    }
  /** Suspended, and not by this command: no process works on it until it is resumed. */
  | { readonly ended: "paused"; readonly run: StartedRun }
  | { readonly ended: "lost"; readonly run: StartedRun }
  /** The root has answered, and another process works on the background children. */
  | { readonly ended: "detached"; readonly run: StartedRun; readonly answer: AnsweredEarly };

/** The state of a run after an interrupt: it may have ended at the same moment. */
export interface StoppedRun {
  readonly runId: string;
  /** `answered`: its root had given its answer, and only background sub-agents were stopped. */
  readonly state: "open" | "paused" | "cancelled" | "answered" | "ended";
}

/** A final answer that exists while background children still run. */
export interface AnsweredEarly {
  readonly result: DelegationResult;
  readonly run: RunState;
  readonly children: readonly Delegation[];
}

export interface Work {
  readonly runtime: Runtime;
  readonly io: Io;
  readonly display: Display;
  /** Starts or resumes runs; gives the run whose result the command reports. */
  begin(watch: (run: StartedRun) => Promise<RunView>): Promise<StartedRun>;
  /** Ids of runs that Ctrl-C interrupts, in order; absent: the run that `begin` gave. */
  readonly cancels?: () => readonly string[];
  /**
   * Called once, when the root of that run has answered and background children still run.
   * "detached": another process works on the run from then on.
   */
  readonly answered?: (answer: AnsweredEarly) => Promise<"wait" | "detached">;
}

/**
 * Works on runs in front of a person: shows their events, asks their questions, and obeys Ctrl-C.
 */
export async function workOn(work: Work): Promise<WorkOutcome> {
  const { runtime, io, display } = work;
  const { engine, store } = runtime;
  const left = new Map<string, (how: "lost" | "paused") => void>();
  const questions = new Questions(io, display, (id, text) => engine.answer(id, text));
  const leave = io.ask && runtime.attend();
  const watch = new RunWatch(store, display, (event, view) => {
    display.note(event, view);
    questions.follow(event, view);
    if (isTakenAway(event, store.ownership.worker)) left.get(event.run_id)?.("lost");
    if (event.type === "agent.paused" && isPaused(view.state)) left.get(event.run_id)?.("paused");
  });
  const ends = new Map<string, Promise<DelegationResult | "lost" | "paused">>();
  const add = (run: StartedRun): Promise<RunView> => {
    const leaving = new Promise<"lost" | "paused">((resolve) => left.set(run.runId, resolve));
    ends.set(run.runId, Promise.race([run.result, leaving]));
    return watch.add(run.runId);
  };
  let interruption: Interruption | undefined;
  let stopTelling: (() => void) | undefined;
  try {
    const run = await work.begin(add);
    stopTelling = tellOfMissingWorker(work, run);
    const own = work.cancels?.() ?? [run.runId];
    const interrupted = new Set<string>();
    interruption = new Interruption(io, async () => {
      display.say("Interrupted: stopping. Press Ctrl-C again to leave at once.");
      let isAny = false;
      for (const id of own) {
        const { outcome, settled } = await engine.interrupt(id, "interrupted at the terminal");
        if (outcome === "already_terminal") continue;
        isAny = true;
        interrupted.add(id);
        if (outcome !== "continuing") continue;
        display.say(
          `${id} takes no further step; waiting for sub-agents whose contracts say continue. Press Ctrl-C again to leave them; \`${io.program} resume ${id}\` continues.`,
        );
        await settled;
      }
      return isAny;
    });
    const all = Promise.all(own.map((id) => ends.get(id)));
    const answering = new Answering(work, run);
    const end = await Promise.race([
      interruption.code,
      answering.detached,
      all.then(() => ends.get(run.runId)),
    ]);
    // Otherwise an answer could be printed after the end of its run.
    await answering.isTold;
    // A cancelled run has a result too, which may come before the interrupt's exit code.
    const code = typeof end === "number" ? end : await interruption.pending;
    interruption.end();
    const others = new Map([...ends].filter(([id]) => !own.includes(id)));
    const isDetached = typeof end === "object" && "children" in end;
    if (code === undefined && !isDetached)
      await seeThrough(others, work, run.runId, interruption.left);
    await sayLeft(others.keys(), work);
    if (code !== undefined) {
      const stopped: StoppedRun[] = [];
      for (const runId of ends.keys()) {
        if (!own.includes(runId)) continue;
        const state = stateOf(await store.readRun(runId), interrupted.has(runId));
        stopped.push({ runId, state });
      }
      return { ended: "interrupted", run, code, stopped };
    }
    if (isDetached) return { ended: "detached", run, answer: end };
    if (end === "paused") return { ended: "paused", run };
    return end === undefined || end === "lost" || typeof end === "number"
      ? { ended: "lost", run }
      : { ended: "result", run, result: end };
  } finally {
    leave?.();
    stopTelling?.();
    interruption?.release();
    questions.stop();
    watch.stop();
    display.end();
  }
}

/** Reports an answer that exists before the run has ended. */
class Answering {
  readonly detached: Promise<AnsweredEarly>;
  #telling: Promise<void> | undefined;
  readonly #work: Work;

  constructor(work: Work, run: StartedRun) {
    this.#work = work;
    const { promise, reject, resolve } = Promise.withResolvers<AnsweredEarly>();
    this.detached = promise;
    // The promise is not awaited when the run ended first.
    promise.catch(() => undefined);
    if (work.answered === undefined) return;
    run.answer.then((result) => {
      this.#telling = this.#tell(run, result).then(
        (answer) => answer && resolve(answer),
        (error: unknown) => reject(error),
      );
    }, reject);
  }

  get isTold(): Promise<void> {
    return this.#telling ?? Promise.resolve();
  }

  async #tell(
    { delegationId, runId }: StartedRun,
    result: DelegationResult,
  ): Promise<AnsweredEarly | undefined> {
    const run = await this.#work.runtime.store.readRun(runId);
    const root = run?.delegations.get(delegationId);
    const children = run && root ? childrenAfterAnswer(run, root) : [];
    if (run === undefined || children.length === 0) return undefined;
    const answer = { result, run, children };
    return (await this.#work.answered?.(answer)) === "detached" ? answer : undefined;
  }
}

function stateOf(run: RunState | undefined, isInterrupted: boolean): StoppedRun["state"] {
  if (run?.outcome === "succeeded" && isInterrupted) return "answered";
  if (run === undefined || run.outcome !== null) return isInterrupted ? "cancelled" : "ended";
  return isPaused(run) ? "paused" : "open";
}

function isTakenAway(event: StoredEvent, worker: string): boolean {
  return event.type === "run.resumed" && event.payload.worker !== worker;
}

/** A worker with a free slot claims work well within this time. */
const usualMs = 4000;

/**
 * Says once that a distributed run waits and that no worker is connected. Gives a function that stops
 * the check.
 */
export function tellOfMissingWorker(
  { display, io, runtime }: Pick<Work, "display" | "io" | "runtime">,
  { delegationId, runId }: StartedRun,
  afterMs = usualMs,
): () => void {
  const { clock, queues, store } = runtime;
  let isStopped = queues === null;
  const look = async (): Promise<void> => {
    const delegation = (await store.readRun(runId))?.delegations.get(delegationId);
    const { worker } = delegation?.share ?? {};
    if (worker === undefined || (worker !== null && (await store.isWorkerAlive(worker)))) return;
    const workers = (await store.workers?.()) ?? [];
    if (workers.some(({ executor, isAlive }) => executor !== null && isAlive)) return;
    // What a dead worker had taken waits as well: no live worker can put it back.
    const filled = ((await queues?.overview())?.queues ?? []).filter(
      ({ suspended, waiting, working }) => waiting + working + suspended > 0,
    );
    if (isStopped || filled.length === 0) return;
    const names = filled.map(({ name }) => `\`${name}\``).join(", ");
    display.say(`No worker takes from ${names}: start \`${io.program} worker\`.`);
  };
  // An unreachable database is reported elsewhere.
  const timer = clock.after(afterMs, () => void look().catch(() => undefined));
  if (isStopped) timer.cancel();
  return () => {
    isStopped = true;
    timer.cancel();
  };
}

/**
 * Works on runs that were resumed beside the new work, after that has ended. Only at a terminal, where
 * a person can leave at any time: a script waits for its own result only.
 */
async function seeThrough(
  runs: ReadonlyMap<string, Promise<unknown>>,
  { runtime, io, display }: Pick<Work, "runtime" | "io" | "display">,
  ended: string,
  left: Promise<void>,
): Promise<void> {
  if (io.ask === undefined || !io.stdout.isTerminal) return;
  const open = await openAmong(runs.keys(), runtime.store);
  if (open.length === 0) return;
  display.say(
    `${ended} has ended. Still working on ${open.join(", ")}; Ctrl-C leaves them to be resumed later.`,
  );
  await Promise.race([Promise.all(runs.values()), left]);
}

/** Names the runs that no process works on once this one has ended. */
async function sayLeft(
  runs: Iterable<string>,
  { runtime, io, display }: Pick<Work, "runtime" | "io" | "display">,
): Promise<void> {
  for (const id of await openAmong(runs, runtime.store)) {
    display.say(`${id} is not finished. Resume: ${io.program} resume ${id}`);
  }
}

/** Without suspended runs, and without those that another process owns. */
async function openAmong(runs: Iterable<string>, store: Store): Promise<readonly string[]> {
  const open: string[] = [];
  for (const id of runs) {
    const run = await store.readRun(id);
    if (run === undefined || run.outcome !== null || isPaused(run)) continue;
    if (run.spread !== null || run.worker === store.ownership.worker) open.push(id);
  }
  return open;
}

/**
 * Handles Ctrl-C and signals during work. The first Ctrl-C interrupts the run, which is recorded and
 * can be resumed: sub-agents are cancelled unless their contracts say otherwise. The second one exits at
 * once. SIGTERM and SIGHUP cancel nothing: the process ends, and the run can be resumed.
 */
class Interruption {
  /** Resolves with the exit code when a signal ends the work. */
  readonly code: Promise<number>;
  /** Resolves at a signal after `end`: the person leaves the other runs. */
  readonly left: Promise<void>;
  readonly release: () => void;
  #isOver = false;
  #cancelling: Promise<number | undefined> | undefined;

  /** `cancel` resolves to whether there was still something to cancel. */
  constructor(io: Io, cancel: () => Promise<boolean>) {
    const { promise, resolve } = Promise.withResolvers<number>();
    const left = Promise.withResolvers<void>();
    this.code = promise;
    this.left = left.promise;
    this.release = io.onSignal((signal) => {
      if (this.#isOver) return left.resolve();
      if (signal !== "SIGINT") return resolve(signal === "SIGTERM" ? 143 : 129);
      if (this.#cancelling !== undefined) return io.leave(exitCode.interrupted);
      // Even if it could not be recorded, the person wants to leave.
      const cancelling = cancel().catch(() => true);
      this.#cancelling = cancelling.then((isCancelled) => {
        if (!isCancelled) return undefined;
        resolve(exitCode.interrupted);
        return exitCode.interrupted;
      });
    });
  }

  /** The command's own runs have ended, so there is nothing left to cancel. */
  end(): void {
    this.#isOver = true;
  }

  /** The exit code of a cancellation in progress; undefined without one, or when it came too late. */
  get pending(): Promise<number | undefined> {
    return this.#cancelling ?? Promise.resolve(undefined);
  }
}
