import { messageOf } from "../../ports/message-of.ts";
import type { ToolCall } from "../../ports/model.ts";
import { passGate, refuse } from "../../tools/gate.ts";
import type { ToolResult } from "../../tools/tool.ts";
import { findTool } from "../delegation-process.ts";
import type { LiveDelegation } from "../live-delegation.ts";
import { Subject } from "./call.ts";

/** So many calls are begun before the event loop gets a turn for others. */
const burst = 128;

/**
 * Makes the calls of one turn, all through the gate. Calls that only read or delegate run side by
 * side; those that write or execute run one after the other, in the order the model gave. While
 * nothing is left but waiting for children or people, the slot is given to somebody else.
 */
export async function performCalls(agent: LiveDelegation, withdrawn: boolean): Promise<void> {
  const calls = agent.said.transcript.pending.filter(({ result }) => result === undefined);
  const open = new OpenCalls(agent);
  const inOrder: PendingCall[] = [];
  let begun = 0;
  for (const pending of calls) {
    if (++begun % burst === 0) await new Promise((resolve) => setImmediate(resolve));
    agent.work.throwIfStopped();
    const { call, started } = pending;
    const tool = findTool(agent, call.name);
    if (tool?.effect === "write" || tool?.effect === "exec") inOrder.push(pending);
    else open.follow(performCall(agent, call, started, withdrawn, open), tool?.waits === true);
  }
  if (inOrder.length > 0) open.follow(performInOrder(agent, inOrder, withdrawn, open), false);
  await open.finished();
  const back = agent.process.time.takeSlot();
  if (back) await agent.work.interruptible(back);
}

type PendingCall = LiveDelegation["said"]["transcript"]["pending"][number];

async function performInOrder(
  agent: LiveDelegation,
  calls: readonly PendingCall[],
  withdrawn: boolean,
  open: OpenCalls,
): Promise<void> {
  for (const { call, started } of calls) {
    agent.work.throwIfStopped();
    await performCall(agent, call, started, withdrawn, open);
  }
}

/** One call, through the user's middleware and the gate. */
export function performCall(
  agent: LiveDelegation,
  call: ToolCall,
  started: boolean,
  withdrawn: boolean,
  open?: OpenCalls,
): Promise<ToolResult> {
  const subject = new Subject(agent, withdrawn, open);
  // Most calls meet nobody before the gate, and a thousand may wait behind it at once.
  return agent.said.halt === null && agent.run.parts.middleware.call === undefined
    ? passGate(subject, call, started)
    : performGuarded(agent, subject, call, started);
}

async function performGuarded(
  agent: LiveDelegation,
  subject: Subject,
  call: ToolCall,
  started: boolean,
): Promise<ToolResult> {
  const { middleware } = agent.run.parts;
  if (agent.said.halt !== null && !started) {
    const reason = `Stopped before it began, by somebody who watches: ${agent.said.halt}`;
    return refuse(subject, call, started, { rule: "interjected", reason });
  }
  if (middleware.call === undefined) return passGate(subject, call, started);
  let reason = "It was not let through.";
  try {
    const context = {
      runId: agent.run.id,
      delegationId: agent.id,
      parentId: agent.parent?.id ?? null,
      depth: agent.contract.parent.depth,
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
    agent.work.throwIfStopped();
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
export class OpenCalls {
  readonly #agent: LiveDelegation;
  /** One more than there are, until all have begun. */
  #busy = 1;
  #waiting = 0;
  #error: unknown;
  #hasFailed = false;
  #settle: ((hasFailed: boolean) => void) | undefined;

  constructor(agent: LiveDelegation) {
    this.#agent = agent;
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
      const back = this.#agent.process.time.takeSlot();
      if (back) await this.#agent.work.interruptible(back);
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
    if (this.#busy === 0 && this.#waiting > 0) this.#agent.process.time.giveSlot();
  }
}
