import type { ReceiptLine } from "../../contracts/receipt.ts";
import type { EventPayloads, NewEvent, PlannedStep } from "../../events/event.ts";
import { subtree } from "../../events/run-state.ts";
import type {
  AskOutcome,
  CancelOutcome,
  DelegationInfo,
  DelegationRequest,
  DelegationResult,
  DelegationWay,
  Delegator,
  JoinedOutput,
  StartOutcome,
} from "../../ports/delegator.ts";
import type { ToolCall } from "../../ports/model.ts";
import { infoOf, resultOf } from "../../sessions/delegation-result.ts";
import { completion } from "../../tools/gate.ts";
import type { Agent } from "../agent.ts";
import { event } from "../agent-event.ts";
import { changesOf } from "../changes/changes-of.ts";
import { MergeOrder } from "../changes/merge-order.ts";
import { cancelLive } from "../ends/cancel.ts";
import { cancelStored } from "../ends/cancel-stored.ts";
import { isElsewhere } from "../spread/elsewhere.ts";
import { isHandle } from "../start/resolve-profile.ts";
import { type Started, startDelegation } from "../start/start-delegation.ts";
import { isWatcher } from "../watchers/watch.ts";
import { askPerson } from "./ask-person.ts";
import { EarlierChildren, storedResult } from "./earlier-children.ts";

export interface CallDelegator extends Delegator {
  /** Results that this call hands to its agent; written with the call's completion. */
  readonly handedOver: readonly string[] | undefined;
  /** Some of what it handed over was said by children who had read strangers' words. */
  readonly hasUntrusted: boolean;
}

/** The call that a delegator acts for. */
export interface DelegatingCall {
  /** Aborts when nobody waits for the call any more. */
  readonly signal: AbortSignal;
  /** Its completion was written already. */
  onRecorded(): void;
}

type Joined = JoinedOutput & { readonly recorded: true };

/** What one call of one agent can do with delegations: only ever its own. */
export function callerOf(agent: Agent, call: ToolCall, of: DelegatingCall): CallDelegator {
  return new AgentDelegator(agent, call, of);
}

class AgentDelegator implements CallDelegator {
  handedOver: readonly string[] | undefined;
  hasUntrusted = false;
  readonly #agent: Agent;
  readonly #call: ToolCall;
  readonly #of: DelegatingCall;
  #earlier: EarlierChildren | undefined;

  constructor(agent: Agent, call: ToolCall, of: DelegatingCall) {
    this.#agent = agent;
    this.#call = call;
    this.#of = of;
  }

  get joinTokens(): number {
    return this.#agent.contract.join.max_tokens;
  }

  async start(request: DelegationRequest, way: DelegationWay): Promise<StartOutcome> {
    const agent = this.#agent;
    // After a crash the same call comes again; its child is there already.
    const callId = request.key === undefined ? this.#call.id : `${this.#call.id}/${request.key}`;
    const existing = agent.run.byCall.get(`${agent.id} ${callId}`);
    if (existing) {
      if (way === "delegate") {
        agent.run.joining.add(existing.id);
        callFor(existing);
      }
      const receipt = await this.#receiptOf(existing.id);
      return { started: true, delegationId: existing.id, receipt };
    }
    // Its place among its siblings is where its call stands, however long it takes to make it.
    const step = agent.run.steps++;
    agent.merges ??= new MergeOrder();
    agent.merges.announce(step, way === "delegate");
    const making = this.#make(request, way, step, callId);
    agent.making ??= new Set();
    agent.making.add(making);
    let hasCopy = false;
    try {
      const started = await making;
      hasCopy = "agent" in started && started.agent.copy !== null;
      if (!("agent" in started)) {
        const { isFault, reason, rule } = started;
        return { started: false, rule, reason, ...(isFault && { isFault }) };
      }
      // Whether a plan was completed is asked by the keys of its steps.
      if (request.key !== undefined) agent.run.byCall.set(`${agent.id} ${callId}`, started.agent);
      // The id is given out only when the child is on disk; a joining call waits for more anyway.
      if (way === "spawn") await started.created;
      return { started: true, delegationId: started.agent.id, receipt: started.receipt };
    } finally {
      agent.making.delete(making);
      if (!hasCopy) agent.merges.leave(step);
    }
  }

  wasBegun(key: string): boolean {
    const { id, run } = this.#agent;
    return run.byCall.has(`${id} ${this.#call.id}/${key}`);
  }

