import { randomUUID } from "node:crypto";
import type { Result } from "@modelcontextprotocol/server";
import type { Principal } from "../../../control/records/principal.ts";
import { type Clock, systemClock } from "../../../ports/clock.ts";
import { LiveTask } from "./live-task.ts";
import { type DurableTasks, isTerminal, type Task } from "./task.ts";

export interface TasksOptions {
  readonly durable?: DurableTasks | undefined;
  readonly clock?: Clock | undefined;
  /** How long a task without a delegation can be read, in milliseconds. */
  readonly ttlMs?: number | undefined;
  readonly pollIntervalMs?: number | undefined;
  /** Calls that finish within this time are answered directly. */
  readonly graceMs?: number | undefined;
  /** Most tasks of one principal; further calls are answered when they finish. */
  readonly maxPerOwner?: number | undefined;
}

interface Kept {
  readonly live: LiveTask;
  readonly taskId: string;
  readonly isDurable: boolean;
}

/**
 * The tasks of all clients, each visible to its owner only. Tasks with a delegation can be read
 * from the log after this process has ended; the others end with it.
 */
export class Tasks {
  readonly #durable: DurableTasks | undefined;
  readonly #clock: Clock;
  readonly #ttlMs: number;
  readonly #pollIntervalMs: number;
  readonly #graceMs: number;
  readonly #maxPerOwner: number;
  readonly #kept = new Map<string, Kept>();
  readonly #listeners = new Set<(owner: string, task: Task) => void>();

  constructor(options: TasksOptions = {}) {
    this.#durable = options.durable;
    this.#clock = options.clock ?? systemClock;
    this.#ttlMs = options.ttlMs ?? 3_600_000;
    this.#pollIntervalMs = options.pollIntervalMs ?? 1000;
    this.#graceMs = options.graceMs ?? 250;
    this.#maxPerOwner = options.maxPerOwner ?? 256;
  }

