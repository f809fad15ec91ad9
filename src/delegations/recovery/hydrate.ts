import { existsSync } from "node:fs";
import type { Contract } from "../../contracts/contract.ts";
import { type Delegation, isOpen } from "../../events/delegation.ts";
import type { EventPayloads, StoredEvent } from "../../events/event.ts";
import { Evidence } from "../../events/evidence.ts";
import { sha256 } from "../../events/hash-chain.ts";
import type { RunState } from "../../events/run-state.ts";
import type { AskOutcome } from "../../ports/delegator.ts";
import { billionths } from "../../ports/dollars.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { messageOf } from "../../ports/message-of.ts";
import type { Message } from "../../ports/model.ts";
import type { Store } from "../../ports/store.ts";
import { resultOf } from "../../sessions/delegation-result.ts";
import { isFurtherMessage } from "../../sessions/is-further-message.ts";
import { Transcript } from "../../sessions/transcript.ts";
import type { WorkingCopy } from "../../workspaces/git/copies/working-copy.ts";
import { Agent } from "../agent.ts";
import { MergeOrder } from "../changes/merge-order.ts";
import { type CopyRole, copyFor } from "../changes/remote-copy.ts";
import { Suspended } from "../ends/ending.ts";
import type { EngineParts } from "../engine-parts.ts";
import { enlist } from "../enqueue.ts";
import type { LiveRun } from "../live-run.ts";
import { accountFor } from "../spread/shared-account.ts";
import { placeAgain } from "../start/placement.ts";
import { openingOf } from "../start/start-delegation.ts";
import { askKey } from "../turns/ask-person.ts";
import { nothing } from "../turns/ledger.ts";
import { attemptTime } from "./attempt-time.ts";
import { livedTime, longestSilence } from "./lived-time.ts";

/**
 * Rebuilds the agents of a run from its log, as they were when it last said anything. Writes
 * nothing; closed delegations come too, since open parents may still be owed their results.
 */
export async function hydrate(run: LiveRun, state: RunState): Promise<void> {
  const eventsOf = new Map<string, StoredEvent[]>();
  const remarks: EventPayloads["agent.interjected"][] = [];
  for await (const event of run.parts.store.readEvents({ runId: run.id })) {
    noteEvent(run, event);
    if (event.type === "agent.interjected") remarks.push(event.payload);
    if (event.sub_agent_id === undefined) continue;
    const events = eventsOf.get(event.sub_agent_id);
    if (events) events.push(event);
    else eventsOf.set(event.sub_agent_id, [event]);
  }
  for (const delegation of state.delegations.values()) {
    const agent = await revive(run, state, delegation, eventsOf.get(delegation.id) ?? []);
    enlist(run, agent);
    if (delegation.parentId === null && delegation.depth === 0) run.root = agent;
    if (agent.copy !== null && agent.parent !== null) {
      agent.parent.merges ??= new MergeOrder();
      agent.parent.merges.announce(delegation.stepIdx, false);
    }
    if (delegation.callId !== null)
      run.byCall.set(`${delegation.parentId} ${delegation.callId}`, agent);
    run.steps = Math.max(run.steps, delegation.stepIdx + 1);
  }
  countRemarks(run, remarks);
}

/** What a run as a whole remembers of its events. */
export function noteEvent(run: LiveRun, event: StoredEvent): void {
  if (event.type === "agent.tool_completed") {
    for (const id of event.payload.delivered ?? []) run.delivered.add(id);
  } else if (event.type === "run.planned") run.plans.push(event.payload);
}

/** A crash gives no watcher more to say than it had. */
export function countRemarks(
  run: LiveRun,
  remarks: readonly EventPayloads["agent.interjected"][],
): void {
  for (const { from, message } of remarks) {
    const watcher = run.agents.get(from.replace(/^watcher:/, ""));
    if (watcher === undefined) continue;
    watcher.remarks++;
    watcher.lastRemark = message;
  }
}

