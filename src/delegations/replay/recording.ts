import { type Contract, openingOf } from "../../contracts/contract.ts";
import type { CallCause } from "../../events/cause.ts";
import { checkStore } from "../../events/checker/check-store.ts";
import type { EventPayloads, FileEvidence, StoredEvent } from "../../events/event.ts";
import { tellPruned } from "../../events/pruned-runs.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Message } from "../../ports/model.ts";
import type { Store } from "../../ports/store.ts";
import { openingAfter } from "../recovery/hydrate.ts";
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

/** What one call did and came to. */
export interface RecordedCall {
  /** By the name under which it was made, which middleware may have changed. */
  readonly tool: string;
  /** The first event that speaks of it. */
  readonly seq: number;
  /** The children that it made, its questions and its plans, in their order. */
  readonly acts: readonly RecordedAct[];
  /** Whether a person was asked first if it may be made. */
  readonly approval: string | null;
  readonly result: RecordedResult;
}

export type RecordedAct =
  | { readonly kind: "child"; readonly seq: number; readonly id: string }
  | {
      readonly kind: "ask";
      readonly seq: number;
      readonly question: string;
      readonly of: EventPayloads["agent.asked"]["kind"];
    }
  | { readonly kind: "plan"; readonly seq: number; readonly steps: Steps };

type Steps = EventPayloads["run.planned"]["steps"];

export type RecordedResult =
  | {
      readonly kind: "completed";
      readonly seq: number;
      readonly text: string;
      /** The whole of a text that was too large for the log. */
      readonly artifact: string | undefined;
      readonly delivered: readonly string[] | undefined;
      readonly isError: true | undefined;
      readonly files: readonly FileEvidence[] | undefined;
      readonly exitCode: number | undefined;
      readonly untrusted: true | undefined;
      readonly exit: string | undefined;
    }
  | {
      readonly kind: "failed";
      readonly seq: number;
      readonly cause: CallCause;
      readonly text: string;
      readonly spawnFailed: true | undefined;
      readonly exitCode: number | undefined;
      readonly untrusted: true | undefined;
    }
  | { readonly kind: "denied"; readonly rule: string; readonly text: string }
  /** Nobody knows: it had begun when its process died, and was not to be repeated. */
  | { readonly kind: "unknown"; readonly rule: string; readonly advice: string }
  /** Nothing came of it: it was cut off. */
  | { readonly kind: "cut" };

/** The calls of one delegation, from the events of its run. */
export function recordedCalls(
  delegationId: string,
  events: readonly StoredEvent[],
): ReadonlyMap<string, RecordedCall> {
  const calls = new Map<string, Draft>();
  const draft = (id: string, seq: number): Draft => {
    const result = { kind: "cut" } as const;
    const known = calls.get(id) ?? { tool: "", seq, acts: [], approval: null, result };
    calls.set(id, known);
    return known;
  };
  for (const event of events) {
    if (event.type === "agent.subagent_created" && event.payload.parent_id === delegationId) {
      const { payload, seq, sub_agent_id: id = "" } = event;
      const callId = callBehind(payload.call_id ?? "", calls);
      draft(callId, seq).acts.push({ kind: "child", seq, id });
    } else if (event.type === "run.planned" && event.payload.by === delegationId) {
      const { call_id: callId, steps } = event.payload;
      draft(callId, event.seq).acts.push({ kind: "plan", seq: event.seq, steps });
    } else if (event.sub_agent_id === delegationId) {
      note(event, draft);
    }
  }
  return calls;
}

interface Draft extends RecordedCall {
  tool: string;
  readonly acts: RecordedAct[];
  approval: string | null;
  result: RecordedResult;
}

/** Several children of one call bear its id and a key; the id is the model's own, slashes and all. */
function callBehind(callId: string, calls: ReadonlyMap<string, Draft>): string {
  if (calls.has(callId)) return callId;
  const slash = callId.lastIndexOf("/");
  return slash > 0 && calls.has(callId.slice(0, slash)) ? callId.slice(0, slash) : callId;
}

function note(event: StoredEvent, draft: (id: string, seq: number) => Draft): void {
  switch (event.type) {
    case "agent.tool_started":
      draft(event.payload.call_id, event.seq).tool = event.payload.tool;
      break;
    case "agent.asked": {
      const { call_id: callId, kind, question } = event.payload;
      const call = draft(callId, event.seq);
      // What a call has asked once it had begun is its own question: whether a plan may begin.
      if (kind === "approval" && call.tool === "") call.approval = question;
      else call.acts.push({ kind: "ask", seq: event.seq, question, of: kind });
      break;
    }
    case "agent.tool_completed":
    case "agent.tool_failed":
    case "agent.tool_denied":
    case "agent.tool_outcome_unknown":
      draft(event.payload.call_id, event.seq).result = resultIn(event);
      draft(event.payload.call_id, event.seq).tool ||= event.payload.tool;
      break;
    default:
  }
}

type Ended = StoredEvent<
  "agent.tool_completed" | "agent.tool_failed" | "agent.tool_denied" | "agent.tool_outcome_unknown"
>;

function resultIn({ payload, seq, type }: Ended): RecordedResult {
  if (type === "agent.tool_denied")
    return { kind: "denied", rule: payload.rule, text: payload.error };
  if (type === "agent.tool_outcome_unknown") {
    const { cause } = payload;
    if (cause.code !== "call_interrupted") return { kind: "cut" };
    return { kind: "unknown", rule: cause.rule, advice: cause.text };
  }
  if (type === "agent.tool_failed") {
    // Not what the tool said: its delegation had ended.
    const { cause, error: text, exit_code: exitCode, spawn_failed: spawnFailed } = payload;
    if (cause.code === "delegation_closed") return { kind: "cut" };
    const { untrusted } = payload;
    return { kind: "failed", seq, cause, text, spawnFailed, exitCode, untrusted };
  }
  return {
    kind: "completed",
    seq,
    text: payload.output,
    artifact: payload.artifact?.hash,
    delivered: payload.delivered,
    isError: payload.is_error,
    files: payload.files,
    exitCode: payload.exit_code,
    untrusted: payload.untrusted,
    exit: payload.exit,
  };
}
