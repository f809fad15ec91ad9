import { messageOf } from "../ports/message-of.ts";
import type { ToolCall } from "../ports/model.ts";
import { type GateSubject, passGate, refuse } from "../tools/gate.ts";
import type { Tool, ToolContext, ToolResult } from "../tools/tool.ts";
import type { Agent } from "./agent.ts";
import { askPerson } from "./ask-person.ts";
import { type CallDelegator, callerOf } from "./caller.ts";
import { noteLateResult } from "./late-result.ts";

/** So many calls are begun before the event loop gets a turn for others. */
const burst = 128;

/**
 * Makes the calls of one turn, all through the gate. Calls that only read or delegate run side by
 * side; those that write or execute run one after the other, in the order the model gave. While
 * nothing is left but waiting for children or people, the slot is given to somebody else.
 */
export async function performCalls(agent: Agent, withdrawn: boolean): Promise<void> {
  const calls = agent.transcript.pending.filter(({ result }) => result === undefined);
  const slot = new SlotWhileWaiting(agent);
  let inOrder: Promise<unknown> = Promise.resolve();
  const running: Promise<unknown>[] = [];
  let begun = 0;
  for (const { call, started } of calls) {
    if (++begun % burst === 0) await new Promise((resolve) => setImmediate(resolve));
    if (agent.stopReason !== null) throw agent.stopReason;
    const tool = agent.findTool(call.name);
    const perform = (): Promise<unknown> =>
      slot.during(tool, performCall(agent, call, started, withdrawn, slot));
    if (tool?.effect === "write" || tool?.effect === "exec") {
      inOrder = inOrder.then(perform);
      running.push(inOrder);
    } else {
      running.push(perform());
    }
    // They are waited for below; until then one that fails is nobody's unhandled rejection.
    running.at(-1)?.catch(ignore);
  }
  slot.allBegun();
  await (running.length === 1 ? running[0] : Promise.all(running));
  await slot.end();
}

/** One call, through the user's middleware and the gate. */
export async function performCall(
  agent: Agent,
  call: ToolCall,
  started: boolean,
  withdrawn: boolean,
  slot?: SlotWhileWaiting,
): Promise<ToolResult> {
  const { middleware } = agent.run.parts;
  const subject = new Subject(agent, withdrawn, slot);
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
class Subject implements GateSubject {
  readonly withdrawn: boolean;
  wasRecorded = false;
  readonly #agent: Agent;
  readonly #slot: SlotWhileWaiting | undefined;
  #delegator: CallDelegator | undefined;
  #deadline: AbortController | undefined;

  constructor(agent: Agent, withdrawn: boolean, slot: SlotWhileWaiting | undefined) {
    this.#agent = agent;
    this.#slot = slot;
    this.withdrawn = withdrawn;
  }

  get find(): GateSubject["find"] {
    return (name) => this.#agent.findTool(name);
  }

  async approve(call: ToolCall, question: string): Promise<boolean> {
    const asking = askPerson(this.#agent, call.id, question, "approval");
    const outcome = await (this.#slot === undefined ? asking : this.#slot.whileAsking(asking));
    return (
      outcome.answered && /^(?:y|yes|ok|allow|approve|approved)[.!]?$/i.test(outcome.answer.trim())
    );
  }

  get id(): string {
    return this.#agent.id;
  }

  get contract(): GateSubject["contract"] {
    return this.#agent.contract;
  }

  get outputBytes(): number {
    return this.#agent.run.parts.limits.toolOutputBytes;
  }

  record(event: Parameters<GateSubject["record"]>[0]): void {
    const agent = this.#agent;
    agent.throwIfStopped();
    if (event.type === "agent.tool_started") {
      agent.openCalls ??= new Map();
      agent.openCalls.set(event.payload.call_id, event.payload.tool);
    } else {
      this.wasRecorded = true;
      if ("call_id" in event.payload && event.payload.call_id !== null)
        agent.openCalls?.delete(event.payload.call_id);
      if (event.type === "agent.tool_completed") {
        agent.toolCalls++;
        if (event.payload.files) agent.files = [...(agent.files ?? []), ...event.payload.files];
      }
    }
    agent.record(event);
  }

  durable(): Promise<void> {
    return this.#agent.durable();
  }

  checkStopped(): void {
    this.#agent.throwIfStopped();
  }

  keepArtifact(body: string): ReturnType<GateSubject["keepArtifact"]> {
    return this.#agent.run.parts.store.keepArtifact(body);
  }

  deliveredBy(): readonly string[] | undefined {
    return this.#delegator?.handedOver;
  }

  contextOf(call: ToolCall): ToolContext {
    return new CallContext(this.#agent, call, this);
  }

  /** Most tools delegate nothing and never ask for it. */
  delegatorFor(call: ToolCall): CallDelegator {
    this.#delegator ??= callerOf(this.#agent, call, () => {
      this.wasRecorded = true;
    });
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

  within(tool: Tool, running: Promise<ToolResult>): Promise<ToolResult> {
    const agent = this.#agent;
    if (tool.waits) return agent.interruptible(running);
    let isLate = false;
    void running.then(() => isLate && noteLateResult(agent, `the result of ${tool.name}`), ignore);
    const ms = agent.contract.deadlines.tool;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        const reason = new Error(`${tool.name} took longer than ${ms} ms and was stopped.`);
        this.#deadline?.abort(reason);
        reject(reason);
      }, ms);
    });
    return agent.interruptible(Promise.race([running, late])).finally(() => {
      clearTimeout(timer);
      isLate = true;
    });
  }
}

