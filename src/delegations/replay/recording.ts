import { type Contract, openingOf } from "../../contracts/contract.ts";
import { checkStore } from "../../events/checker/check-store.ts";
import type { EventPayloads, StoredEvent } from "../../events/event.ts";
import { tellPruned } from "../../events/pruned-runs.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Message } from "../../ports/model.ts";
import type { Store } from "../../ports/store.ts";
import { openingAfter } from "../recovery/hydrate.ts";
import { type RecordedCall, recordedCalls } from "./recorded-calls.ts";
import { type RecordedRequest, recordedRequests } from "./recorded-requests.ts";

/** What one delegation was given, and what it met from outside, as its log has it. */
export interface RecordedDelegation {
  readonly id: string;
  readonly parentId: string | null;
  readonly callId: string | null;
  readonly contract: Contract;
  readonly system: string;
  /** What stands before its first turn: its task, or the conversation that it goes on from. */
  readonly opening: string | readonly Message[];
  readonly events: readonly StoredEvent[];
  /** What became of its requests to a model, by their number. */
  readonly requests: ReadonlyMap<number, RecordedRequest>;
  /** What became of its calls, by their id. */
  readonly calls: ReadonlyMap<string, RecordedCall>;
}

/** All that a run met from outside: enough to have it again without asking anybody. */
export interface Recording {
  readonly runId: string;
  readonly started: EventPayloads["run.started"];
  /** False: it was still open when it was read, and goes as far as its log did then. */
  readonly isFinished: boolean;
  /** In the order of the log. What came too late for anybody is left out, and so are messages. */
  readonly events: readonly StoredEvent[];
  /** Messages to running agents. Between which events of its receiver one was sent is a matter of time. */
  readonly messages: readonly StoredEvent<"agent.message_sent">[];
  /** In the order in which they were made. */
  readonly delegations: ReadonlyMap<string, RecordedDelegation>;
  /** Bodies that were too large for the log, by their hash. */
  readonly artifacts: ReadonlyMap<string, string>;
}

/**
 * Reads what a run met from outside. Refuses a log that the checker finds fault with: what it tells
 * may not have happened.
 */
export async function recordingOf(runId: string, store: Store): Promise<Recording> {
  const found = await store.findRun(runId);
  if (found === undefined || found !== runId) {
    const shown = JSON.stringify(runId.slice(0, 40));
    const about = found === undefined ? "" : ` It belongs to run ${found}.`;
    const pruned = await tellPruned(store, runId);
    throw new MandateError("unknown-run", pruned ?? `There is no run ${shown}.${about}`);
  }
  await requireSound(runId, store);
  const events: StoredEvent[] = [];
  const messages: StoredEvent<"agent.message_sent">[] = [];
  for await (const event of store.readEvents({ runId })) {
    if (event.type === "agent.message_sent") {
      messages.push(event);
      continue;
    }
    // Who worked on something is no part of what happened: a replay must not wait for it.
    if (event.type !== "run.late_result" && event.type !== "agent.claimed") events.push(event);
  }
  const [first] = events;
  if (first?.type !== "run.started") {
    throw new MandateError("unknown-run", `The log of run ${runId} has no beginning.`);
  }
  return {
    runId,
    started: first.payload,
    isFinished: events.at(-1)?.type === "run.finished",
    events,
    messages,
    delegations: await delegationsIn(events, store),
    artifacts: await artifactsOf(events, store),
  };
}

async function requireSound(runId: string, store: Store): Promise<void> {
  if (store.inspect === undefined) return;
  const { violations } = await checkStore(store, { runId, bodies: false });
  const [first] = violations;
  if (first === undefined) return;
  const at = first.seq === undefined ? "" : ` at event ${first.seq}`;
  const more = violations.length > 1 ? ` (and ${violations.length - 1} more)` : "";
  throw new MandateError(
    "database-unusable",
    `The log of run ${runId} does not hold${at}, and nothing is made of it: ${first.invariant} ${first.message}${more} See all of it: mandate verify`,
  );
}

async function delegationsIn(
  events: readonly StoredEvent[],
  store: Store,
): Promise<ReadonlyMap<string, RecordedDelegation>> {
  const own = Map.groupBy(events, ({ sub_agent_id: id = "" }) => id);
  const found = new Map<string, RecordedDelegation>();
  for (const event of events) {
    if (event.type !== "agent.subagent_created") continue;
    const { payload, sub_agent_id: id = "" } = event;
    const about = own.get(id) ?? [];
    const contract = await store.readContract(id);
    found.set(id, {
      id,
      parentId: payload.parent_id,
      callId: payload.call_id,
      contract,
      system: await promptOf(contract, store),
      opening: await openingFor(contract, payload, store),
      events: about,
      requests: recordedRequests(about, contract.model.max_output_tokens),
      calls: recordedCalls(id, events),
    });
  }
  return found;
}

async function openingFor(
  contract: Contract,
  { resumed_at: at, resumed_from: from }: EventPayloads["agent.subagent_created"],
  store: Store,
): Promise<RecordedDelegation["opening"]> {
  if (from === undefined) return openingOf(contract);
  return openingAfter({ store }, from, contract.step.description, at);
}

async function promptOf({ profile }: Contract, store: Store): Promise<string> {
  const text = await store.readText(profile.prompt);
  if (text !== undefined) return text;
  throw new MandateError(
    "database-unusable",
    `The prompt of "${profile.id}" (${profile.prompt.slice(0, 12)}) is missing in the database: its run cannot be replayed.`,
  );
}

async function artifactsOf(
  events: readonly StoredEvent[],
  store: Store,
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const event of events) {
    const hash = artifactIn(event);
    if (hash === undefined || found.has(hash)) continue;
    const body = await store.readArtifact(hash);
    if (body === undefined) {
      throw new MandateError(
        "database-unusable",
        `The artifact ${hash.slice(0, 12)} that event ${event.seq} (${event.type}) speaks of is missing: the run cannot be replayed without it. Artifacts lie beside the database; bring back that folder.`,
      );
    }
    found.set(hash, body);
  }
  return found;
}

/** What the output of a delegation refers to is in its event as well, whole. */
function artifactIn(event: StoredEvent): string | undefined {
  if (event.type === "agent.tool_completed") return event.payload.artifact?.hash;
  return event.type === "agent.worktree_merged" ? event.payload.diff?.hash : undefined;
}
