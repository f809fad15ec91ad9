import { messageOf } from "../../ports/message-of.ts";
import type { ToolCall } from "../../ports/model.ts";
import { type GateSubject, isOpenTo, passGate, refuse } from "../../tools/gate.ts";
import type { Tool, ToolContext, ToolResult } from "../../tools/tool.ts";
import type { Agent } from "../agent.ts";
import { Stopped } from "../ends/ending.ts";
import { askPerson, isConsent } from "./ask-person.ts";
import { type CallDelegator, callerOf, type DelegatingCall } from "./caller.ts";
import { noteLateResult } from "./late-result.ts";
import { OpenCalls } from "./open-calls.ts";
import { roomForOutput } from "./plan-turn.ts";

/** So many calls are begun before the event loop gets a turn for others. */
const burst = 128;

/**
 * Makes the calls of one turn, all through the gate. Calls that only read or delegate run side by
 * side; those that write or execute run one after the other, in the order the model gave. While
 * nothing is left but waiting for children or people, the slot is given to somebody else.
 */
export async function performCalls(agent: Agent, withdrawn: boolean): Promise<void> {
  const calls = agent.transcript.pending.filter(({ result }) => result === undefined);
  const open = new OpenCalls(agent);
  const inOrder: PendingCall[] = [];
  let begun = 0;
  for (const pending of calls) {
    if (++begun % burst === 0) await new Promise((resolve) => setImmediate(resolve));
    agent.throwIfStopped();
    const { call, started } = pending;
    const tool = agent.findTool(call.name);
    if (tool?.effect === "write" || tool?.effect === "exec") inOrder.push(pending);
    else open.follow(performCall(agent, call, started, withdrawn, open), tool?.waits === true);
  }
  if (inOrder.length > 0) open.follow(performInOrder(agent, inOrder, withdrawn, open), false);
  await open.finished();
  const back = agent.time.takeSlot();
  if (back) await agent.interruptible(back);
}

type PendingCall = Agent["transcript"]["pending"][number];

async function performInOrder(
  agent: Agent,
  calls: readonly PendingCall[],
  withdrawn: boolean,
  open: OpenCalls,
): Promise<void> {
  for (const { call, started } of calls) {
    agent.throwIfStopped();
    await performCall(agent, call, started, withdrawn, open);
  }
}

/** One call, through the user's middleware and the gate. */
export function performCall(
  agent: Agent,
  call: ToolCall,
  started: boolean,
  withdrawn: boolean,
  open?: OpenCalls,
): Promise<ToolResult> {
  const subject = new Subject(agent, withdrawn, open);
  // Most calls meet nobody before the gate, and a thousand may wait behind it at once.
  return agent.halt === null && agent.run.parts.middleware.call === undefined
    ? passGate(subject, call, started)
    : performGuarded(agent, subject, call, started);
}

async function performGuarded(
  agent: Agent,
  subject: Subject,
  call: ToolCall,
  started: boolean,
): Promise<ToolResult> {
  const { middleware } = agent.run.parts;
  if (agent.halt !== null && !started) {
    const reason = `Stopped before it began, by somebody who watches: ${agent.halt}`;
    return refuse(subject, call, started, { rule: "interjected", reason });
  }
  if (middleware.call === undefined) return passGate(subject, call, started);
  let reason = "It was not let through.";
  try {
    const context = {
      runId: agent.run.id,
      delegationId: agent.id,
      parentId: agent.parent?.id ?? null,
      depth: agent.depth,
      contract: agent.contract,
      call,
    };
    // Whatever it changes passes the gate like anything else; only the identity stays.
    const result: ToolResult | undefined = await middleware.call(context, (changed = call) =>
      passGate(subject, { ...changed, id: call.id }, started),
    );
    if (subject.wasRecorded) return result ?? { text: "" };
    // It answered by itself; a call without a record would leave the model waiting.
    reason = result?.text ?? reason;
  } catch (error) {
    agent.throwIfStopped();
    reason = `The call was refused: ${messageOf(error)}`;
    if (subject.wasRecorded) return { text: reason, isError: true };
  }
  return refuse(subject, call, started, { rule: "middleware", reason });
}

/** One call of one agent, as the gate sees it. */
class Subject implements GateSubject, DelegatingCall {
  readonly withdrawn: boolean;
  wasRecorded = false;
  readonly #agent: Agent;
  readonly #open: OpenCalls | undefined;
  readonly #attempt: number;
  #delegator: CallDelegator | undefined;
  #deadline: AbortController | undefined;

  constructor(agent: Agent, withdrawn: boolean, open: OpenCalls | undefined) {
    this.#agent = agent;
    this.#open = open;
    this.#attempt = agent.attempt;
    this.withdrawn = withdrawn;
  }

  get find(): GateSubject["find"] {
    return (name) => this.#agent.findTool(name);
  }

