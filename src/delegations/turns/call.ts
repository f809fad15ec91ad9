import { keptBy } from "../../events/delegation.ts";
import { sha256 } from "../../events/hash-chain.ts";
import type { ToolCall } from "../../ports/model.ts";
import { type GateSubject, mayRedirect, ToolDeadline } from "../../tools/gate.ts";
import type { Tool, ToolContext } from "../../tools/tool.ts";
import { findTool } from "../delegation-process.ts";
import { Stopped } from "../ends/ending.ts";
import { type LiveDelegation, priceOf, untrustedOf } from "../live-delegation.ts";
import { askPerson, isConsent } from "./ask-person.ts";
import { type CallDelegator, callerOf, type DelegatingCall } from "./caller.ts";
import type { OpenCalls } from "./perform-calls.ts";
import { roomForOutput } from "./plan-turn.ts";
import { keepsForCalls } from "./prompt.ts";
import { noteLateResult } from "./request-model.ts";
/** One call of one agent, as the gate sees it. */
export class Subject implements GateSubject, DelegatingCall {
  readonly withdrawn: boolean;
  wasRecorded = false;
  readonly #agent: LiveDelegation;
  readonly #open: OpenCalls | undefined;
  readonly #attempt: number;
  #delegator: CallDelegator | undefined;
  #deadline: AbortController | undefined;

  constructor(agent: LiveDelegation, withdrawn: boolean, open: OpenCalls | undefined) {
    this.#agent = agent;
    this.#open = open;
    this.#attempt = agent.state.attempt;
    this.withdrawn = withdrawn;
  }

  get find(): GateSubject["find"] {
    return (name) => findTool(this.#agent, name);
  }

  async approve(call: ToolCall, question: string): Promise<boolean> {
    const about = sha256(JSON.stringify([call.name, call.input]));
    const asked = { callId: call.id, kind: "approval", about, question } as const;
    const asking = askPerson(this.#agent, asked);
    const outcome = await (this.#open === undefined ? asking : this.#open.whileAsking(asking));
    return isConsent(outcome);
  }

  get isUnattended(): boolean {
    const { run, said } = this.#agent;
    return said.isUnattended || run.parts.isAttended?.() === false;
  }

  get messages(): GateSubject["messages"] {
    return this.#agent.said.transcript.messages;
  }

  get id(): string {
    return this.#agent.id;
  }

  get contract(): GateSubject["contract"] {
    return this.#agent.contract;
  }

  get untrusted(): string | null {
    return untrustedOf(this.#agent);
  }

  get wasToldPrivate(): boolean {
    return this.#agent.said.evidence.holdsPrivate;
  }

  get outputBytes(): number {
    const { budget, contract, process, run } = this.#agent;
    const { transcript } = this.#agent.said;
    const { toolOutputBytes: most } = run.parts.limits;
    // A replay shows what was shown, and counts on nothing.
    if (!Number.isFinite(most)) return most;
    const prompt =
      (transcript.countedTokens ?? process.request.promptBound) + transcript.bytesSince;
    const { reserve } = contract.budget;
    const kept = keptBy(this.#agent.state)?.tokens ?? 0;
    const room = roomForOutput({
      prompt,
      available: budget.available,
      // What is kept back beyond the prompt is for results of children.
      keepBack: Math.max(reserve, kept - prompt),
      price: priceOf(this.#agent),
    });
    return Math.min(most, room);
  }

  record(event: Parameters<GateSubject["record"]>[0]): void {
    const agent = this.#agent;
    this.checkStopped();
    if (event.type !== "agent.tool_started") {
      this.wasRecorded = true;
      agent.record(event);
      return;
    }
    const { effect } = findTool(agent, event.payload.tool) ?? {};
    if (effect === "exec") agent.process.holdsProcesses = true;
    const keeps = keepsForCalls(agent, event.payload.call_id);
    agent.record(keeps ? { ...event, payload: { ...event.payload, keeps } } : event);
  }

  durable(): Promise<void> {
    return this.#agent.process.appends.durable();
  }

  checkStopped(): void {
    this.#agent.work.throwIfStopped();
    // Its attempt was cut, and the next one knows nothing of this call.
    if (this.#agent.state.attempt !== this.#attempt) {
      const { attempt_timeout_ms: ms } = this.#agent.contract.execution;
      throw new Stopped({ code: "attempt_deadline", ms });
    }
  }

  keepArtifact(body: string): ReturnType<GateSubject["keepArtifact"]> {
    return this.#agent.run.parts.store.keepArtifact(body);
  }

  deliveredBy(): readonly string[] | undefined {
    return this.#delegator?.handedOver;
  }

  isTainted(): boolean {
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
      this.#agent.work.onStop((reason) => deadline.abort(reason));
    }
    return this.#deadline.signal;
  }

  within<Output>(tool: Tool, running: Promise<Output>): Promise<Output> {
    const agent = this.#agent;
    if (tool.waits) return agent.work.interruptible(running);
    return new Promise((resolve, reject) => {
      const ms = agent.contract.deadlines.tool;
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
      const timer = agent.run.parts.clock.after(ms, () => {
        const reason = new ToolDeadline({ code: "tool_deadline", tool: tool.name, ms });
        this.#deadline?.abort(reason);
        fail(reason);
      });
      // It may have been stopped already, and is told so at once.
      forget = agent.work.onStop(fail);
      running.then((result) => {
        if (isLate) return noteLateResult(agent, { code: "late_tool_result", tool: tool.name });
        end();
        resolve(result);
      }, fail);
    });
  }
}

/** What a tool gets to see. A class of few fields, since a thousand calls may be open at once. */
class CallContext implements ToolContext {
  readonly #agent: LiveDelegation;
  readonly #call: ToolCall;
  readonly #subject: Subject;

  constructor(agent: LiveDelegation, call: ToolCall, subject: Subject) {
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

  get mayLeadTo(): (url: URL, from: URL) => boolean {
    const { name } = this.#call;
    return (url, from) => mayRedirect(this.#subject, name, url, from);
  }

  get delegator(): CallDelegator {
    return this.#subject.delegatorFor(this.#call);
  }

  get signal(): AbortSignal {
    return this.#subject.signal;
  }
}
