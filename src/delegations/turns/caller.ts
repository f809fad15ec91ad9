import type { ReceiptLine } from "../../contracts/receipt.ts";
import { isHandle, knownNames } from "../../control/records/resolve-profile.ts";
import { keptBy } from "../../events/delegation.ts";
import type { EventPayloads, NewEvent, PlannedStep } from "../../events/event.ts";
import { sha256 } from "../../events/hash-chain.ts";
import { isRunInterrupted } from "../../events/is-worked-on.ts";
import { orderOfMerges } from "../../events/planned-steps.ts";
import { subtree } from "../../events/run-state.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
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
import { MandateError } from "../../ports/mandate-error.ts";
import type { ToolCall } from "../../ports/model.ts";
import { infoOf, resultOf } from "../../sessions/delegation-result.ts";
import { sendMessage } from "../../sessions/send-message.ts";
import { SessionChildren } from "../../sessions/session-children.ts";
import { carriedBy } from "../../tools/exposure-of.ts";
import { completion } from "../../tools/gate.ts";
import { MergeOrder } from "../changes/merge-order.ts";
import { changesOf } from "../changes/take-over.ts";
import { cancelStored } from "../ends/cancel-stored.ts";
import { event, isWatcher, type LiveDelegation, nextIndex } from "../live-delegation.ts";
import type { Start } from "../start/placement.ts";
import { type Started, startDelegation } from "../start/start-delegation.ts";
import { askPerson } from "./ask-person.ts";
import { EarlierChildren, LivePlan, storedResult } from "./plans.ts";
import { unreadChildren } from "./prompt.ts";

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
export function callerOf(agent: LiveDelegation, call: ToolCall, of: DelegatingCall): CallDelegator {
  return new AgentDelegator(agent, call, of);
}

class AgentDelegator implements CallDelegator {
  handedOver: readonly string[] | undefined;
  hasUntrusted = false;
  readonly #agent: LiveDelegation;
  readonly #call: ToolCall;
  readonly #of: DelegatingCall;
  #earlier: EarlierChildren | undefined;
  #plan: LivePlan | undefined;

  constructor(agent: LiveDelegation, call: ToolCall, of: DelegatingCall) {
    this.#agent = agent;
    this.#call = call;
    this.#of = of;
  }

  get joinTokens(): number {
    const { contract, state } = this.#agent;
    const most = contract.join.max_tokens;
    return Math.min(most, keptBy(state)?.result ?? most);
  }

  async start(request: DelegationRequest, way: DelegationWay): Promise<StartOutcome> {
    const agent = this.#agent;
    // After a crash the same call comes again; its child is there already.
    const callId = request.key === undefined ? this.#call.id : `${this.#call.id}/${request.key}`;
    const existing = agent.run.delegations.byCall.get(`${agent.id} ${callId}`);
    if (existing) {
      if (way === "delegate") {
        agent.run.delegations.joining.add(existing.id);
        callFor(existing);
      }
      const receipt = await this.#receiptOf(existing.id);
      return { started: true, delegationId: existing.id, receipt };
    }
    // A step has the index that its plan gave it; another child the one where its call stands.
    const planned = request.key === undefined ? undefined : this.#plan?.find(request.key);
    const step = planned?.index ?? nextIndex(agent);
    agent.process.merges ??= new MergeOrder();
    agent.process.merges.announce(step, way === "delegate");
    const making = this.#make(request, way, { step, callId, planned });
    agent.process.making ??= new Set();
    agent.process.making.add(making);
    let hasCopy = false;
    try {
      const started = await making;
      hasCopy = "agent" in started && started.agent.copy !== null;
      if (!("agent" in started)) {
        const { isFault, known, rule } = started;
        const reason = `${started.reason}${knownNames(known)}`;
        return { started: false, rule, reason, ...(isFault && { isFault }) };
      }
      // Whether a plan was completed is asked by the keys of its steps.
      if (request.key !== undefined)
        agent.run.delegations.byCall.set(`${agent.id} ${callId}`, started.agent);
      // The id is given out only when the child is on disk; a joining call waits for more anyway.
      if (way === "spawn") await started.created;
      return { started: true, delegationId: started.agent.id, receipt: started.receipt };
    } finally {
      agent.process.making.delete(making);
      if (!hasCopy) agent.process.merges.leave(step);
    }
  }

