import type { Consent } from "../../events/consent.ts";
import { keptBy } from "../../events/delegation.ts";
import { sha256 } from "../../events/hash-chain.ts";
import { messageOf } from "../../ports/message-of.ts";
import type { ToolCall } from "../../ports/model.ts";
import {
  type GateCaller,
  type GateSubject,
  mayRedirect,
  passGate,
  refuse,
  ToolDeadline,
} from "../../tools/gate.ts";
import type { Tool, ToolContext, ToolResult } from "../../tools/tool.ts";
import { roomForOutput } from "../budget.ts";
import { findTool } from "../delegation-process.ts";
import { Stopped } from "../ends/ending.ts";
import { type LiveDelegation, priceOf, untrustedOf } from "../live-delegation.ts";
import { noteLateResult } from "../live-run.ts";
import { askPerson, consentOf } from "./ask-person.ts";
import { CallDelegator } from "./caller.ts";
import { keepsForCalls } from "./prompt.ts";

/** The calls that begin before the event loop gets a turn for other work. */
const burst = 128;

/**
 * Makes the calls of one turn, all through the gate. Calls that only read or delegate run side by
 * side; those that write or execute run one after the other, in the order the model gave. While all
 * open calls only wait for children or people, the slot is free for other delegations.
 */
export async function performCalls(live: LiveDelegation): Promise<undefined> {
  const { withdrawn } = live.said.transcript;
  const calls = live.said.transcript.pending.filter(({ result }) => result === undefined);
  const open = new OpenCalls(live);
  const turn = { open, withdrawn };
  const inOrder: PendingCall[] = [];
  let begun = 0;
  for (const pending of calls) {
    if (++begun % burst === 0) await new Promise((resolve) => setImmediate(resolve));
    live.work.throwIfStopped();
    const tool = findTool(live, pending.call.name);
    if (tool?.effect === "write" || tool?.effect === "exec") inOrder.push(pending);
    else open.follow(performCall(live, pending, turn), tool?.waits === true);
  }
  if (inOrder.length > 0) open.follow(performInOrder(live, inOrder, turn), false);
  await open.finished();
  const back = live.process.time.takeSlot();
  if (back) await live.work.interruptible(back);
}

type PendingCall = Pick<
  LiveDelegation["said"]["transcript"]["pending"][number],
  "call" | "started"
>;

interface CallsOfTurn {
  /** The budget is nearly spent: only tools that end the delegation are left. */
  readonly withdrawn: boolean;
  /** Absent: the call belongs to no turn, as those of another program's agent. */
  readonly open?: OpenCalls;
  /** The program that made the call stops it. */
  readonly signal?: AbortSignal | undefined;
}

async function performInOrder(
  live: LiveDelegation,
  calls: readonly PendingCall[],
  turn: CallsOfTurn,
): Promise<void> {
  for (const pending of calls) {
    live.work.throwIfStopped();
    await performCall(live, pending, turn);
  }
}

/** Performs a call, through the user's middleware and the gate. */
export function performCall(
  live: LiveDelegation,
  { call, started }: PendingCall,
  turn: CallsOfTurn,
): Promise<ToolResult> {
  const subject = new Subject(live, turn);
  // Most calls pass no middleware, and a thousand calls may be open at once.
  return live.said.halt === null && live.run.parts.middleware.call === undefined
    ? passGate(subject, call, started)
    : performGuarded(live, subject, call, started);
}

async function performGuarded(
  live: LiveDelegation,
  subject: Subject,
  call: ToolCall,
  started: boolean,
): Promise<ToolResult> {
  const { middleware } = live.run.parts;
  if (live.said.halt !== null && !started) {
    const reason = `Stopped before it began, by a watcher: ${live.said.halt}`;
    return refuse(subject, call, started, { rule: "interjected", reason });
  }
  if (middleware.call === undefined) return passGate(subject, call, started);
  let reason = "It was not let through.";
  try {
    const context = {
      runId: live.run.id,
      delegationId: live.id,
      parentId: live.parent?.id ?? null,
      depth: live.contract.parent.depth,
      contract: live.contract,
      call,
    };
    // A call that the middleware changed passes the gate as well; its id stays.
    const result: ToolResult | undefined = await middleware.call(context, (changed = call) =>
      passGate(subject, { ...changed, id: call.id }, started),
    );
    if (subject.wasRecorded) return result ?? { text: "" };
    // The middleware answered by itself. Without a record the model would wait for the call.
    reason = result?.text ?? reason;
  } catch (error) {
    live.work.throwIfStopped();
    reason = `The call was refused: ${messageOf(error)}`;
    if (subject.wasRecorded) return { text: reason, isError: true };
  }
  return refuse(subject, call, started, { rule: "middleware", reason });
}

/**
 * The calls of one turn that are under way. Gives the agent's slot back once every call that is
 * still open only waits, and knows when all are done. One object with few handlers: three hundred
 * calls may be open at once, each waiting for a child.
 */
