import type { RunGrant, RunPrincipal } from "../contracts/run-grant.ts";
import { refusal, requireModel } from "../control/records/resolve-profile.ts";
import type { Cancellation } from "../events/cause.ts";
import type { MessageSender, StoredEvent } from "../events/event.ts";
import type {
  CancelOutcome,
  DelegationResult,
  Resumed,
  RunRequest,
  SessionRequest,
  StartedRun,
} from "../ports/delegator.ts";
import type { MandateError } from "../ports/mandate-error.ts";
import { answerAsk } from "../sessions/inbox/answer-ask.ts";
import { Branches } from "./distributed/branches.ts";
import { endWatcher } from "./ends/close.ts";
import type { EngineParts } from "./engine-parts.ts";
import { type LiveRun, loseRun } from "./live-run.ts";
import { type SentTo, sendMessage } from "./messages.ts";
import { BranchWorker } from "./runs/distributed-runs.ts";
import { GoalQueue } from "./runs/goal-queue.ts";
import {
  agentAtWork,
  cancelDelegation,
  type EngineState,
  interruptRun,
  LiveRuns,
  stopIdle,
  storedResult,
} from "./runs/live-runs.ts";
import { Recovery } from "./runs/recovery.ts";
import { resumeRun } from "./runs/resume-run.ts";
import { openSession, startContinuation, startRun } from "./runs/start-run.ts";
import type { Session } from "./session.ts";
import type { Interrupted } from "./suspend/interrupt.ts";
import { type ContinueOptions, continuation, type ResumeLimits } from "./suspend/resumption.ts";
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
    this.#own = { parts, grant, runs: new LiveRuns(), branches: new Branches(), goals };
    this.#recovery = new Recovery(this.#own);
    this.worker = new BranchWorker(this.#own);
    this.watchers = new Watchers(this.#own);
    this.#unsubscribe = store.subscribe((events) => this.#hear(events));
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

  get liveRuns(): readonly LiveRun[] {
    return [...this.#own.runs.all, ...this.#own.branches.all];
  }

  close(): void {
    clearInterval(this.#idleWatch);
    this.#recovery.close();
    this.#unsubscribe();
    this.#own.runs.close();
    for (const branch of this.#own.branches.all) loseRun(branch);
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
