import type { RunGrant, RunPrincipal } from "../contracts/run-grant.ts";
import { refusal, requireModel } from "../control/records/resolve-profile.ts";
import type { Cancellation, Cause } from "../events/cause.ts";
import type { MessageSender, StoredEvent } from "../events/event.ts";
import { isPaused } from "../events/run-state.ts";
import type {
  CancelOutcome,
  DelegationResult,
  Resumed,
  RunRequest,
  SessionRequest,
  StartedRun,
} from "../ports/delegator.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { Store } from "../ports/store.ts";
import { answerAsk } from "../sessions/answer-ask.ts";
import { resultOf } from "../sessions/delegation-result.ts";
import { type ContinueOptions, continuation, type ResumeLimits } from "../sessions/resumption.ts";
import { type SentTo, sendMessage } from "../sessions/send-message.ts";
import { workOf } from "./distributed/distributed-execution.ts";
import { cancelStored } from "./ends/cancel-stored.ts";
import { endWatcher } from "./ends/close.ts";
import type { EngineParts } from "./engine-parts.ts";
import { event, type LiveDelegation } from "./live-delegation.ts";
import type { LiveRun } from "./live-run.ts";
import { BranchWorker } from "./runs/distributed-runs.ts";
import { type EngineState, GoalQueue, LiveRuns } from "./runs/live-runs.ts";
import { Recovery } from "./runs/recovery.ts";
import { resumeRun } from "./runs/resume-run.ts";
import { openSession, startContinuation, startRun } from "./runs/start-run.ts";
import type { Session } from "./session.ts";
import { type Interrupted, interruptRoot } from "./suspend/interrupt.ts";
import { interruptStored, isOfProgram } from "./suspend/suspend-stored.ts";
import { startWatcher, watchersOf } from "./watchers.ts";

/**
 * Works on the runs of this process: starts, recovers, resumes and ends them. Each operation is a
 * function in `runs/`; the engine holds what they share.
 */
export class Engine {
  readonly watchers: Watchers;
  /** Works on single delegations of distributed runs. */
  readonly worker: BranchWorker;
  readonly #own: EngineState;
  readonly #recovery: Recovery;
  readonly #idleWatch: NodeJS.Timeout;
  readonly #unsubscribe: () => void;

  constructor(parts: EngineParts, grant: RunGrant) {
    const { clock, store } = parts;
    const goals = new GoalQueue(store);
    this.#own = { parts, grant, runs: new LiveRuns(), goals };
    this.#recovery = new Recovery(this.#own);
    this.worker = new BranchWorker(this.#own);
    this.watchers = new Watchers(this.#own);
    this.#unsubscribe = store.subscribe((events) => this.#onEvents(events));
    this.#idleWatch = setInterval(() => {
      stopIdle(this.liveRuns, clock.monotonic());
      // The process of the goal before may have died.
      void goals.advance();
    }, 1000).unref();
  }

