import type { Clock } from "../../ports/clock.ts";
import type {
  DelegationRequest,
  Delegator,
  EarlierCall,
  StartOutcome,
  WorkflowEvent,
  WorkflowRecorder,
} from "../../ports/delegator.ts";
import { messageOf } from "../../ports/message-of.ts";
import { headOf } from "../../text.ts";
import {
  type Arrived,
  type CallResult,
  type OpenCall,
  ResultsInOrder,
} from "./results-in-order.ts";
import {
  type CallOutcome,
  contentOf,
  labelOf,
  objectionTo,
  outcomeOf,
  refusedOutcome,
  requestFor,
  thrown,
} from "./workflow-agent.ts";
import { CallKeys, recordedIn, settlement, type WorkflowHistory } from "./workflow-history.ts";
import type { ScriptError, WorkflowRequest } from "./workflow-request.ts";
import {
  type ScriptReply,
  ScriptStopped,
  WorkflowVm,
  type WorkflowVmOptions,
} from "./workflow-vm.ts";

export interface WorkflowParts {
  readonly delegator: Pick<
    Delegator,
    "cancel" | "keepArtifact" | "readArtifact" | "results" | "start"
  >;
  readonly recorder: WorkflowRecorder;
  readonly clock: Clock;
  /** Aborts when the script is no longer wanted. */
  readonly signal: AbortSignal;
  /** The script that another one calls; throws a sentence when it cannot be run. */
  findChild(ref: unknown): Promise<ChildScript>;
}

export interface ChildScript {
  readonly name: string;
  readonly body: string;
}

export interface WorkflowOrder
  extends Pick<WorkflowVmOptions, "args" | "body" | "memoryBytes" | "stretchMs"> {
  readonly started: Extract<WorkflowEvent, { type: "agent.workflow_started" }>["payload"];
  /** The cap of output tokens; null: none. */
  readonly total: number | null;
  readonly maxAgents: number;
  readonly maxConcurrent: number;
}

export type WorkflowEnd =
  | { readonly json: string }
  | { readonly failed: ScriptError; readonly place?: string };

type Asking = Extract<WorkflowRequest, { readonly id: number }>;

/** Agents, timers and child scripts of one run: each is in its log, also when it is refused. */
const mostCalls = (maxAgents: number): number => 1000 + 10 * maxAgents;
/** More lines are no help for a person. */
const mostNotes = 10_000;

/**
 * Runs a script: its calls become children of one call of its runner, and every result is recorded
 * before the script sees it. Nothing here has to survive a crash: the call is made again, the script
 * runs from its beginning, and recorded results are given to it in recorded order.
 */
export class CarriedOutWorkflow {
  /** The children whose results the script was given, or that it left. */
  readonly children = new Set<string>();
  readonly #order: WorkflowOrder;
  readonly #parts: WorkflowParts;
  readonly #history: WorkflowHistory;
  readonly #earlier: ReadonlyMap<string, EarlierCall>;
  readonly #keys = new CallKeys();
  readonly #results: ResultsInOrder;
  readonly #window: Window;
  readonly #timers = new Map<number, () => void>();
  /** Children that are being started, and those that have not closed. */
  readonly #starting = new Set<Promise<StartOutcome>>();
  readonly #open = new Set<string>();
  #agents = 0;
  #calls = 0;
  #notes = 0;
  #spent = 0;
  #vm: WorkflowVm | undefined;

  private constructor(
    order: WorkflowOrder,
    parts: WorkflowParts,
    history: WorkflowHistory,
    earlier: ReadonlyMap<string, EarlierCall>,
  ) {
    this.#order = order;
    this.#parts = parts;
    this.#history = history;
    this.#earlier = earlier;
    this.#results = new ResultsInOrder(parts.recorder);
    this.#window = new Window(order.maxConcurrent);
  }

  static async prepare(order: WorkflowOrder, parts: WorkflowParts): Promise<CarriedOutWorkflow> {
    const { recorder } = parts;
    const history = recordedIn(await recorder.read());
    const earlier = await recorder.earlier(order.started.resumes);
    if (!history.isStarted) {
      await recorder.record([{ type: "agent.workflow_started", payload: order.started }]);
    }
    return new CarriedOutWorkflow(order, parts, history, earlier);
  }

  async run(): Promise<WorkflowEnd> {
    const { args, body, memoryBytes, stretchMs, total } = this.#order;
    const { signal } = this.#parts;
    const stop = (): void => this.#stop(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    const options = {
      ...(memoryBytes !== undefined && { memoryBytes }),
      ...(stretchMs !== undefined && { stretchMs }),
    };
    try {
      signal.throwIfAborted();
      this.#vm = await WorkflowVm.open({ ...options, args, body, total });
      signal.throwIfAborted();
      const end = await this.#advance(this.#vm);
      await this.#leave();
      return end;
    } catch (error) {
      const why = this.#results.failure ?? error;
      if (!(why instanceof ScriptStopped)) throw why;
      await this.#leave();
      return { failed: { name: why.name, message: why.message } };
    } finally {
      signal.removeEventListener("abort", stop);
      this.#window.close();
      for (const cancel of this.#timers.values()) cancel();
      await this.#vm?.close();
    }
  }