class OpenCalls {
  readonly #live: LiveDelegation;
  /** Calls under way, plus one until all have begun. */
  #busy = 1;
  #waiting = 0;
  #error: unknown;
  #hasFailed = false;
  #settle: ((hasFailed: boolean) => void) | undefined;

  constructor(live: LiveDelegation) {
    this.#live = live;
  }

  /** `waits`: it waits for others, and needs no slot for that. */
  follow(call: Promise<unknown>, waits: boolean): void {
    if (waits) this.#waiting++;
    else this.#busy++;
    if (waits) call.then(this.#waited, this.#failedWaiting);
    else call.then(this.#worked, this.#failedWorking);
    // The call has begun by now, and may already be asking.
    this.#consider();
  }

  /** When all are done, or the first has failed; then it throws what that one threw. */
  async finished(): Promise<void> {
    this.#busy--;
    this.#consider();
    const isOpen = this.#busy + this.#waiting > 0;
    if (isOpen && !this.#hasFailed) {
      await new Promise<boolean>((resolve) => {
        this.#settle = resolve;
      });
    }
    if (this.#hasFailed) throw this.#error;
  }

  /** A person may take an hour: until then the slot is free for other delegations. */
  async whileAsking<Outcome>(asking: Promise<Outcome>): Promise<Outcome> {
    this.#busy--;
    this.#waiting++;
    this.#consider();
    try {
      return await asking;
    } finally {
      this.#waiting--;
      this.#busy++;
      const back = this.#live.process.time.takeSlot();
      if (back) await this.#live.work.interruptible(back);
    }
  }

  readonly #waited = (): void => {
    this.#waiting--;
    this.#ended();
  };

  readonly #worked = (): void => {
    this.#busy--;
    this.#ended();
  };

  readonly #failedWaiting = (error: unknown): void => {
    this.#fail(error);
    this.#waited();
  };

  readonly #failedWorking = (error: unknown): void => {
    this.#fail(error);
    this.#worked();
  };

  #fail(error: unknown): void {
    if (!this.#hasFailed) this.#error = error;
    this.#hasFailed = true;
    this.#settle?.(true);
  }

  #ended(): void {
    if (this.#busy + this.#waiting === 0) this.#settle?.(this.#hasFailed);
    else this.#consider();
  }

  #consider(): void {
    if (this.#busy === 0 && this.#waiting > 0) this.#live.process.time.giveSlot();
  }
}

/** One call of a delegation, as the gate sees it. */
class Subject implements GateSubject {
  readonly caller: Caller;
  wasRecorded = false;
  readonly #live: LiveDelegation;
  readonly #open: OpenCalls | undefined;
  readonly #attempt: number;
  readonly #stop: AbortSignal | undefined;
  #delegator: CallDelegator | undefined;
  #deadline: AbortController | undefined;

  constructor(live: LiveDelegation, { open, signal, withdrawn }: CallsOfTurn) {
    this.caller = new Caller(live, withdrawn);
    this.#live = live;
    this.#open = open;
    this.#stop = signal;
    this.#attempt = live.state.attempt;
  }

