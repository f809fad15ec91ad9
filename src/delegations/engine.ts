import type { Cancellation } from "../events/cause.ts";
import type { MessageSender, StoredEvent } from "../events/event.ts";
import { answerAsk } from "../inbox/answer-ask.ts";
import type { CancelOutcome, DelegationResult } from "../ports/delegator.ts";
import type { MandateError } from "../ports/mandate-error.ts";
import type { NoBranch } from "./distributed/branch.ts";
import { Branches, loseBranch } from "./distributed/branches.ts";
import { endWatcher } from "./ends/close.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { LiveDelegation } from "./live-delegation.ts";
import type { LiveRun } from "./live-run.ts";
import { type SentTo, sendMessage } from "./messages.ts";
import { type ContinueOptions, continuation } from "./rests/continue-session.ts";
import type { Interrupted } from "./rests/interrupt.ts";
import type { ResumeLimits } from "./rests/resumption.ts";
import { BranchWorker, reenqueueOrphans } from "./runs/distributed-runs.ts";
import { GoalQueue } from "./runs/goal-queue.ts";
import {
  agentAtWork,
  cancelDelegation,
  type EngineState,
  interruptRun,
  LiveRuns,
  stopIdle,
  storedResult,
  tellAgent,
} from "./runs/live-runs.ts";
import { Recovery } from "./runs/recovery.ts";
import { resumeRun } from "./runs/resume-run.ts";
import type { Resumed, RunRequest, SessionRequest, StartedRun } from "./runs/run-request.ts";
import { openSession, startContinuation, startRun } from "./runs/start-run.ts";
import type { Session } from "./session.ts";
import { requireModel } from "./start/require-model.ts";
import { refusal } from "./start/resolve-profile.ts";
import type { RunGrant, RunPrincipal } from "./start/run-grant.ts";
import { startWatcher, watchersOf } from "./watchers.ts";

/**
 * Works on the runs of this process: starts them, takes them up after a crash, ends them. How, is in
 * `runs/`; here is what they have in common, and the way to each.
 */
export class Engine {
  readonly #own: EngineState;
  readonly #recovery: Recovery;
  readonly #worker: BranchWorker;
  readonly #idleWatch: NodeJS.Timeout;
  readonly #unsubscribe: () => void;

  constructor(parts: EngineParts, grant: RunGrant) {
    const { clock, store } = parts;
    const goals = new GoalQueue(store);
    this.#own = { parts, grant, runs: new LiveRuns(), branches: new Branches(), goals };
    this.#recovery = new Recovery(this.#own);
    this.#worker = new BranchWorker(this.#own);
    this.#unsubscribe = store.subscribe((events) => this.#hear(events));
    this.#idleWatch = setInterval(() => {
      stopIdle(this.liveRuns, clock.monotonic());
      // Whoever worked on the goal before may have died.
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
   * Works on one delegation of a run that is spread, until it has ended, or is its caller's to take
   * over, or another worker has it. "busy": another has it already. "unfit": it needs a model, a
   * tool or a folder that is missing here; as a last resort it is taken all the same, and ends.
   */
  workOn(runId: string, delegationId: string, isLastResort = false): Promise<NoBranch | "unfit"> {
    return this.#worker.workOn(runId, delegationId, isLastResort);
  }

  /**
   * Takes up every run of this application whose worker is gone, or only the one that is named; one
   * that is paused only when it is named. A run that needs a model or a tool that is missing here
   * stays as it is, for a process that has them.
   */
  recover(
    only?: string,
    onRefused: (error: MandateError) => void = rethrow,
  ): Promise<readonly StartedRun[]> {
    return this.#recovery.recover(only, onRefused);
  }

  /** Has everything of spread runs worked on that nobody works on any more. */
  sendLost(): Promise<void> {
    return reenqueueOrphans(this.#own.parts);
  }

  /**
   * The caller of a run that this process works on stops. The run's root takes no further turn; what
   * becomes of those to whom it delegated is in the contract of each. To end all of it, cancel it.
   */
  interrupt(id: string, reason: string): Promise<Interrupted> {
    return interruptRun(this.#own, id, reason);
  }

  /** Ends a delegation, or a run by its id, with everybody below it, whoever works on it. */
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

  /** Of a run: its root's. Null: there is none, or not yet. */
  async resultOf(id: string): Promise<DelegationResult | null> {
    const { store } = this.#own.parts;
    const runId = await store.findRun(id);
    return runId === undefined ? null : storedResult(store, runId, id);
  }

  /**
   * Has a session watched: the root agent's of a run that this process works on, or another's of
   * that run. Gives the watcher's id.
   */
  async watch(id: string, profile: string): Promise<string> {
    const started = await startWatcher(await agentAtWork(this.#own, id), profile);
    if (!("agent" in started)) throw refusal(started);
    await started.created;
    return started.agent.id;
  }

  /** Ends the watchers of that profile; the session that they watched goes on. Gives their ids. */
  async unwatch(id: string, profile: string): Promise<readonly string[]> {
    const watchers = await this.#watchersOf(id, profile);
    await Promise.all(watchers.map(endWatcher));
    return watchers.map((one) => one.id);
  }

  /** The ids of those of that profile who watch a session here. */
  async watchersOf(id: string, profile: string): Promise<readonly string[]> {
    return (await this.#watchersOf(id, profile)).map((one) => one.id);
  }

  async #watchersOf(id: string, profile: string): Promise<readonly LiveDelegation[]> {
    return watchersOf(await agentAtWork(this.#own, id), profile);
  }

  /** A sentence for an agent that works here, about what is around it. */
  tell(delegationId: string, message: string): void {
    tellAgent(this.liveRuns, delegationId, message);
  }

  get liveRuns(): readonly LiveRun[] {
    return [...this.#own.runs.all, ...this.#own.branches.all.map(({ run }) => run)];
  }

  close(): void {
    clearInterval(this.#idleWatch);
    this.#recovery.close();
    this.#unsubscribe();
    this.#own.runs.close();
    for (const branch of this.#own.branches.all) loseBranch(branch);
  }

  /** What other processes wrote reaches the agents that it is about. */
  #hear(events: readonly StoredEvent[]): void {
    const { branches, goals, runs } = this.#own;
    branches.hear(events);
    for (const event of events) {
      runs.hear(event);
      if (event.type === "run.finished") void goals.advance();
    }
  }
}

function rethrow(error: MandateError): never {
  throw error;
}