  wasBegun(key: string): boolean {
    const { id, run } = this.#agent;
    return run.delegations.byCall.has(`${id} ${this.#call.id}/${key}`);
  }

  async earlier(key: string, request: DelegationRequest): Promise<DelegationResult | undefined> {
    const { id, run } = this.#agent;
    const plan = run.history.plans.find((one) => one.by === id && one.call_id === this.#call.id);
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
    place: Pick<Start, "callId" | "planned" | "step">,
  ): Promise<Started> {
    const agent = this.#agent;
    // What was withdrawn or registered meanwhile counts for every new delegation.
    const refreshing = agent.run.parts.agents.refresh(isHandle(request));
    if (refreshing) await refreshing;
    agent.work.throwIfStopped();
    const keeps = keptBy(agent.state);
    // A plan has one result, however many children carry it out.
    if (keeps && request.key === undefined && unreadChildren(agent) >= keeps.results) {
      const reason = `The caller's budget has room for ${keeps.results} unread results, for which it keeps ${keeps.tokens} tokens. Read those first, or delegate less.`;
      return { rule: "budget", reason };
    }
    const isTold = request.untrusted ?? this.hasUntrusted;
    return startDelegation({
      run: agent.run,
      caller: agent,
      request,
      way,
      ...place,
      ...(isTold && { isTold: true as const }),
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
    const child = agent.run.delegations.byId.get(id);
    if (child === undefined) throw new Error(`there is no delegation ${id}`);
    // Its end is in the log already, or written by a process that cannot speak for this one.
    if (child.process.end.result !== null || agent.run.execution.isRemote(child)) {
      return this.#completeNow(await child.process.end.whenClosed(), describe);
    }
    let output: JoinedOutput = { text: "" };
    child.process.end.deliver = (result) => {
      output = describe(result);
      const payload = this.#completion(output, result);
      const completed: NewEvent = event(agent, "agent.tool_completed", payload);
      agent.follow([completed]);
      this.#of.onRecorded();
      return [completed];
    };
    // Closed by somebody else, it was without our completion in the same transaction.
    const result = await child.process.end.whenClosed();
    if (!agent.run.history.delivered.has(id)) return this.#completeNow(result, describe);
    return { ...output, recorded: true };
  }

  #completeNow(
    result: DelegationResult,
    describe: (result: DelegationResult) => JoinedOutput,
  ): Joined {
    const agent = this.#agent;
    const output = describe(result);
    agent.work.throwIfStopped();
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
    const { delegations, parts } = this.#agent.run;
    const results = new Map<string, DelegationResult | null>(ids.map((id) => [id, null]));
    const leaving = new AbortController();
    const signal = AbortSignal.any([leaving.signal, this.#of.signal]);
    const all = ids.map(async (id) => {
      const child = delegations.byId.get(id);
      callFor(child);
      const closed = child?.process.end.whenClosed() ?? this.#session?.closed(id, signal);
      results.set(id, this.#handing((await closed) ?? null));
    });
    try {
      await (maxWaitMs === undefined
        ? Promise.all(all)
        : within(parts.clock, Promise.all(all), maxWaitMs));
    } finally {
      leaving.abort();
    }
    return results;
  }

  delivered(ids: readonly string[]): void {
    if (ids.length === 0) return;
    for (const id of ids) this.#agent.run.history.delivered.add(id);
    this.handedOver = [...new Set([...(this.handedOver ?? []), ...ids])];
  }

  async notYetJoined(): Promise<readonly string[]> {
    const { run } = this.#agent;
    const { making } = this.#agent.process;
    // Jobs of the same turn count as well, and a copy takes a moment.
    if (making !== null && making.size > 0) await Promise.allSettled(making);
    const isJob = (id: string): boolean =>
      !run.history.delivered.has(id) && !run.delegations.joining.has(id);
    const own = this.#agent.process.children.map(({ id }) => id).filter(isJob);
    return [...((await this.#session?.notDelivered()) ?? []), ...own];
  }

  async isMine(id: string): Promise<boolean> {
    return this.#isInRun(id) || (await this.#session?.find(id)) !== undefined;
  }

  #isInRun(id: string): boolean {
    const { run } = this.#agent;
    const { log } = run.execution;
    if (log !== null) {
      return subtree(log, this.#agent.id).some((one) => one.id === id && id !== this.#agent.id);
    }
    let above = run.delegations.byId.get(id)?.parent ?? null;
    while (above !== null && above !== this.#agent) above = above.parent;
    return above !== null;
  }

  get #session(): SessionChildren | null {
    return sessionChildrenOf(this.#agent);
  }

  async list(): Promise<readonly DelegationInfo[]> {
    const { id, process, run } = this.#agent;
    // The list contains what this agent has just done.
    await process.appends.durable();
    const { store } = run.parts;
    const state = await store.readRun(run.id);
    if (state === undefined) return [];
    const own = subtree(state, id).filter((one) => one.id !== id);
    const earlier = (await this.#session?.all()) ?? [];
    const infos = await Promise.all(
      earlier.map(async ({ delegation, run: its }) =>
        infoOf(its, delegation, await isRunInterrupted(store, its)),
      ),
    );
    return [...infos, ...own.map((one) => infoOf(state, one))];
  }

  async result(id: string): Promise<DelegationResult | null> {
    const { run } = this.#agent;
    const child = run.delegations.byId.get(id);
    callFor(child);
    if (child !== undefined) return this.#handing(child.process.end.result);
    const { log } = run.execution;
    if (log !== null && this.#isInRun(id)) return this.#handing(resultOf(log, id));
    const earlier = await this.#session?.find(id);
    return this.#handing(earlier === undefined ? null : resultOf(earlier.run, id));
  }

  async cancel(id: string, reason: string): Promise<CancelOutcome> {
    const { run } = this.#agent;
    const child = run.delegations.byId.get(id);
    const cause = { code: "cancelled", text: reason } as const;
    if (child !== undefined) return run.execution.cancel(child, cause);
    const runId = this.#isInRun(id) ? run.id : (await this.#session?.find(id))?.run.id;
    if (runId === undefined) return "not_found";
    return cancelStored(run.parts.store, run.parts.toolbox, runId, id, cause);
  }

  send(id: string, text: string): Promise<string | undefined> {
    const sending = this.#agent.process.inOrder.sending.then(() => this.#send(id, text));
    this.#agent.process.inOrder.sending = sending.catch(() => undefined);
    return sending;
  }

  async #send(id: string, text: string): Promise<string | undefined> {
    const agent = this.#agent;
    // Derived from the call: a call that is repeated after a crash sends the same message.
    const messageId = `m${sha256(JSON.stringify([agent.id, this.#call.id])).slice(0, 16)}`;
    const message = { id: messageId, from: "caller", text } as const;
    const carries = carriedBy(agent.run.parts.toolbox, agent.contract, agent.said.evidence);
    try {
      await sendMessage(agent.run.parts.store, id, { ...message, carries });
      return undefined;
    } catch (error) {
      if (error instanceof MandateError) return error.message;
      throw error;
    }
  }

  ask(question: string, kind?: "approval", about?: string): Promise<AskOutcome> {
    const asked = { callId: this.#call.id, question, ...(kind && { kind }) };
    return askPerson(this.#agent, about === undefined ? asked : { ...asked, about });
  }

  changes(range?: string): ReturnType<Delegator["changes"]> {
    // Files of the workspace stand in it, whoever wrote them.
    this.hasUntrusted = true;
    return changesOf(this.#agent, range);
  }

  get review(): Delegator["review"] {
    const { contract, id, process, run } = this.#agent;
    const { review } = contract.exit;
    if (review === undefined) return null;
    // The one that this very call has made, before a crash perhaps, is not among those before it.
    const own = run.delegations.byCall.get(`${id} ${this.#call.id}/review`);
    const made = process.children.filter(
      (child) =>
        child.contract.profile.id === review.profile &&
        child.process.end.result !== null &&
        child !== own,
    );
    return { ...review, made: made.length };
  }

  async interject(
    severity: "info" | "warn" | "critical",
    message: string,
  ): Promise<string | undefined> {
    const { contract, id, run } = this.#agent;
    const watched = run.delegations.byId.get(contract.parent.watches ?? "");
    if (!isWatcher(this.#agent) || watched === undefined) return "only watchers may interject";
    if (watched.process.end.isEnding || watched.state.status !== "running")
      return "the session has ended";
    if (watched.work.suspension !== null) return "the session was interrupted";
    const { count, last } = run.history.remarks.get(id) ?? { count: 0, last: "" };
    if (count >= mostRemarks) return `you have spoken ${mostRemarks} times, which is enough`;
    if (last === message) return "you have said just that already";
    watched.record(
      event(watched, "agent.interjected", { from: `watcher:${id}`, severity, message }),
    );
    return undefined;
  }

  async plan(
    steps: readonly PlannedStep[],
    mergeOrder: readonly number[] = [...steps.keys()],
  ): ReturnType<Delegator["plan"]> {
    const agent = this.#agent;
    const { id, run } = agent;
    const { plans } = run.history;
    // After a crash the same call comes again, and its steps keep their indexes.
    const before = plans.find((plan) => plan.by === id && plan.call_id === this.#call.id);
    if (before) {
      this.#plan = LivePlan.of(agent, before);
      return before.first_step === undefined ? mergeOrder : orderOfMerges(before);
    }
    const payload = {
      by: id,
      call_id: this.#call.id,
      first_step: agent.process.nextStep,
      ...(mergeOrder.some((place, rank) => place !== rank) && { merge_order: mergeOrder }),
      steps,
    };
    agent.process.nextStep += steps.length;
    plans.push(payload);
    this.#plan = LivePlan.of(agent, payload);
    const appended = run.append([{ type: "run.planned", payload }]);
    this.#agent.process.appends.add(appended);
    await appended;
    return mergeOrder;
  }

  stepSettled(key: string): void {
    this.#plan?.settle(key);
  }

  isSealed(id: string): boolean {
    return this.#agent.run.delegations.byId.get(id)?.contract.outputs.transcript !== true;
  }

  async transcript(id: string): Promise<string | null> {
    const { delegations, parts } = this.#agent.run;
    const isClosed = (delegations.byId.get(id)?.process.end.result ?? null) !== null;
    if (this.isSealed(id) || !isClosed || !this.#isInRun(id)) return null;
    this.#handing(delegations.byId.get(id)?.process.end.result);
    const { exportMarkdown } = await import("../../sessions/export-markdown.ts");
    let text = "";
    for await (const piece of exportMarkdown(parts.store, id)) text += piece;
    return text;
  }

  readArtifact(hash: string): Promise<string | undefined> {
    return this.#agent.run.parts.store.readArtifact(hash);
  }
}

/** The children of earlier messages. Null: this message begins its session, or it is no root. */
export function sessionChildrenOf({ run, state }: LiveDelegation): SessionChildren | null {
  const { parentId, resumedAt, resumedFrom } = state;
  // A fork shares the conversation of another session, and none of its children.
  if (parentId !== null || resumedFrom === null || resumedAt !== null) return null;
  const { clock, store } = run.parts;
  const { delivered } = run.history;
  run.history.earlier ??= new SessionChildren({
    runId: run.id,
    resumedFrom,
    store,
    clock,
    delivered,
  });
  return run.history.earlier;
}

/** So often may a watcher speak: one that talks in circles is no help. */
const mostRemarks = 30;

/** Somebody wants its result: what it made can be taken over, in its turn. */
function callFor(child: LiveDelegation | undefined): void {
  child?.parent?.process.merges?.callFor(child.contract.parent.step_idx);
}

async function within(clock: Clock, waiting: Promise<unknown>, ms: number): Promise<void> {
  let timer: Timer | undefined;
  const late = new Promise<void>((resolve) => {
    timer = clock.after(ms, resolve);
  });
  await Promise.race([waiting, late]);
  timer?.cancel();
}
