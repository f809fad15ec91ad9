import { existsSync } from "node:fs";
import { type Contract, openingOf } from "../../contracts/contract.ts";
import { type Delegation, isOpen } from "../../events/delegation.ts";
import type { StoredEvent } from "../../events/event.ts";
import { sha256 } from "../../events/hash-chain.ts";
import type { RunState } from "../../events/run-state.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { messageOf } from "../../ports/message-of.ts";
import type { Message } from "../../ports/model.ts";
import type { Store } from "../../ports/store.ts";
import { resultOf } from "../../sessions/delegation-result.ts";
import { isFurtherMessage } from "../../sessions/session.ts";
import { Transcript } from "../../sessions/transcript.ts";
import type { WorkingCopy } from "../../workspaces/git/copies/working-copy.ts";
import type { Budget } from "../budget.ts";
import { MergeOrder } from "../changes/merge-order.ts";
import { type CopyRole, copyFor } from "../distributed/remote-copy.ts";
import { Suspended } from "../ends/ending.ts";
import type { EngineParts } from "../engine-parts.ts";
import { Conversation, LiveDelegation, suspensionIn } from "../live-delegation.ts";
import { budgetFor, type LiveRun } from "../live-run.ts";
import { placeAgain } from "../start/placement.ts";
import { LoggedTime, longestSilence, type UsedTime } from "./logged-time.ts";

/**
 * Rebuilds the delegations of a run from its log, as they were after its last event. Writes nothing.
 * Closed delegations are included, since their results may not have reached their open parents.
 */
export async function hydrate(run: LiveRun, state: RunState): Promise<void> {
  const contracts = new Map<string, Contract>();
  for (const { id } of state.delegations.values()) {
    contracts.set(id, await run.parts.store.readContract(id));
  }
  const time = timeOf(run, (id) => contracts.get(id));
  const eventsOf = await readRunLog(run, contracts.keys(), (event) => time.see(event));
  for (const delegation of state.delegations.values()) {
    const events = eventsOf.get(delegation.id) ?? [];
    const live = await revive(run, state, delegation, {
      events,
      contract: contracts.get(delegation.id),
      used: time.of(delegation.id),
    });
    if (live.copy !== null) announceMerge(live);
  }
  countSteps(run, state, run.delegations.byId.values());
}

/** The events of these delegations, in order; the history of the run and `see` get all events. */
export async function readRunLog(
  run: LiveRun,
  ids: Iterable<string>,
  see?: (event: StoredEvent) => void,
): Promise<ReadonlyMap<string, readonly StoredEvent[]>> {
  const found = new Map<string, StoredEvent[]>([...ids].map((id) => [id, []]));
  for await (const event of run.parts.store.readEvents({ runId: run.id })) {
    run.history.see(event);
    see?.(event);
    found.get(event.sub_agent_id ?? "")?.push(event);
  }
  return found;
}

/** The work in the copy of a child is merged after that of earlier children. */
export function announceMerge({ contract, parent }: LiveDelegation): void {
  if (parent === null) return;
  parent.process.merges ??= new MergeOrder();
  parent.process.merges.announce(contract.parent.step_idx, false);
}

/** No child of these callers gets an index that another has, or that a plan keeps for its steps. */
export function countSteps(
  run: LiveRun,
  { delegations }: RunState,
  callers: Iterable<LiveDelegation>,
): void {
  run.delegations.nextStep = Math.max(run.delegations.nextStep, delegations.highestStep + 1);
  for (const caller of callers) {
    for (const { stepIdx } of delegations.childrenOf(caller.id)) keepIndexes(caller, stepIdx + 1);
  }
  for (const { by, first_step: first, steps } of run.history.plans) {
    if (first !== undefined) keepIndexes(run.delegations.byId.get(by), first + steps.length);
  }
}

function keepIndexes(caller: LiveDelegation | undefined, next: number): void {
  if (caller) caller.process.nextStep = Math.max(caller.process.nextStep, next);
}

interface RevivalOptions {
  readonly events: readonly StoredEvent[];
  /** Another process works on the delegation: its conversation is not needed here. */
  readonly isElsewhere?: boolean;
  readonly role?: CopyRole | undefined;
  readonly contract?: Contract | undefined;
  /** Absent: a new one, in which nothing of its children counts yet. */
  readonly budget?: Budget | undefined;
  /** By the whole log of its run; absent: by its own events. */
  readonly used?: UsedTime;
}