  /** Starts a run with a root agent of its own. Refusals are thrown: there is no log yet to hold them. */
  async startRun(request: RunRequest): Promise<StartedRun> {
    return startRun(this.#own, request);
  }

  /**
   * Resumes a run or a delegation. A run that was paused, or that lost its process, continues itself,
   * under its contract. What was cancelled or failed continues as a new run on the old conversation;
   * of an agent that another program ran, each sub-agent that did not complete does. Everything else
   * is refused with the reason.
   */
  resume(id: string, by?: RunPrincipal, limits?: ResumeLimits): Promise<Resumed> {
    return resumeRun(this.#own, this.#recovery, { id, by, limits });
  }

  /** The person's next message to a root agent that has ended: a new run on the conversation so far. */
  async continueSession(
    id: string,
    message: string,
    options?: ContinueOptions,
  ): Promise<StartedRun> {
    const next = await continuation(this.#own.parts.store, id, message, options);
    return startContinuation(this.#own, next, options?.by);
  }

  /**
   * Throws "model-not-configured" when an agent that is named has no model that can be reached;
   * without names, when no profile has one. Writes nothing.
   */
  requireModel(names: readonly string[] = []): void {
    requireModel(this.#own.parts, names);
  }

  /**
   * Opens a run for an agent that Mandate does not run itself: its calls of our tools pass the same
   * gate, under a contract of its own, and what it delegates is below it in the tree.
   */
  openSession(request: SessionRequest): Promise<Session> {
    return openSession(this.#own, request);
  }

  /**
   * Recovers every run of this application whose worker is gone, or one run by its id; a paused run
   * only by its id. A run that needs a model or a tool that is missing here stays as it is.
   */
  recover(
    only?: string,
    onRefused: (error: MandateError) => void = rethrow,
  ): Promise<readonly StartedRun[]> {
    return this.#recovery.recover(only, onRefused);
  }

  /**
   * Interrupts a run that this process works on. Its root takes no further turn; the contract of each
   * child says whether the child continues, pauses or is cancelled. `cancel` ends all of them.
   */
  interrupt(id: string, reason: string): Promise<Interrupted> {
    return interruptRun(this.#own, id, reason);
  }

  /** Cancels a delegation, or a run by its id, with everything below it, in whichever process it is. */
  cancel(id: string, reason: Cancellation): Promise<CancelOutcome> {
    return cancelDelegation(this.#own, id, reason);
  }

  /**
   * Sends a message to a delegation, or by the id of a run to its root, whichever process works on it:
   * it reads the message before its next turn. Throws "already-terminal" when it takes no further one.
   */
  send(id: string, text: string, from: MessageSender): Promise<SentTo> {
    return sendMessage(this.#own.parts.store, id, { from, text });
  }

  /** True when this answer was the one that counted. */
  async answer(askId: string, text: string): Promise<boolean> {
    return (await answerAsk(this.#own.parts.store, askId, text)).accepted;
  }

  /** The result of a delegation, or of a run's root. Null: it has not closed, or does not exist. */
  async resultOf(id: string): Promise<DelegationResult | null> {
    const { store } = this.#own.parts;
    const runId = await store.findRun(id);
    return runId === undefined ? null : storedResult(store, runId, id);
  }

  get liveRuns(): readonly LiveRun[] {
    return this.#own.runs.all;
  }

  close(): void {
    clearInterval(this.#idleWatch);
    this.#recovery.close();
    this.#unsubscribe();
    this.#own.runs.close();
  }

  /** Events of other processes are passed to the delegations that they are about. */
  #onEvents(events: readonly StoredEvent[]): void {
    const { goals, runs } = this.#own;
    runs.onEvents(events);
    if (events.some(({ type }) => type === "run.finished")) void goals.advance();
  }
}

/** The watchers of sessions that this process works on. */
export class Watchers {
  readonly #own: EngineState;

  constructor(own: EngineState) {
    this.#own = own;
  }

  /** Watches a delegation, or by the id of a run its root. Returns the watcher's id. */
  async start(id: string, profile: string): Promise<string> {
    const started = await startWatcher(await agentAtWork(this.#own, id), profile);
    if (!("agent" in started)) throw refusal(started);
    await started.created;
    return started.agent.id;
  }

  /** Ends the watchers of that profile and returns their ids; the watched session continues. */
  async end(id: string, profile: string): Promise<readonly string[]> {
    const watchers = watchersOf(await agentAtWork(this.#own, id), profile);
    await Promise.all(watchers.map(endWatcher));
    return watchers.map((one) => one.id);
  }

  async of(id: string, profile: string): Promise<readonly string[]> {
    return watchersOf(await agentAtWork(this.#own, id), profile).map((one) => one.id);
  }
}

function rethrow(error: MandateError): never {
  throw error;
}

/** The live delegation of that id, or the root of the run of that id. */
async function agentAtWork({ parts, runs }: EngineState, id: string): Promise<LiveDelegation> {
  const run = runs.get((await parts.store.findRun(id)) ?? id);
  // Each branch of a distributed run works on one delegation, and on the watchers of that one.
  const inBranch = runs.branches
    .flatMap(
      ({ delegations: { byId, root }, id: runId }) => (id === runId ? root : byId.get(id)) ?? [],
    )
    .find((one) => !one.run.execution.isRemote(one));
  const live = inBranch ?? run?.delegations.byId.get(id) ?? run?.delegations.root;
  if (live && !live.process.end.isEnding) return live;
  throw notLive(id);
}

function notLive(id: string): MandateError {
  return new MandateError("unknown-run", `Nothing that works here is called ${id}.`);
}

async function interruptRun(
  { parts, runs }: EngineState,
  id: string,
  reason: string,
): Promise<Interrupted> {
  const { store } = parts;
  const runId = (await store.findRun(id)) ?? id;
  const root = runs.get(runId)?.delegations.root;
  if (root == null) return interruptElsewhere(parts, runId, id, reason);
  if (id === runId || id === root.id) {
    return interruptRoot(root, { code: "cancelled", text: reason });
  }
  throw notAlone(id, runId);
}

/** Interrupts a run that this process does not work on: workers have it, or it was interrupted. */
async function interruptElsewhere(
  parts: EngineParts,
  runId: string,
  id: string,
  text: string,
): Promise<Interrupted> {
  const { dispatcher, store } = parts;
  const settled = Promise.resolve();
  const state = await store.readRun(runId);
  if (state && isPaused(state)) return { outcome: "paused", settled };
  if (state && state.outcome !== null) return { outcome: "already_terminal", settled };
  const [root] = state?.delegations.values() ?? [];
  if (!state?.spread || root === undefined || (await isOfProgram(store, state))) throw notLive(id);
  if (id !== runId && id !== root.id) throw notAlone(id, runId);
  return interruptStored(parts, state, {
    cause: { code: "cancelled", text },
    async dispatchRoot() {
      const contract = await store.readContract(root.id);
      await dispatcher?.dispatch(workOf({ contract, id: root.id }));
    },
  });
}

function notAlone(id: string, runId: string): MandateError {
  return new MandateError(
    "usage",
    `${id} works for another agent, which alone can be interrupted with all that it does: run ${runId}. To end ${id}, cancel it.`,
  );
}

/** Cancels a delegation, or a whole run, with everything below it, whichever process works on it. */
async function cancelDelegation(
  { parts, runs }: EngineState,
  id: string,
  reason: Cancellation,
): Promise<CancelOutcome> {
  const cause: Cause = typeof reason === "string" ? { code: "cancelled", text: reason } : reason;
  // What this process works on is stopped at once, however far away the database is.
  const live = runs.find(id);
  if (live) return live.run.execution.cancel(live, cause);
  const runId = await parts.store.findRun(id);
  if (runId === undefined) return "not_found";
  return cancelStored(parts, runId, id, cause);
}

/** Tells a live delegation about its surroundings; one that ends or is suspended needs no more. */
export function tellAgent(runs: readonly LiveRun[], id: string, message: string): void {
  for (const run of runs) {
    const live = run.delegations.byId.get(id);
    if (live === undefined || run.execution.isRemote(live)) continue;
    if (live.process.end.isEnding || live.work.stopReason !== null || live.work.suspension !== null)
      continue;
    live.record(event(live, "agent.interjected", { from: "mcp", severity: "info", message }));
  }
}

/** Stops delegations that hold a slot and do nothing, by the idle deadline of their contracts. */
export function stopIdle(runs: readonly LiveRun[], now: number): void {
  for (const live of runs.flatMap((run) => [...run.delegations.byId.values()])) {
    const { lastActivity, time } = live.process;
    const { idle } = live.contract.deadlines;
    if (!time.hasSlot || lastActivity === 0 || now - lastActivity <= idle) continue;
    live.work.stop({ code: "idle", ms: idle });
  }
}

/** The result that the log has of a delegation, or of a run's root. Null: none yet. */
async function storedResult(
  store: Pick<Store, "readRun">,
  runId: string,
  id: string,
): Promise<DelegationResult | null> {
  const run = await store.readRun(runId);
  if (run === undefined) return null;
  const root = [...run.delegations.values()].find(({ parentId }) => parentId === null);
  return resultOf(run, id === runId && root !== undefined ? root.id : id);
}
