import { randomUUID } from "node:crypto";
import { type InputRequest, ProtocolError, type Result } from "@modelcontextprotocol/server";
import type { Principal } from "../../../control/records/principal.ts";
import { messageOf } from "../../../ports/message-of.ts";
import { headOf } from "../../../text.ts";
import { isTerminal, type Task, type TaskCall, type TaskError, type TaskState } from "./task.ts";

const internalError = -32_603;
const maxMessageLength = 500;
/** Most open questions of a call. */
const maxOpenInputs = 64;

interface OpenInput {
  readonly request: InputRequest;
  resolve(response: unknown): void;
  reject(error: Error): void;
}

/** A call that this process works on; it may or may not become a task. */
export class LiveTask implements TaskCall {
  readonly owner: Principal;
  /** Called after every change that a client can see. */
  onChange: () => void = () => undefined;
  /** Called when the call becomes a task. */
  onTask: () => void = () => undefined;
  delegationId: string | undefined;
  /** The client has received a task, or is about to. */
  isTask = false;
  readonly #now: () => number;
  readonly #controller = new AbortController();
  readonly #inputs = new Map<string, OpenInput>();
  readonly #createdAt: number;
  #updatedAt: number;
  #isDue = false;
  #message: string | undefined;
  #state: TaskState = { status: "working" };

  constructor(owner: Principal, now: () => number) {
    this.owner = owner;
    this.#now = now;
    this.#createdAt = now();
    this.#updatedAt = this.#createdAt;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isOver(): boolean {
    return isTerminal(this.#state);
  }

  get createdAt(): number {
    return this.#createdAt;
  }

  describe(named: Pick<Task, "taskId" | "ttlMs" | "pollIntervalMs">): Task {
    return {
      ...named,
      createdAt: this.#createdAt,
      lastUpdatedAt: this.#updatedAt,
      ...(this.#message !== undefined && { statusMessage: this.#message }),
      state: this.#state,
    };
  }

  report(message: string): void {
    if (this.isOver) return;
    this.#message = headOf(message, maxMessageLength);
    this.#changed();
  }

  onDelegation(delegationId: string): void {
    this.delegationId ??= delegationId;
    if (this.#isDue) this.#becomeTask();
  }

  /**
   * The call did not finish at once. `waitsForName`: wait for its delegation, by which the task can
   * be found again.
   */
  endGrace(waitsForName: boolean): void {
    this.#isDue = true;
    if (!waitsForName || this.delegationId !== undefined) this.#becomeTask();
  }

  requestInput(request: InputRequest): Promise<unknown> {
    if (this.isOver) return Promise.reject(new Error("The task is over."));
    if (this.#inputs.size >= maxOpenInputs) return Promise.reject(new Error("Too many questions."));
    return new Promise((resolve, reject) => {
      this.#inputs.set(randomUUID(), { request, resolve, reject });
      this.#waits();
      this.#becomeTask();
    });
  }

  /** False: there is no such open question. */
  answer(key: string, response: unknown): boolean {
    const input = this.#inputs.get(key);
    if (input === undefined) return false;
    this.#inputs.delete(key);
    this.#waits();
    input.resolve(response);
    return true;
  }

  /** Completes the task. If it ends twice, the first end counts. */
  complete(result: Result): void {
    this.#end({ status: "completed", result });
  }

  fail(error: unknown): void {
    this.#end({ status: "failed", error: errorOf(error) });
  }

  cancel(reason: string): void {
    this.#end({ status: "cancelled" });
    this.#controller.abort(new Error(reason));
  }

  #becomeTask(): void {
    this.isTask = true;
    this.onTask();
  }

  #waits(): void {
    const open = [...this.#inputs].map(([key, { request }]) => [key, request] as const);
    this.#state =
      open.length === 0
        ? { status: "working" }
        : { status: "input_required", inputRequests: Object.fromEntries(open) };
    this.#changed();
  }

  #end(state: TaskState): void {
    if (this.isOver) return;
    this.#state = state;
    for (const { reject } of this.#inputs.values()) reject(new Error("The task is over."));
    this.#inputs.clear();
    this.#changed();
  }

  #changed(): void {
    this.#updatedAt = this.#now();
    this.onChange();
  }
}

function errorOf(error: unknown): TaskError {
  if (!(error instanceof ProtocolError)) return { code: internalError, message: messageOf(error) };
  const { code, message, data } = error;
  return { code, message, ...(data !== undefined && { data }) };
}