  async #advance(vm: WorkflowVm): Promise<WorkflowEnd> {
    for (let requests = await vm.begin(); ; ) {
      for (const request of requests) {
        const end = this.#take(request);
        if (end !== undefined) return end;
      }
      const results = await this.#results.next();
      if (results.length === 0) {
        const message = "The script waits for something that never happens.";
        return { failed: { name: "Error", message } };
      }
      requests = await vm.reply(results.map((one) => this.#give(one)));
    }
  }

  #give({ call, child, outcome }: Arrived): ScriptReply {
    this.#spent += outcome.completion ?? 0;
    const about = { id: call.id, spent: this.#spent };
    const reply =
      outcome.outcome === "error"
        ? { ...about, error: outcome.error }
        : { ...about, value: outcome.outcome === "null" ? null : outcome.value };
    return { reply, child };
  }

  /** Begins what the script asks for; returns how the script ended, if it did. */
  #take(request: WorkflowRequest): WorkflowEnd | undefined {
    const most = mostCalls(this.#order.maxAgents);
    if ("id" in request && ++this.#calls > most) {
      throw new ScriptStopped(`The script made more than ${most} calls.`);
    }
    switch (request.kind) {
      case "log":
        this.#note("log", request.text);
        return undefined;
      case "phase":
        this.#note("phase", request.title);
        return undefined;
      case "clear":
        this.#timers.get(request.timer)?.();
        return undefined;
      case "agent":
        this.#agent(request);
        return undefined;
      case "timer":
        this.#timer(request);
        return undefined;
      case "workflow":
        this.#child(request);
        return undefined;
      case "done":
        return { json: request.json };
      case "failed": {
        const { error, place } = request;
        return { failed: error, ...(place !== undefined && { place }) };
      }
      default:
        return request satisfies never;
    }
  }

  /** What was noted before a crash is noted again in the same order. */
  #note(kind: "phase" | "log", text: string): void {
    this.#notes += 1;
    if (this.#notes <= this.#history.notes || this.#notes > mostNotes) return;
    const shown = this.#notes === mostNotes ? "(Further lines are left out.)" : headOf(text, 4000);
    this.#record({ type: "agent.workflow_noted", payload: { kind, text: shown } });
  }

  #agent(request: Extract<Asking, { kind: "agent" }>): void {
    const key = this.#keys.next(contentOf(request));
    const call = { id: request.id, key };
    this.#agents += 1;
    const { maxAgents, total } = this.#order;
    const result = async (id: string): Promise<CallOutcome> => {
      const own = await this.#parts.delegator.results.of(id);
      if (own !== null) this.children.add(id);
      const found = own ?? (await this.#parts.recorder.resultOf(id));
      return found ? outcomeOf(found, request) : thrown(`The result of ${id} was removed.`);
    };
    if (this.#isRecorded(call, result)) return;
    const label = labelOf(request);
    const { phase } = request;
    const about = {
      key,
      kind: "agent" as const,
      label,
      ...(phase !== undefined && { phase: headOf(phase, 200) }),
    };
    const before = this.#earlier.get(key);
    const { delegation } = before ?? {};
    if (before?.state === "completed" && delegation !== undefined) {
      this.#called({ ...about, taken_from: delegation });
      this.#knows(call, before.position, () => result(delegation));
      return;
    }
    this.#called({ ...about, ...this.#reasonFor(key, label) });
    const objection =
      this.#agents > maxAgents
        ? `A workflow has at most ${maxAgents} agents.`
        : total !== null && this.#spent >= total
          ? `The budget of ${total} output tokens is used up.`
          : objectionTo(request);
    this.#results.follow(call, async () => {
      if (objection !== undefined) return { outcome: thrown(objection) };
      await this.#window.enter();
      try {
        return { outcome: await this.#delegate(request, key) };
      } finally {
        this.#window.leave();
      }
    });
  }

  async #delegate(request: Extract<Asking, { kind: "agent" }>, key: string): Promise<CallOutcome> {
    const { delegator, signal } = this.#parts;
    signal.throwIfAborted();
    const starting = this.#start(requestFor(request, key));
    this.#starting.add(starting);
    const started = await starting;
    this.#starting.delete(starting);
    if (!started.started) return refusedOutcome(started, request);
    const { delegationId } = started;
    const result = (await delegator.results.join([delegationId], undefined)).get(delegationId);
    this.#open.delete(delegationId);
    return result ? outcomeOf(result, request) : thrown(`${delegationId} ended without a result.`);
  }