  async approve(call: ToolCall, question: string): Promise<boolean> {
    const asking = askPerson(this.#agent, call.id, question, "approval");
    const outcome = await (this.#open === undefined ? asking : this.#open.whileAsking(asking));
    this.#agent.isUnattended = !outcome.answered;
    return isConsent(outcome);
  }

  get isUnattended(): boolean {
    return this.#agent.isUnattended;
  }

  get id(): string {
    return this.#agent.id;
  }

  get contract(): GateSubject["contract"] {
    return this.#agent.contract;
  }

  get untrusted(): string | null {
    return this.#agent.untrusted;
  }

  get outputBytes(): number {
    const { account, contract, promptBound, run, transcript } = this.#agent;
    const { toolOutputBytes: most } = run.parts.limits;
    // A replay shows what was shown, and counts on nothing.
    if (!Number.isFinite(most)) return most;
    const room = roomForOutput({
      prompt: (transcript.countedTokens ?? promptBound) + transcript.bytesSince,
      available: account.available,
      keepBack: contract.budget.reserve,
      price: this.#agent.price,
    });
    return Math.min(most, room);
  }

  record(event: Parameters<GateSubject["record"]>[0]): void {
    const agent = this.#agent;
    this.checkStopped();
    if (event.type === "agent.tool_started") {
      agent.callBegan(event.payload.call_id, event.payload.tool);
      if (agent.findTool(event.payload.tool)?.effect === "exec") agent.holdsProcesses = true;
    } else {
      this.wasRecorded = true;
      if ("call_id" in event.payload && event.payload.call_id !== null)
        agent.callEnded(event.payload.call_id);
    }
    agent.record(event);
  }

  durable(): Promise<void> {
    return this.#agent.appends.durable();
  }

  checkStopped(): void {
    this.#agent.throwIfStopped();
    // Its attempt was cut, and the next one knows nothing of this call.
    if (this.#agent.attempt !== this.#attempt) throw new Stopped("timeout", "It came too late.");
  }

  keepArtifact(body: string): ReturnType<GateSubject["keepArtifact"]> {
    return this.#agent.run.parts.store.keepArtifact(body);
  }

  deliveredBy(): readonly string[] | undefined {
    return this.#delegator?.handedOver;
  }

  broughtUntrusted(): boolean {
    return this.#delegator?.hasUntrusted === true;
  }

  contextOf(call: ToolCall): ToolContext {
    return new CallContext(this.#agent, call, this);
  }

  onRecorded(): void {
    this.wasRecorded = true;
  }

  /** Most tools delegate nothing and never ask for it. */
  delegatorFor(call: ToolCall): CallDelegator {
    this.#delegator ??= callerOf(this.#agent, call, this);
    return this.#delegator;
  }

  /** Made when a tool asks for it: most do not. */
  get signal(): AbortSignal {
    if (this.#deadline === undefined) {
      const deadline = new AbortController();
      this.#deadline = deadline;
      this.#agent.onStop((reason) => deadline.abort(reason));
    }
    return this.#deadline.signal;
  }

  within<Output>(tool: Tool, running: Promise<Output>): Promise<Output> {
    const agent = this.#agent;
    if (tool.waits) return agent.interruptible(running);
    return new Promise((resolve, reject) => {
      const ms = agent.contract.deadlines.tool;
      let isLate = false;
      let forget = (): void => undefined;
      const end = (): void => {
        isLate = true;
        clearTimeout(timer);
        forget();
      };
      const fail = (reason: unknown): void => {
        end();
        reject(reason);
      };
      const timer = setTimeout(() => {
        const reason = new Error(`${tool.name} took longer than ${ms} ms and was stopped.`);
        this.#deadline?.abort(reason);
        fail(reason);
      }, ms);
      // It may have been stopped already, and is told so at once.
      forget = agent.onStop(fail);
      running.then((result) => {
        if (isLate) return noteLateResult(agent, `the result of ${tool.name}`);
        end();
        resolve(result);
      }, fail);
    });
  }
}

/** What a tool gets to see. A class of few fields, since a thousand calls may be open at once. */
class CallContext implements ToolContext {
  readonly #agent: Agent;
  readonly #call: ToolCall;
  readonly #subject: Subject;

  constructor(agent: Agent, call: ToolCall, subject: Subject) {
    this.#agent = agent;
    this.#call = call;
    this.#subject = subject;
  }

  get delegationId(): string {
    return this.#agent.id;
  }

  get runId(): string {
    return this.#agent.run.id;
  }

  get callId(): string {
    return this.#call.id;
  }

  get workspace(): ToolContext["workspace"] {
    return this.#agent.workspace;
  }

  get skills(): ToolContext["skills"] {
    return this.#agent.contract.permissions.skills;
  }

  get network(): ToolContext["network"] {
    return this.#agent.contract.permissions.network;
  }

  get rules(): ToolContext["rules"] {
    return this.#agent.contract.permissions.rules;
  }

  get mayLeadTo(): (url: URL) => boolean {
    const { name } = this.#call;
    return (url) => isOpenTo(this.#subject, name, [url]);
  }

  get delegator(): CallDelegator {
    return this.#subject.delegatorFor(this.#call);
  }

  get signal(): AbortSignal {
    return this.#subject.signal;
  }
}