  hasRoomFor(owner: Principal): boolean {
    this.#sweep();
    const own = [...this.#kept.values()].filter(({ live }) => live.owner.id === owner.id);
    return own.length < this.#maxPerOwner;
  }

  /** Starts a call; returns its result if it finishes at once, otherwise a task. */
  async begin(beginning: TaskBeginning): Promise<{ task: Task } | { result: Result }> {
    const live = new LiveTask(beginning.owner, () => this.#clock.now());
    const outcome = await beginWork(live, beginning, this.#graceMs, this.#clock);
    return "later" in outcome ? { task: this.#keep(beginning, live, outcome.later) } : outcome;
  }

  async get(owner: Principal, taskId: string): Promise<Task | undefined> {
    this.#sweep();
    const kept = this.#find(owner, taskId);
    if (kept === undefined) return this.#durable?.read(owner, taskId);
    return kept.isDurable ? this.#withQuestions(owner, this.#describe(kept)) : this.#describe(kept);
  }

  /** False: the owner has no such task. Replies without an open question are ignored. */
  async answer(
    owner: Principal,
    taskId: string,
    responses: Readonly<Record<string, unknown>>,
  ): Promise<boolean> {
    const kept = this.#find(owner, taskId);
    if (kept === undefined && (await this.#durable?.read(owner, taskId)) === undefined)
      return false;
    for (const [key, response] of Object.entries(responses)) {
      if (kept?.live.answer(key, response)) continue;
      await this.#durable?.answer(owner, taskId, key, response);
    }
    return true;
  }

  /** False: the owner has no such task. A finished task stays as it is. */
  async cancel(owner: Principal, taskId: string): Promise<boolean> {
    const kept = this.#find(owner, taskId);
    if (kept === undefined && (await this.#durable?.read(owner, taskId)) === undefined)
      return false;
    kept?.live.cancel("The client cancelled its task.");
    if (kept === undefined || kept.isDurable) await this.#durable?.cancel(owner, taskId);
    return true;
  }

  /** Calls back after every change of the owner's tasks in this process. */
  watch(owner: Principal, listener: (task: Task) => void): () => void {
    const hear = (id: string, task: Task): void => {
      if (id === owner.id) listener(task);
    };
    this.#listeners.add(hear);
    return () => this.#listeners.delete(hear);
  }

  #keep({ owner, tool }: TaskBeginning, live: LiveTask, outcome: Promise<Finished>): Task {
    const { delegationId } = live;
    const durableId = delegationId && this.#durable?.idOf(tool, delegationId);
    const kept = { live, taskId: durableId || randomUUID(), isDurable: Boolean(durableId) };
    this.#kept.set(kept.taskId, kept);
    live.onChange = () => {
      const task = this.#describe(kept);
      for (const hear of this.#listeners) hear(owner.id, task);
    };
    void outcome.then((finish) => {
      try {
        live.complete(finish().result);
      } catch (error) {
        live.fail(error);
      }
    });
    return this.#describe(kept);
  }

  /** Adds the open questions of agents, which are in the log. */
  async #withQuestions(owner: Principal, task: Task): Promise<Task> {
    const { state } = task;
    if (isTerminal(state)) return task;
    const questions = await this.#durable?.questions(owner, task.taskId);
    const own = state.status === "input_required" ? state.inputRequests : {};
    const inputRequests = { ...questions, ...own };
    if (Object.keys(inputRequests).length === 0) return task;
    return { ...task, state: { status: "input_required", inputRequests } };
  }

  #describe({ live, taskId, isDurable }: Kept): Task {
    const ttlMs = isDurable ? null : this.#ttlMs;
    return live.describe({ taskId, ttlMs, pollIntervalMs: this.#pollIntervalMs });
  }

  #find(owner: Principal, taskId: string): Kept | undefined {
    const kept = this.#kept.get(taskId);
    return kept?.live.owner.id === owner.id ? kept : undefined;
  }

  /** Drops finished tasks after their time. */
  #sweep(): void {
    const now = this.#clock.now();
    for (const [taskId, { live }] of this.#kept) {
      if (live.isOver && now - live.createdAt > this.#ttlMs) this.#kept.delete(taskId);
    }
  }
}

export interface TaskBeginning {
  readonly owner: Principal;
  readonly tool: string;
  /** The call will name its delegation, and the task's id comes from that. */
  readonly delegates?: boolean | undefined;
  /** The client's request: until it is answered, cancelling it cancels the call. */
  readonly signal: AbortSignal;
  work(task: LiveTask): Promise<Result>;
}

/** Returns the result of a call, or throws its error. */
export type Finished = () => { readonly result: Result };

/** After so long without a delegation, a call becomes a task of this process only. */
const namingMs = 5000;

/** Starts a call. Returns its result if it finishes at once; `later`: it has become a task. */
async function beginWork(
  live: LiveTask,
  { delegates = false, signal, work }: TaskBeginning,
  graceMs: number,
  clock: Clock,
): Promise<{ readonly result: Result } | { readonly later: Promise<Finished> }> {
  const takeBack = (): void => live.cancel("The client took its request back.");
  const isTask = new Promise<"task">((resolve) => {
    live.onTask = () => resolve("task");
  });
  const grace = clock.after(graceMs, () => live.endGrace(delegates));
  const limit = clock.after(graceMs + namingMs, () => live.endGrace(false));
  signal.addEventListener("abort", takeBack, { once: true });
  try {
    const later = settle(work(live));
    const first = await Promise.race([later, isTask]);
    return first === "task" ? { later } : first();
  } finally {
    signal.removeEventListener("abort", takeBack);
    grace.cancel();
    limit.cancel();
  }
}

/** Keeps a failed call from becoming an unhandled rejection. */
async function settle(work: Promise<Result>): Promise<Finished> {
  try {
    const result = await work;
    return () => ({ result });
  } catch (error) {
    return () => {
      throw error;
    };
  }
}