export async function revive(
  run: LiveRun,
  state: RunState,
  delegation: Delegation,
  events: readonly StoredEvent[],
  /** Of one that is worked on elsewhere, what it was told and said is nothing to this process. */
  isElsewhere = false,
  role: CopyRole = "worker",
): Promise<Agent> {
  const { store } = run.parts;
  const contract = await store.readContract(delegation.id);
  const isRead = isOpen(delegation) && !isElsewhere;
  const parent =
    delegation.parentId === null ? null : (run.agents.get(delegation.parentId) ?? null);
  const account = accountFor(run, parent, delegation.id, contract);
  const { completion, cost, prompt } = delegation.usage;
  account.settle(nothing, { tokens: prompt + completion, cost: billionths(cost) });
  account.isOverrun = delegation.overrun === true;
  const copy = isOpen(delegation)
    ? await copyFor(run, parent, delegation, contract, role)
    : undefined;
  const agent = new Agent({
    id: delegation.id,
    run,
    parent,
    contract,
    contractHash: delegation.contractHash,
    system: isRead ? await promptOf(store, contract) : "",
    account,
    transcript: new Transcript(
      isElsewhere ? "" : await openingFor(run.parts, delegation, contract),
    ),
    workspace:
      copy === undefined || (role === "none" && isMissing(contract, copy))
        ? null
        : placeAgain(run, parent, contract, copy),
    copy: copy ?? null,
    createdAt: delegation.createdAt,
  });
  agent.usage = delegation.usage;
  agent.estimated = delegation.estimates ?? 0;
  agent.turns = delegation.turns;
  agent.attempt = delegation.attempt;
  if (delegation.status === "closed") {
    agent.isEnding = true;
    const result = resultOf(state, delegation.id);
    if (result) agent.closed(result);
    return agent;
  }
  for (const event of events) replay(agent, event);
  if (delegation.status === "running") {
    const longest = longestSilence(contract.deadlines.total);
    agent.time.usedMs = livedTime(events, longest);
    const isWaiting = (tool: string): boolean => agent.findTool(tool)?.waits === true;
    agent.time.attemptMs = attemptTime(events, isWaiting, longest);
  }
  adopt(agent, delegation);
  return agent;
}

/** Those above it may work on another machine. */
function isMissing({ workspace: { root } }: Contract, copy: WorkingCopy | null): boolean {
  return copy === null && root !== null && !existsSync(root);
}

/** The system prompt is part of the contract: another text, or none, is not what was agreed. */
async function promptOf(store: Store, { profile }: Contract): Promise<string> {
  const text = await store.readText(profile.prompt);
  if (text !== undefined && sha256(text) === profile.prompt) return text;
  throw new MandateError(
    "contract-invalid",
    `The stored prompt of "${profile.id}" is not the one that was agreed.`,
  );
}

/** Takes over what the fold knows of a delegation that is open. */
function adopt(agent: Agent, delegation: Delegation): void {
  if (delegation.status === "running") {
    agent.status = "running";
    agent.requests = delegation.requests;
    agent.openAsk = delegation.ask;
    if (delegation.reservation) {
      const { cost = 0, prompt, tokens } = delegation.reservation;
      const held = { tokens, cost: billionths(cost) };
      agent.reservation = prompt === undefined ? held : { ...held, prompt };
      agent.received = null;
      agent.account.restoreReservation(agent.reservation);
    }
  } else if (delegation.status === "waiting_for_merge") {
    agent.status = "waiting_for_merge";
    const { reason, text, truncated } = delegation.output;
    agent.output = { kind: "output", text, truncated, reason };
    agent.openAsk = delegation.ask;
  }
}

/**
 * Brings a living agent back to what its log says, after an append it had counted on was refused
 * because somebody else wrote first.
 */
export async function reload(agent: Agent, delegation: Delegation): Promise<void> {
  const { parts } = agent.run;
  const opening = await openingFor(parts, delegation, agent.contract);
  let events: StoredEvent[];
  let heard: number;
  // What children hand over while they end is part of its log as well.
  do {
    heard = agent.appends.count;
    events = [];
    await agent.appends.quiet();
    const { store } = parts;
    for await (const event of store.readEvents({ delegationId: agent.id })) events.push(event);
  } while (agent.appends.count !== heard);
  // In one breath: its caller may have it follow the log at the same time, and twice is too often.
  agent.startOver();
  agent.account.settle(agent.reservation, nothing);
  agent.reservation = nothing;
  agent.account.isOverrun = delegation.overrun === true;
  agent.estimates.clear();
  agent.openCalls = null;
  agent.answers = null;
  agent.evidence = new Evidence();
  agent.attempt = delegation.attempt;
  agent.turns = delegation.turns;
  agent.usage = delegation.usage;
  agent.estimated = delegation.estimates ?? 0;
  agent.transcript = new Transcript(opening);
  for (const event of events) replay(agent, event);
  adopt(agent, delegation);
}

