import type { ReceiptLine } from "../../contracts/receipt.ts";
import { isHandle, knownNames } from "../../control/records/resolve-profile.ts";
import { keptBy } from "../../events/delegation.ts";
import type { NewEvent } from "../../events/event.ts";
import { sha256 } from "../../events/hash-chain.ts";
import { isRunInterrupted } from "../../events/is-worked-on.ts";
import { subtree } from "../../events/run-state.ts";
import { within } from "../../ports/clock.ts";
import type {
  AskOutcome,
  CancelOutcome,
  ChildResults,
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
import { CallPlan } from "./plans.ts";
import { unreadChildren } from "./prompt.ts";
import { CallWorkflow } from "./workflow-record.ts";

/** The call that a delegator acts for. */
interface DelegatingCall {
  /** Aborts when the result of the call is not wanted any more. */
  readonly signal: AbortSignal;
  /** The completion of the call was recorded already. */
  onRecorded(): void;
}

type Joined = JoinedOutput & { readonly recorded: true };

/** What one call of a delegation can do with other delegations: only with those below its own. */
export class CallDelegator implements Delegator {
  readonly results: CallResults;
  readonly #live: LiveDelegation;
  readonly #call: ToolCall;
  readonly #of: DelegatingCall;
  #plan: CallPlan | undefined;

  constructor(live: LiveDelegation, call: ToolCall, of: DelegatingCall) {
    this.#live = live;
    this.#call = call;
    this.#of = of;
    this.results = new CallResults(live, call, of);
  }

  get plans(): CallPlan {
    this.#plan ??= new CallPlan({
      live: this.#live,
      callId: this.#call.id,
      profileBehind: (name) => this.profileBehind(name),
      handing: (result) => this.results.handing(result),
    });
    return this.#plan;
  }

  get workflows(): CallWorkflow {
    return new CallWorkflow({
      live: this.#live,
      callId: this.#call.id,
      isBelow: isMineOf,
      handing: (result) => this.results.handing(result),
    });
  }

  async start(request: DelegationRequest, way: DelegationWay): Promise<StartOutcome> {
    const { id, process, run } = this.#live;
    // After a crash the same call is repeated; its child is there already.
    const callId = request.key === undefined ? this.#call.id : `${this.#call.id}/${request.key}`;
    const existing = run.delegations.byCall.get(`${id} ${callId}`);
    if (existing) {
      if (way === "delegate") {
        run.delegations.joining.add(existing.id);
        callFor(existing);
      }
      const receipt = await this.#receiptOf(existing.id);
      return { started: true, delegationId: existing.id, receipt };
    }
    // A step has the index that its plan gave it; another child the next index of its caller.
    const planned = request.key === undefined ? undefined : this.#plan?.find(request.key);
    const step = planned?.index ?? nextIndex(this.#live);
    process.merges ??= new MergeOrder();
    process.merges.announce(step, way === "delegate");
    const making = this.#make(request, way, { step, callId, planned });
    process.making ??= new Set();
    process.making.add(making);
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
      if (request.key !== undefined) run.delegations.byCall.set(`${id} ${callId}`, started.agent);
      // The id is given out only when the child is on disk; a joining call waits for more anyway.
      if (way !== "delegate") await started.created;
      return { started: true, delegationId: started.agent.id, receipt: started.receipt };
    } finally {
      process.making.delete(making);
      if (!hasCopy) process.merges.leave(step);
    }
  }

  async #make(
    request: DelegationRequest,
    way: DelegationWay,
    place: Pick<Start, "callId" | "planned" | "step">,
  ): Promise<Started> {
    const live = this.#live;
    // Handles that were withdrawn or registered since count for every new delegation.
    const refreshing = live.run.parts.agents.refresh(isHandle(request));
    if (refreshing) await refreshing;
    live.work.throwIfStopped();
    const keeps = keptBy(live.state);
    // A plan has one result, however many children carry it out.
    // Counted only where there may be too many: a thousand calls of one turn pass here one by one.
    const isFull = (results: number): boolean =>
      live.process.children.length >= results && unreadChildren(live) >= results;
    if (keeps && request.key === undefined && isFull(keeps.results)) {
      const reason = `The caller's budget has room for ${keeps.results} unread results, for which it keeps ${keeps.tokens} tokens. Read those first, or delegate less.`;
      return { rule: "budget", reason };
    }
    const isTold = request.untrusted ?? this.results.hasUntrusted;
    return startDelegation({
      run: live.run,
      caller: live,
      request,
      way,
      ...place,
      ...(isTold && { isTold: true as const }),
      signal: () => this.#of.signal,
    });
  }

  async #receiptOf(delegationId: string): Promise<readonly ReceiptLine[]> {
    for await (const event of this.#live.run.parts.store.readEvents({ delegationId })) {
      if (event.type === "agent.subagent_created") return event.payload.receipt ?? [];
    }
    return [];
  }

  profileBehind(name: string): string | undefined {
    return name.startsWith("@") ? this.#live.run.parts.agents.entry(name)?.profileId : name;
  }

  isMine(id: string): Promise<boolean> {
    return isMineOf(this.#live, id);
  }

  async list(): Promise<readonly DelegationInfo[]> {
    const { id, process, run } = this.#live;
    // The list contains what this delegation has just recorded.
    await process.appends.durable();
    const { store } = run.parts;
    const state = await store.readRun(run.id);
    if (state === undefined) return [];
    const own = subtree(state, id).filter((one) => one.id !== id);
    const earlier = (await sessionChildrenOf(this.#live)?.all()) ?? [];
    const infos = await Promise.all(
      earlier.map(async ({ delegation, run: its }) =>
        infoOf(its, delegation, await isRunInterrupted(store, its)),
      ),
    );
    return [...infos, ...own.map((one) => infoOf(state, one))];
  }

  async cancel(id: string, reason: string): Promise<CancelOutcome> {
    const { run } = this.#live;
    const child = run.delegations.byId.get(id);
    const cause = { code: "cancelled", text: reason } as const;
    if (child !== undefined) return run.execution.cancel(child, cause);
    const earlier = sessionChildrenOf(this.#live);
    const runId = isBelow(this.#live, id) ? run.id : (await earlier?.find(id))?.run.id;
    if (runId === undefined) return "not_found";
    return cancelStored(run.parts, runId, id, cause);
  }

  send(id: string, text: string): Promise<string | undefined> {
    const { inOrder } = this.#live.process;
    const sending = inOrder.sending.then(() => this.#send(id, text));
    inOrder.sending = sending.catch(() => undefined);
    return sending;
  }

  async #send(id: string, text: string): Promise<string | undefined> {
    const { contract, id: own, run, said } = this.#live;
    // Derived from the call: a call that is repeated after a crash sends the same message.
    const messageId = `m${sha256(JSON.stringify([own, this.#call.id])).slice(0, 16)}`;
    const message = { id: messageId, from: "caller", text } as const;
    const carries = carriedBy(run.parts.toolbox, contract, said.evidence);
    try {
      await sendMessage(run.parts.store, id, { ...message, carries });
      return undefined;
    } catch (error) {
      if (error instanceof MandateError) return error.message;
      throw error;
    }
  }

  ask(question: string, kind?: "approval", about?: string): Promise<AskOutcome> {
    const asked = { callId: this.#call.id, question, ...(kind && { kind }) };
    return askPerson(this.#live, about === undefined ? asked : { ...asked, about });
  }

  changes(range?: string): ReturnType<Delegator["changes"]> {
    // A diff shows files of the workspace, which anyone may have written.
    this.results.hasUntrusted = true;
    return changesOf(this.#live, range);
  }

  get review(): Delegator["review"] {
    const { contract, id, process, run } = this.#live;
    const { review } = contract.exit;
    if (review === undefined) return null;
    // A review that this very call has made, before a crash perhaps, is not among those before it.
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
    const { contract, id, run } = this.#live;
    const watched = run.delegations.byId.get(contract.parent.watches ?? "");
    if (!isWatcher(this.#live) || watched === undefined) return "only watchers may interject";
    if (watched.process.end.isEnding || watched.state.status !== "running")
      return "the session has ended";
    if (watched.work.suspension !== null) return "the session was interrupted";
    const { count, last } = run.history.remarks.get(id) ?? { count: 0, last: "" };
    if (count >= mostRemarks) return `you have spoken ${mostRemarks} times, which is enough`;
    if (last === message) return "you have said just that already";
    const remark = { from: `watcher:${id}`, severity, message };
    watched.record(event(watched, "agent.interjected", remark));
    return undefined;
  }

  readArtifact(hash: string): Promise<string | undefined> {
    return this.#live.run.parts.store.readArtifact(hash);
  }

  async keepArtifact(text: string): Promise<string> {
    return (await this.#live.run.parts.store.keepArtifact(text)).hash;
  }
}

/** A watcher that repeats itself is no help: so many remarks it may make. */
const mostRemarks = 30;

/** The results that one call is given, and what it hands over of them to its delegation. */
class CallResults implements ChildResults {
  /** Delegations whose results this call hands over; written with its completion. */
  handedOver: readonly string[] | undefined;
  /** Some of these results are of children that had read untrusted input. */
  hasUntrusted = false;
  readonly #live: LiveDelegation;
  readonly #call: ToolCall;
  readonly #of: DelegatingCall;

  constructor(live: LiveDelegation, call: ToolCall, of: DelegatingCall) {
    this.#live = live;
    this.#call = call;
    this.#of = of;
  }

  get joinTokens(): number {
    const { contract, state } = this.#live;
    const most = contract.join.max_tokens;
    return Math.min(most, keptBy(state)?.result ?? most);
  }

  /** Every result that the call is given passes here: one that is tainted is noted. */
  handing<Result extends DelegationResult | null | undefined>(result: Result): Result {
    if (result?.evidence.untrusted) this.hasUntrusted = true;
    return result;
  }

  joinAndComplete(
    id: string,
    describe: (result: DelegationResult) => JoinedOutput,
  ): Promise<Joined> {
    const live = this.#live;
    const child = live.run.delegations.byId.get(id);
    if (child === undefined) throw new Error(`there is no delegation ${id}`);
    const { end } = child.process;
    const complete = (result: DelegationResult): Joined => this.#completeNow(result, describe);
    // The close is in the log already, or written by a process that cannot write for this one.
    if (end.result !== null || live.run.execution.isRemote(child)) {
      return end.whenClosed().then(complete);
    }
    let output: JoinedOutput = { text: "" };
    end.deliver = (result) => {
      output = describe(result);
      const completed = this.#completion(output, result);
      live.follow([completed]);
      this.#of.onRecorded();
      return [completed];
    };
    return end.whenClosed().then((result) => {
      // Where another process closed it, the completion was not in the same transaction.
      if (!live.run.history.delivered.has(id)) return complete(result);
      return { ...output, recorded: true };
    });
  }

  #completeNow(
    result: DelegationResult,
    describe: (result: DelegationResult) => JoinedOutput,
  ): Joined {
    const output = describe(result);
    this.#live.work.throwIfStopped();
    this.#live.record(this.#completion(output, result));
    this.#of.onRecorded();
    return { ...output, recorded: true };
  }

  #completion({ isError, text }: JoinedOutput, result: DelegationResult): NewEvent {
    const delivery = completion(this.#call, { text }, { text }, [result.delegationId]);
    const completed = isError ? { ...delivery, is_error: true as const } : delivery;
    const payload = result.evidence.untrusted
      ? { ...completed, untrusted: true as const }
      : completed;
    return event(this.#live, "agent.tool_completed", payload);
  }

  async join(
    ids: readonly string[],
    maxWaitMs: number | undefined,
  ): Promise<ReadonlyMap<string, DelegationResult | null>> {
    const { delegations, parts } = this.#live.run;
    const earlier = sessionChildrenOf(this.#live);
    const results = new Map<string, DelegationResult | null>(ids.map((id) => [id, null]));
    // Only a child of an earlier run is waited for by a subscription, which has to be left.
    let leaving: AbortController | undefined;
    const untilLeft = (): AbortSignal => {
      leaving ??= new AbortController();
      return AbortSignal.any([leaving.signal, this.#of.signal]);
    };
    const all = ids.map(async (id) => {
      const child = delegations.byId.get(id);
      callFor(child);
      const closed = child?.process.end.whenClosed() ?? earlier?.closed(id, untilLeft());
      results.set(id, this.handing((await closed) ?? null));
    });
    try {
      await (maxWaitMs === undefined
        ? Promise.all(all)
        : within(parts.clock, maxWaitMs, Promise.all(all)));
    } finally {
      leaving?.abort();
    }
    return results;
  }

  delivered(ids: readonly string[]): void {
    if (ids.length === 0) return;
    for (const id of ids) this.#live.run.history.delivered.add(id);
    this.handedOver = [...new Set([...(this.handedOver ?? []), ...ids])];
  }

  async notYetJoined(): Promise<readonly string[]> {
    const { process, run } = this.#live;
    // Children of the same turn count as well, and a copy takes a moment.
    if (process.making !== null && process.making.size > 0)
      await Promise.allSettled(process.making);
    const isJob = (id: string): boolean =>
      !run.history.delivered.has(id) && !run.delegations.joining.has(id);
    const own = process.children.map(({ id }) => id).filter(isJob);
    return [...((await sessionChildrenOf(this.#live)?.notDelivered()) ?? []), ...own];
  }

  async of(id: string): Promise<DelegationResult | null> {
    const { run } = this.#live;
    const child = run.delegations.byId.get(id);
    callFor(child);
    if (child !== undefined) return this.handing(child.process.end.result);
    const { log } = run.execution;
    if (log !== null && isBelow(this.#live, id)) return this.handing(resultOf(log, id));
    const earlier = await sessionChildrenOf(this.#live)?.find(id);
    return this.handing(earlier === undefined ? null : resultOf(earlier.run, id));
  }

  isSealed(id: string): boolean {
    return this.#live.run.delegations.byId.get(id)?.contract.outputs.transcript !== true;
  }

  async transcript(id: string): Promise<string | null> {
    const { delegations, parts } = this.#live.run;
    const result = delegations.byId.get(id)?.process.end.result ?? null;
    if (this.isSealed(id) || result === null || !isBelow(this.#live, id)) return null;
    this.handing(result);
    const { exportMarkdown } = await import("../../sessions/export-markdown.ts");
    let text = "";
    for await (const piece of exportMarkdown(parts.store, id)) text += piece;
    return text;
  }
}

/** Whether it is below this one, in the same run or in an earlier one of its session. */
async function isMineOf(live: LiveDelegation, id: string): Promise<boolean> {
  return isBelow(live, id) || (await sessionChildrenOf(live)?.find(id)) !== undefined;
}

/** Whether the delegation of that id is below this one, in the same run. */
function isBelow({ id: own, run }: LiveDelegation, id: string): boolean {
  const { log } = run.execution;
  if (log !== null) return id !== own && subtree(log, own).some((one) => one.id === id);
  let above = run.delegations.byId.get(id)?.parent ?? null;
  while (above !== null && above.id !== own) above = above.parent;
  return above !== null;
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

/** The result of the child is wanted: its changes can be merged, in their turn. */
function callFor(child: LiveDelegation | undefined): void {
  child?.parent?.process.merges?.callFor(child.contract.parent.step_idx);
}