  async earlier(key: string, request: DelegationRequest): Promise<DelegationResult | undefined> {
    const { id, run } = this.#agent;
    const plan = run.plans.find((one) => one.by === id && one.call_id === this.#call.id);
    const step = plan?.steps.find((one) => one.key === key);
    // After a crash the same call comes again, and its plan says what was done by then.
    if (step) {
      if (step.done_by === undefined) return undefined;
      return this.#handing(await storedResult(run.parts.store, step.done_by));
    }
    this.#earlier ??= new EarlierChildren(this.#agent);
    const profile = this.profileBehind(request.profile ?? "") ?? "";
    return this.#handing(await this.#earlier.take(profile, request));
  }

  /** Whatever result leaves here, it is noted whose words it may hold. */
  #handing<Result extends DelegationResult | null | undefined>(result: Result): Result {
    if (result?.evidence.untrusted) this.hasUntrusted = true;
    return result;
  }

  async #make(
    request: DelegationRequest,
    way: DelegationWay,
    step: number,
    callId: string,
  ): Promise<Started> {
    const agent = this.#agent;
    // What was withdrawn or registered meanwhile counts for every new delegation.
    const refreshing = agent.run.parts.agents.refresh(isHandle(request));
    if (refreshing) await refreshing;
    agent.throwIfStopped();
    return startDelegation({
      run: agent.run,
      caller: agent,
      request,
      way,
      callId,
      step,
      ...(this.hasUntrusted && { isTold: true as const }),
      signal: () => this.#of.signal,
    });
  }

  async #receiptOf(delegationId: string): Promise<readonly ReceiptLine[]> {
    for await (const event of this.#agent.run.parts.store.readEvents({ delegationId })) {
      if (event.type === "agent.subagent_created") return event.payload.receipt ?? [];
    }
    return [];
  }

  async joinAndComplete(
    id: string,
    describe: (result: DelegationResult) => JoinedOutput,
  ): Promise<Joined> {
    const agent = this.#agent;
    const child = agent.run.agents.get(id);
    if (child === undefined) throw new Error(`there is no delegation ${id}`);
    // Its end is in the log already, or written by a process that cannot speak for this one.
    if (child.result !== null || isElsewhere(child)) {
      return this.#completeNow(await child.whenClosed(), describe);
    }
    let output: JoinedOutput = { text: "" };
    child.deliver = (result) => {
      output = describe(result);
      const payload = this.#completion(output, result);
      const completed: NewEvent = event(agent, "agent.tool_completed", payload);
      agent.run.delivered.add(id);
      agent.callEnded(this.#call.id);
      agent.see(completed);
      this.#of.onRecorded();
      return [completed];
    };
    // Closed by somebody else, it was without our completion in the same transaction.
    const result = await child.whenClosed();
    if (!agent.run.delivered.has(id)) return this.#completeNow(result, describe);
    return { ...output, recorded: true };
  }

  #completeNow(
    result: DelegationResult,
    describe: (result: DelegationResult) => JoinedOutput,
  ): Joined {
    const agent = this.#agent;
    const output = describe(result);
    agent.throwIfStopped();
    agent.run.delivered.add(result.delegationId);
    agent.callEnded(this.#call.id);
    agent.record(event(agent, "agent.tool_completed", this.#completion(output, result)));
    this.#of.onRecorded();
    return { ...output, recorded: true };
  }

  #completion(
    { isError, text }: JoinedOutput,
    result: DelegationResult,
  ): EventPayloads["agent.tool_completed"] {
    const delivery = completion(this.#call, { text }, { text }, [result.delegationId]);
    const completed = isError ? { ...delivery, is_error: true as const } : delivery;
    return result.evidence.untrusted ? { ...completed, untrusted: true } : completed;
  }

  profileBehind(name: string): string | undefined {
    return name.startsWith("@") ? this.#agent.run.parts.agents.entry(name)?.profileId : name;
  }

  async join(
    ids: readonly string[],
    maxWaitMs: number | undefined,
  ): Promise<ReadonlyMap<string, DelegationResult | null>> {
    const { agents } = this.#agent.run;
    for (const id of ids) callFor(agents.get(id));
    const all = Promise.all(ids.flatMap((id) => agents.get(id)?.whenClosed() ?? []));
    await (maxWaitMs === undefined ? all : within(all, maxWaitMs));
    return new Map(ids.map((id) => [id, this.#handing(agents.get(id)?.result ?? null)]));
  }

  delivered(ids: readonly string[]): void {
    if (ids.length === 0) return;
    for (const id of ids) this.#agent.run.delivered.add(id);
    this.handedOver = [...new Set([...(this.handedOver ?? []), ...ids])];
  }

  async notYetJoined(): Promise<readonly string[]> {
    const { making, run } = this.#agent;
    // Jobs of the same turn count as well, and a copy takes a moment.
    if (making !== null && making.size > 0) await Promise.allSettled(making);
    const isJob = (id: string): boolean => !run.delivered.has(id) && !run.joining.has(id);
    return this.#agent.children?.map(({ id }) => id).filter(isJob) ?? [];
  }

  isMine(id: string): boolean {
    const { run } = this.#agent;
    if (run.state !== null) {
      return subtree(run.state, this.#agent.id).some(
        (one) => one.id === id && id !== this.#agent.id,
      );
    }
    let above = run.agents.get(id)?.parent ?? null;
    while (above !== null && above !== this.#agent) above = above.parent;
    return above !== null;
  }

  async list(): Promise<readonly DelegationInfo[]> {
    // What this agent just did shall be in the list.
    await this.#agent.appends.durable();
    const state = await this.#agent.run.parts.store.readRun(this.#agent.run.id);
    if (state === undefined) return [];
    return subtree(state, this.#agent.id)
      .filter(({ id }) => id !== this.#agent.id)
      .map((one) => infoOf(one));
  }

  async result(id: string): Promise<DelegationResult | null> {
    const { run } = this.#agent;
    const child = run.agents.get(id);
    callFor(child);
    if (child === undefined && run.state !== null && this.isMine(id))
      return this.#handing(resultOf(run.state, id));
    return this.#handing(child?.result ?? null);
  }

  async cancel(id: string, reason: string): Promise<CancelOutcome> {
    const { run } = this.#agent;
    const child = run.agents.get(id);
    if (child !== undefined) return cancelLive(child, reason);
    if (!this.isMine(id)) return "not_found";
    return cancelStored(run.parts.store, run.parts.toolbox, run.id, id, reason);
  }

  ask(question: string, kind?: "approval"): Promise<AskOutcome> {
    return askPerson(this.#agent, this.#call.id, question, kind);
  }

  changes(range?: string): ReturnType<Delegator["changes"]> {
    // Files of the workspace stand in it, whoever wrote them.
    this.hasUntrusted = true;
    return changesOf(this.#agent, range);
  }

  get review(): Delegator["review"] {
    const { children, contract, id, run } = this.#agent;
    const { review } = contract.exit;
    if (review === undefined) return null;
    // The one that this very call has made, before a crash perhaps, is not among those before it.
    const own = run.byCall.get(`${id} ${this.#call.id}/review`);
    const made = (children ?? []).filter(
      (child) =>
        child.contract.profile.id === review.profile && child.result !== null && child !== own,
    );
    return { ...review, made: made.length };
  }

  async interject(
    severity: "info" | "warn" | "critical",
    message: string,
  ): Promise<string | undefined> {
    const { contract, id, run } = this.#agent;
    const watched = run.agents.get(contract.parent.watches ?? "");
    if (!isWatcher(this.#agent) || watched === undefined) return "only watchers may interject";
    if (watched.isEnding || watched.output !== null) return "the session has ended";
    if (watched.suspension !== null) return "the session was interrupted";
    if (this.#agent.remarks >= mostRemarks)
      return `you have spoken ${mostRemarks} times, which is enough`;
    if (this.#agent.lastRemark === message) return "you have said just that already";
    this.#agent.remarks++;
    this.#agent.lastRemark = message;
    watched.record(
      event(watched, "agent.interjected", { from: `watcher:${id}`, severity, message }),
    );
    return undefined;
  }

  async plan(steps: readonly PlannedStep[]): Promise<void> {
    const { id, run } = this.#agent;
    const { plans } = run;
    if (plans.some((plan) => plan.by === id && plan.call_id === this.#call.id)) return;
    const payload = { by: id, call_id: this.#call.id, steps };
    plans.push(payload);
    const appended = run.append([{ type: "run.planned", payload }]);
    this.#agent.appends.add(appended);
    await appended;
  }

  isSealed(id: string): boolean {
    return this.#agent.run.agents.get(id)?.contract.outputs.transcript !== true;
  }

  async transcript(id: string): Promise<string | null> {
    const { agents, parts } = this.#agent.run;
    const isClosed = (agents.get(id)?.result ?? null) !== null;
    if (this.isSealed(id) || !isClosed || !this.isMine(id)) return null;
    this.#handing(agents.get(id)?.result);
    const { exportMarkdown } = await import("../../sessions/export-markdown.ts");
    let text = "";
    for await (const piece of exportMarkdown(parts.store, id)) text += piece;
    return text;
  }

  readArtifact(hash: string): Promise<string | undefined> {
    return this.#agent.run.parts.store.readArtifact(hash);
  }
}

/** So often may a watcher speak: one that talks in circles is no help. */
const mostRemarks = 30;

/** Somebody wants its result: what it made can be taken over, in its turn. */
function callFor(child: Agent | undefined): void {
  child?.parent?.merges?.callFor(child.contract.parent.step_idx);
}

async function within(waiting: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([waiting, late]);
  clearTimeout(timer);
}