  async approve(call: ToolCall, question: string): Promise<Consent> {
    const about = sha256(JSON.stringify([call.name, call.input]));
    const asked = { callId: call.id, kind: "approval", about, question } as const;
    const asking = askPerson(this.#live, asked);
    const outcome = await (this.#open === undefined ? asking : this.#open.whileAsking(asking));
    return consentOf(outcome);
  }

  record(event: Parameters<GateSubject["record"]>[0]): void {
    const live = this.#live;
    this.checkStopped();
    if (event.type !== "agent.tool_started") {
      this.wasRecorded = true;
      live.record(event);
      return;
    }
    const { effect } = findTool(live, event.payload.tool) ?? {};
    if (effect === "exec") live.process.holdsProcesses = true;
    const keeps = keepsForCalls(live, event.payload.call_id);
    live.record(keeps ? { ...event, payload: { ...event.payload, keeps } } : event);
  }

  checkStopped(): void {
    this.#live.work.throwIfStopped();
    // The attempt of the call was cut, and the next attempt knows nothing of this call.
    if (this.#live.state.attempt !== this.#attempt) {
      const { attempt_timeout_ms: ms } = this.#live.contract.execution;
      throw new Stopped({ code: "attempt_deadline", ms });
    }
  }

  deliveredBy(): readonly string[] | undefined {
    return this.#delegator?.results.handedOver;
  }

  isTainted(): boolean {
    return this.#delegator?.results.hasUntrusted === true;
  }

  contextOf(call: ToolCall): ToolContext {
    return new CallContext(this.#live, call, this);
  }

  onRecorded(): void {
    this.wasRecorded = true;
  }

  /** Most tools delegate nothing and never ask for it. */
  delegatorFor(call: ToolCall): CallDelegator {
    this.#delegator ??= new CallDelegator(this.#live, call, this);
    return this.#delegator;
  }

  /** Made when a tool asks for it: most do not. */
  get signal(): AbortSignal {
    if (this.#deadline === undefined) {
      const deadline = new AbortController();
      this.#deadline = deadline;
      this.#live.work.onStop((reason) => deadline.abort(reason));
      if (this.#stop?.aborted) deadline.abort(this.#stop.reason);
      this.#stop?.addEventListener("abort", () => deadline.abort(this.#stop?.reason));
    }
    return this.#deadline.signal;
  }

  within<Output>(tool: Tool, running: Promise<Output>): Promise<Output> {
    const live = this.#live;
    if (tool.waits) return live.work.interruptible(running);
    return new Promise((resolve, reject) => {
      const ms = live.contract.deadlines.tool;
      let isLate = false;
      let forget = (): void => undefined;
      const end = (): void => {
        isLate = true;
        timer.cancel();
        forget();
      };
      const fail = (reason: unknown): void => {
        end();
        reject(reason);
      };
      const timer = live.run.parts.clock.after(ms, () => {
        const reason = new ToolDeadline({ code: "tool_deadline", tool: tool.name, ms });
        this.#deadline?.abort(reason);
        fail(reason);
      });
      // The work may have been stopped already: then `fail` is called at once.
      forget = live.work.onStop(fail);
      running.then((result) => {
        if (isLate) return noteLateResult(live, { code: "late_tool_result", tool: tool.name });
        end();
        resolve(result);
      }, fail);
    });
  }
}

/** A delegation, as the gate sees it. */
class Caller implements GateCaller {
  readonly withdrawn: boolean;
  readonly #live: LiveDelegation;

  constructor(live: LiveDelegation, withdrawn: boolean) {
    this.#live = live;
    this.withdrawn = withdrawn;
  }

  get id(): string {
    return this.#live.id;
  }

  get contract(): GateCaller["contract"] {
    return this.#live.contract;
  }

  get find(): GateCaller["find"] {
    return (name) => findTool(this.#live, name);
  }

  get isUnattended(): boolean {
    const { run, said } = this.#live;
    return said.isUnattended || run.parts.isAttended?.() === false;
  }

  get messages(): GateCaller["messages"] {
    return this.#live.said.transcript.messages;
  }

  get untrusted(): string | null {
    return untrustedOf(this.#live);
  }

  get wasToldPrivate(): boolean {
    return this.#live.said.evidence.holdsPrivate;
  }

  get outputBytes(): number {
    const { budget, contract, process, run } = this.#live;
    const { transcript } = this.#live.said;
    const { toolOutputBytes: most } = run.parts.limits;
    // A replay shows what was shown, and counts on nothing.
    if (!Number.isFinite(most)) return most;
    const prompt =
      (transcript.countedTokens ?? process.request.promptBound) + transcript.bytesSince;
    const { reserve } = contract.budget;
    const kept = keptBy(this.#live.state)?.tokens ?? 0;
    const room = roomForOutput({
      prompt,
      available: budget.available,
      // What is kept back beyond the prompt is for results of children.
      keepBack: Math.max(reserve, kept - prompt),
      price: priceOf(this.#live),
    });
    return Math.min(most, room);
  }

  durable(): Promise<unknown> {
    return this.#live.process.appends.durable();
  }

  keepArtifact(body: string): ReturnType<GateCaller["keepArtifact"]> {
    return this.#live.run.parts.store.keepArtifact(body);
  }
}

/** What a tool gets to see. A class of few fields, since a thousand calls may be open at once. */
class CallContext implements ToolContext {
  readonly #live: LiveDelegation;
  readonly #call: ToolCall;
  readonly #subject: Subject;

  constructor(live: LiveDelegation, call: ToolCall, subject: Subject) {
    this.#live = live;
    this.#call = call;
    this.#subject = subject;
  }

  get delegationId(): string {
    return this.#live.id;
  }

  get runId(): string {
    return this.#live.run.id;
  }

  get callId(): string {
    return this.#call.id;
  }

  get workspace(): ToolContext["workspace"] {
    return this.#live.workspace;
  }

  get skills(): ToolContext["skills"] {
    return this.#live.contract.permissions.skills;
  }

  get network(): ToolContext["network"] {
    return this.#live.contract.permissions.network;
  }

  get rules(): ToolContext["rules"] {
    return this.#live.contract.permissions.rules;
  }

  get mayLeadTo(): (url: URL, from: URL) => boolean {
    const { name } = this.#call;
    return (url, from) => mayRedirect(this.#subject.caller, name, url, from);
  }

  get delegator(): CallDelegator {
    return this.#subject.delegatorFor(this.#call);
  }

  get signal(): AbortSignal {
    return this.#subject.signal;
  }
}