  async #start(request: DelegationRequest): Promise<StartOutcome> {
    const started = await this.#parts.delegator.start(request, "delegate");
    if (started.started) {
      this.children.add(started.delegationId);
      this.#open.add(started.delegationId);
    }
    return started;
  }

  #timer(request: Extract<Asking, { kind: "timer" }>): void {
    const { id, ms } = request;
    const key = this.#keys.next({ kind: "timer", ms });
    const call = { id, key };
    const fired: CallOutcome = { outcome: "value", value: null };
    if (this.#isRecorded(call, async () => fired)) return;
    const { clock } = this.#parts;
    const before = this.#earlier.get(key);
    const wait = before?.state === "completed" ? 0 : ms;
    const due = this.#history.due.get(key) ?? clock.now() + wait;
    this.#called({ key, kind: "timer", label: `${ms} ms`, due_at: due });
    this.#results.follow(call, async () => {
      await new Promise<void>((resolve) => {
        const timer = clock.after(Math.max(0, due - clock.now()), resolve);
        this.#timers.set(id, () => {
          timer.cancel();
          resolve();
        });
      });
      this.#timers.delete(id);
      return { outcome: fired };
    });
  }

  #child(request: Extract<Asking, { kind: "workflow" }>): void {
    const { id, ref } = request;
    const key = this.#keys.next({ kind: "workflow", ref });
    const call = { id, key };
    const recorded = this.#history.scripts.get(key);
    const label = headOf(typeof ref === "string" ? ref : JSON.stringify(ref ?? null), 200);
    const find = async (): Promise<ChildScript> => {
      const { delegator, findChild } = this.#parts;
      const stored = recorded === undefined ? undefined : await delegator.readArtifact(recorded);
      if (stored !== undefined) return JSON.parse(stored) as ChildScript;
      const found = await findChild(ref);
      const script = await delegator.keepArtifact(JSON.stringify(found));
      this.#called({ key, kind: "workflow", label, script });
      return found;
    };
    const open = async (): Promise<CallResult> => {
      try {
        const { body, name } = await find();
        return { outcome: { outcome: "value", value: name }, child: body };
      } catch (error) {
        if (this.#parts.signal.aborted) throw error;
        return { outcome: thrown(messageOf(error)) };
      }
    };
    const settled = this.#history.settled.get(key);
    if (settled === undefined) {
      this.#results.follow(call, open);
      return;
    }
    const { error, outcome, position } = settled;
    const failed = outcome === "error" && error ? { outcome: { outcome, error } } : undefined;
    this.#results.known(call, position, async () => failed ?? open());
  }

  /** In this run, before a crash. */
  #isRecorded(call: OpenCall, resultOf: (id: string) => Promise<CallOutcome>): boolean {
    const settled = this.#history.settled.get(call.key);
    if (settled === undefined) return false;
    const { completion, delegation, error, outcome, position } = settled;
    this.#results.known(call, position, async () => {
      if (delegation !== undefined && outcome !== "value") this.children.add(delegation);
      const given =
        outcome === "value"
          ? await resultOf(delegation ?? "")
          : { outcome, error: error ?? { name: "Error", message: "" } };
      return { outcome: { ...given, ...(completion !== undefined && { completion }) } };
    });
    return true;
  }

  /** A result of an earlier run, which is recorded in this one as well. */
  #knows(call: OpenCall, position: number, take: () => Promise<CallOutcome>): void {
    this.#results.known(call, this.#history.settled.size + position, async () => {
      const outcome = await take();
      this.#record(settlement(call, outcome));
      return { outcome };
    });
  }

  #reasonFor(key: string, label: string): Pick<CalledPayload, "why"> | undefined {
    if (this.#earlier.size === 0) return undefined;
    const before = this.#earlier.get(key);
    if (before !== undefined && before.state !== "completed") return { why: before.state };
    const isKnown = [...this.#earlier.values()].some((one) => one.label === label);
    return { why: isKnown ? "changed" : "new" };
  }

  #called(payload: CalledPayload): void {
    if (this.#history.called.has(payload.key)) return;
    this.#record({ type: "agent.workflow_called", payload });
  }

  /** Records an event without waiting: the next record that is awaited comes after it. */
  #record(event: WorkflowEvent): void {
    this.#parts.recorder.record([event]).catch((error: unknown) => this.#stop(error));
  }

  #stop(reason: unknown): void {
    this.#results.stop(reason);
    void this.#vm?.close();
  }

  /** Closes what the script left open when it ended. */
  async #leave(): Promise<void> {
    this.#window.close();
    await Promise.allSettled(this.#starting);
    for (const id of this.#open) await this.#parts.delegator.cancel(id, "The workflow has ended.");
  }
}

type CalledPayload = Extract<WorkflowEvent, { type: "agent.workflow_called" }>["payload"];

/** A fixed number of agents of a script work at once; the others wait in the order of their calls. */
class Window {
  #free: number;
  #waiting: PromiseWithResolvers<void>[] = [];

  constructor(size: number) {
    this.#free = size;
  }

  enter(): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve();
    }
    const place = Promise.withResolvers<void>();
    this.#waiting.push(place);
    return place.promise;
  }

  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next.resolve();
  }

  close(): void {
    this.#waiting = [];
  }
}