function ignore(): void {}

/** What a tool gets to see. A class, since a thousand calls may be open at once. */
class CallContext implements ToolContext {
  readonly delegationId: string;
  readonly runId: string;
  readonly callId: string;
  readonly workspace: ToolContext["workspace"];
  readonly #call: ToolCall;
  readonly #subject: Subject;

  constructor(agent: Agent, call: ToolCall, subject: Subject) {
    this.delegationId = agent.id;
    this.runId = agent.run.id;
    this.callId = call.id;
    this.workspace = agent.workspace;
    this.#call = call;
    this.#subject = subject;
  }

  get delegator(): CallDelegator {
    return this.#subject.delegatorFor(this.#call);
  }

  get skills(): ToolContext["skills"] {
    return this.#subject.contract.permissions.skills;
  }

  get signal(): AbortSignal {
    return this.#subject.signal;
  }
}

/** Gives the agent's slot back once every call that is still open only waits. */
class SlotWhileWaiting {
  readonly #agent: Agent;
  #busy = 1;
  #waiting = 0;

  constructor(agent: Agent) {
    this.#agent = agent;
  }

  async during(tool: Tool | undefined, call: Promise<unknown>): Promise<void> {
    const waits = tool?.waits === true;
    if (waits) this.#waiting++;
    else this.#busy++;
    // The call has begun by now, and may already be asking.
    this.#consider();
    try {
      await call;
    } finally {
      if (waits) this.#waiting--;
      else this.#busy--;
      this.#consider();
    }
  }

  /** A person may take an hour: until then the slot is somebody else's. */
  async whileAsking<Outcome>(asking: Promise<Outcome>): Promise<Outcome> {
    this.#busy--;
    this.#waiting++;
    this.#consider();
    try {
      return await asking;
    } finally {
      this.#waiting--;
      this.#busy++;
      const back = this.#agent.takeSlot();
      if (back) await this.#agent.interruptible(back);
    }
  }

  allBegun(): void {
    this.#busy--;
    this.#consider();
  }

  async end(): Promise<void> {
    const back = this.#agent.takeSlot();
    if (back) await this.#agent.interruptible(back);
  }

  #consider(): void {
    if (this.#busy === 0 && this.#waiting > 0) this.#agent.giveSlot();
  }
}