export async function revive(
  run: LiveRun,
  state: RunState,
  delegation: Delegation,
  { budget, contract: known, events, isElsewhere = false, role = "worker", used }: RevivalOptions,
): Promise<LiveDelegation> {
  const { store } = run.parts;
  const contract = known ?? (await store.readContract(delegation.id));
  const isRead = isOpen(delegation) && !isElsewhere;
  const parent =
    delegation.parentId === null ? null : (run.delegations.byId.get(delegation.parentId) ?? null);
  const copy = isOpen(delegation)
    ? await copyFor(run, delegation, { parent, contract, role })
    : undefined;
  const said = new Conversation(
    isElsewhere ? "" : await openingFor(run.parts, delegation, contract),
  );
  if (isOpen(delegation)) for (const event of events) said.see(event);
  const live = new LiveDelegation(
    {
      id: delegation.id,
      run,
      parent,
      contract,
      system: isRead ? await promptOf(store, contract) : "",
      budget: budget ?? budgetFor(run, parent, { id: delegation.id, contract }),
      workspace:
        copy === undefined || (role === "none" && isMissing(contract, copy))
          ? null
          : placeAgain(run, parent, contract, copy),
      copy: copy ?? null,
    },
    delegation,
    said,
  );
  run.delegations.addStored(live, delegation);
  live.process.appends.isKnown = true;
  // Only the process that sent an open request knows which part of the answer had arrived.
  live.process.request.received = null;
  if (delegation.status === "closed") {
    live.process.end.isEnding = true;
    const result = resultOf(state, delegation.id);
    if (result) live.process.end.closed(result);
  } else if (delegation.status === "running") {
    const { attemptMs, totalMs } = used ?? usedBy(run, contract, events);
    live.process.time.usedMs = totalMs;
    live.process.time.attemptMs = attemptMs;
  }
  return live;
}

export function timeOf(
  { parts }: LiveRun,
  contractOf: (id: string) => Contract | undefined,
): LoggedTime {
  return new LoggedTime({
    longest: (id) => longestSilence(contractOf(id)?.deadlines.total ?? 0),
    isWaiting: (tool) => parts.toolbox.get(tool)?.waits === true,
  });
}

function usedBy(run: LiveRun, contract: Contract, events: readonly StoredEvent[]): UsedTime {
  const time = timeOf(run, () => contract);
  for (const event of events) time.see(event);
  return time.of(events[0]?.sub_agent_id ?? "");
}

/** The delegations above this one may work on another machine. */
function isMissing({ workspace: { root } }: Contract, copy: WorkingCopy | null): boolean {
  return copy === null && root !== null && !existsSync(root);
}

/** The system prompt is part of the contract: no other text is accepted. */
async function promptOf(store: Store, { profile }: Contract): Promise<string> {
  const text = await store.readText(profile.prompt);
  if (text !== undefined && sha256(text) === profile.prompt) return text;
  throw new MandateError(
    "contract-invalid",
    `The stored prompt of "${profile.id}" differs from the one that its contract names, so the delegation cannot continue.`,
  );
}

/**
 * Resets a live delegation to its log, after one of its appends was refused because another process
 * wrote first.
 */
export async function reload(live: LiveDelegation, delegation: Delegation): Promise<void> {
  const { parts } = live.run;
  const opening = await openingFor(parts, delegation, live.contract);
  let state = delegation;
  let events: StoredEvent[];
  let heard: number;
  // Results that children deliver when they close are part of its log as well.
  do {
    heard = live.process.appends.count;
    events = [];
    await live.process.appends.quiet();
    const { store } = parts;
    for await (const event of store.readEvents({ delegationId: live.id })) events.push(event);
    state = (await store.readRun(live.run.id))?.delegations.get(live.id) ?? state;
  } while (live.process.appends.count !== heard);
  // From this line on the function awaits nothing: a second reload may be under way.
  const said = new Conversation(opening);
  for (const event of events) said.see(event);
  live.process.appends.startOver();
  live.process.request.estimates = null;
  live.process.request.received = null;
  live.adopt(state, said);
  const { work } = live;
  if (work.cut === null || work.cut instanceof Suspended) work.cut = suspensionIn(state);
}

/** A delegation that resumes another one opens with the conversation of that one. */
async function openingFor(
  parts: Pick<EngineParts, "store">,
  { resumedAt, resumedFrom }: Pick<Delegation, "resumedAt" | "resumedFrom">,
  contract: Contract,
): Promise<ConstructorParameters<typeof Transcript>[0]> {
  if (resumedFrom === null) return openingOf(contract);
  return openingAfter(parts, resumedFrom, contract.step.description, resumedAt ?? undefined);
}

/**
 * The conversation of a stored delegation, for the one that resumes it: with the person's next
 * message, or with a note that it was interrupted. It follows from the log alone, so that it is the
 * same when the new delegation starts and when it is recovered.
 */
export async function openingAfter(
  parts: Pick<EngineParts, "store">,
  id: string,
  task: string,
  /** The last event that counts; absent: all. */
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
    // For a fork, it does not matter how the delegation closed.
    const isFork = upTo !== Number.POSITIVE_INFINITY;
    const isFurther = isFurtherMessage(contract, isFork ? undefined : delegation, task);
    // A delegation that had not begun was not interrupted.
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