function replay(agent: Agent, event: StoredEvent): void {
  agent.see(event);
  switch (event.type) {
    case "agent.tool_started":
      agent.callBegan(event.payload.call_id, event.payload.tool);
      break;
    case "agent.tool_completed":
    case "agent.tool_failed":
    case "agent.tool_outcome_unknown":
      agent.callEnded(event.payload.call_id);
      break;
    case "agent.interrupted":
      agent.cut = suspensionOf(event.payload);
      break;
    case "agent.paused":
      if (event.payload.reason === "budget" || agent.isInterrupted) break;
      agent.cut = resting();
      break;
    case "agent.resumed":
      if (agent.suspension !== null) agent.cut = null;
      break;
    case "agent.interjected":
      agent.watchedUpTo = Math.max(agent.watchedUpTo, event.payload.up_to ?? 0);
      break;
    case "agent.asked":
      agent.openAsk = {
        id: event.payload.ask_id,
        callId: event.payload.call_id,
        ...(event.payload.kind && { kind: event.payload.kind }),
        question: event.payload.question,
        deadlineAt: event.payload.deadline_at,
        default: event.payload.default,
      };
      break;
    case "agent.answered": {
      const { answer, by } = event.payload;
      if (agent.openAsk) {
        agent.answers ??= new Map();
        const outcome: AskOutcome =
          answer === null || by === "expired"
            ? { answered: false }
            : { answered: true, answer, by };
        agent.answers.set(askKey(agent.openAsk), outcome);
      }
      agent.openAsk = null;
      break;
    }
    default:
  }
}

function resting(): Suspended {
  const suspension = new Suspended("It is paused.", null);
  suspension.isAtRest = true;
  return suspension;
}

function suspensionOf(payload: EventPayloads["agent.interrupted"]): Suspended {
  return new Suspended(payload.reason, payload.closes_as, payload.resumed === true);
}

/** One that goes on from another opens with the conversation of that one. */
async function openingFor(
  parts: Pick<EngineParts, "store">,
  { resumedAt, resumedFrom }: Pick<Delegation, "resumedAt" | "resumedFrom">,
  contract: Contract,
): Promise<ConstructorParameters<typeof Transcript>[0]> {
  if (resumedFrom === null) return openingOf(contract);
  return openingAfter(parts, resumedFrom, contract.step.description, resumedAt ?? undefined);
}

/**
 * The conversation of a stored delegation, for one that goes on from it: with the person's next
 * message, or with a word that it was interrupted. The same whether that one starts or is taken up
 * after a crash, because it is worked out from what is stored.
 */
export async function openingAfter(
  parts: Pick<EngineParts, "store">,
  id: string,
  task: string,
  /** As far as this event of its; absent: to its end. */
  upTo = Number.POSITIVE_INFINITY,
): Promise<readonly Message[]> {
  const { store } = parts;
  const contract = await store.readContract(id);
  try {
    const state = await store.readRun(contract.parent.run_id);
    const delegation = state?.delegations.get(id);
    const transcript = new Transcript(
      delegation ? await openingFor(parts, delegation, contract) : openingOf(contract),
    );
    for await (const event of store.readEvents({ delegationId: id })) {
      if (event.seq <= upTo) transcript.apply(event);
    }
    // How it ended afterwards is nothing to one that goes on from the middle of it.
    const isFork = upTo !== Number.POSITIVE_INFINITY;
    const isFurther = isFurtherMessage(contract, isFork ? undefined : delegation, task);
    // Nobody was interrupted who had not begun.
    if (isFork && !isFurther && transcript.turns === 0) return transcript.messages;
    return transcript.asOpening(isFurther ? task : undefined);
  } catch (error) {
    if (error instanceof MandateError) throw error;
    throw new MandateError(
      "not-resumable",
      `The conversation of ${id} cannot be read: ${messageOf(error)}. What is wrong with it: mandate verify`,
      { cause: error },
    );
  }
}
