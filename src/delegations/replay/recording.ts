import { type Contract, openingOf } from "../../contracts/contract.ts";
import type { CallCause } from "../../events/cause.ts";
import { checkStore } from "../../events/checker/check-store.ts";
import type {
  ConnectionEvidence,
  EventPayloads,
  FileEvidence,
  StoredEvent,
} from "../../events/event.ts";
import { tellPruned } from "../../events/pruned-runs.ts";
import type { WorkflowEvent } from "../../ports/delegator.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Message } from "../../ports/model.ts";
import type { Store } from "../../ports/store.ts";
import { openingAfter } from "../recovery/hydrate.ts";
import { isIncidental } from "./comparable-events.ts";
import { type RecordedRequest, recordedRequests } from "./recorded-requests.ts";

/** One recorded delegation: its contract, its opening, and the answers and results it received. */
export interface RecordedDelegation {
  readonly id: string;
  readonly parentId: string | null;
  readonly callId: string | null;
  readonly contract: Contract;
  readonly system: string;
  /** The conversation before its first turn: its task, or the conversation that it continues. */
  readonly opening: string | readonly Message[];
  readonly events: readonly StoredEvent[];
  /** The delegation's requests to a model and their outcome, by number. */
  readonly requests: ReadonlyMap<number, RecordedRequest>;
  /** The calls of the delegation and their results, by id. */
  readonly calls: ReadonlyMap<string, RecordedCall>;
}

/** A recorded run with all its inputs: enough to replay it without models, tools or people. */
export interface Recording {
  readonly runId: string;
  readonly started: EventPayloads["run.started"];
  /** False: the run was still open when it was read, and the recording ends where its log ended. */
  readonly isFinished: boolean;
  /** In the order of the log, without late results, claims and sent messages. */
  readonly events: readonly StoredEvent[];
  /** Which worker of a distributed run had which delegation, in the order of the log. */
  readonly claims: readonly StoredEvent<"agent.claimed">[];
  /** Messages to running agents. Their position among the receiver's events depends on timing. */
  readonly messages: readonly StoredEvent<"agent.message_sent">[];
  /** In the order of their creation. */
  readonly delegations: ReadonlyMap<string, RecordedDelegation>;
  /** Bodies that were too large for the log, by their hash. */
  readonly artifacts: ReadonlyMap<string, string>;
}

/**
 * Reads a run with all its inputs. Throws when the checker finds a violation in its log: such a log
 * may tell of events that did not happen.
 *
 * @example const recording = await recordingOf("r1a2b3c", openRecordedStore("./recorded-home"));
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
  const claims: StoredEvent<"agent.claimed">[] = [];
  for await (const event of store.readEvents({ runId })) {
    if (event.type === "agent.message_sent") {
      messages.push(event);
      continue;
    }
    if (event.type === "agent.claimed") claims.push(event);
    else if (!isIncidental(event)) events.push(event);
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
    claims,
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
    `The log of run ${runId} is damaged${at} and cannot be replayed: ${first.invariant} ${first.message}${more} List all violations: mandate verify`,
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
        `The artifact ${hash.slice(0, 12)} of event ${event.seq} (${event.type}) is missing, and the run cannot be replayed without it. Artifacts are in a folder beside the database: restore that folder.`,
      );
    }
    found.set(hash, body);
  }
  return found;
}

/** Only artifacts that are read during a replay. */
function artifactIn(event: StoredEvent): string | undefined {
  if (event.type === "agent.tool_completed") return event.payload.artifact?.hash;
  return event.type === "agent.worktree_merged" ? event.payload.diff?.hash : undefined;
}

/** A recorded call: what it did, and its result. */
export interface RecordedCall {
  /** The name of the called tool, after middleware. */
  readonly tool: string;
  /** The first event of the call. */
  readonly seq: number;
  /** The children, questions and plans of the call, in their order. */
  readonly acts: readonly RecordedAct[];
  /** The question for approval before the call began; null: no person was asked. */
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
  | { readonly kind: "plan"; readonly seq: number; readonly steps: Steps }
  | { readonly kind: "workflow"; readonly seq: number; readonly event: WorkflowEvent };

type Steps = EventPayloads["run.planned"]["steps"];

export type RecordedResult =
  | {
      readonly kind: "completed";
      readonly seq: number;
      readonly text: string;
      /** The hash of the whole text, where it was too large for the log. */
      readonly artifact: string | undefined;
      readonly delivered: readonly string[] | undefined;
      readonly isError: true | undefined;
      readonly files: readonly FileEvidence[] | undefined;
      readonly exitCode: number | undefined;
      readonly connections: readonly ConnectionEvidence[] | undefined;
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
      readonly connections: readonly ConnectionEvidence[] | undefined;
      readonly untrusted: true | undefined;
    }
  | { readonly kind: "denied"; readonly rule: string; readonly text: string }
  /** The call was running when its process died, and must not be repeated. */
  | { readonly kind: "unknown"; readonly rule: string; readonly advice: string }
  /** The call ended without a result. */
  | { readonly kind: "cut" };

/** The calls of one delegation, from the events of its run. */
function recordedCalls(
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

/**
 * Where one call made several children, the call of each child is `CALL/KEY`. The id of a call may
 * contain slashes too.
 */
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
      // Once the call has begun, an approval is its own question: whether a plan may start.
      if (kind === "approval" && call.tool === "") call.approval = question;
      else call.acts.push({ kind: "ask", seq: event.seq, question, of: kind });
      break;
    }
    case "agent.workflow_started":
    case "agent.workflow_called":
    case "agent.workflow_settled":
    case "agent.workflow_noted": {
      const { payload, seq, type } = event;
      draft(payload.call_id, seq).acts.push({
        kind: "workflow",
        seq,
        event: { type, payload } as WorkflowEvent,
      });
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
    // The delegation had ended: the text is not the tool's own.
    const { cause, error: text, exit_code: exitCode, spawn_failed: spawnFailed } = payload;
    if (cause.code === "delegation_closed") return { kind: "cut" };
    const { connections, untrusted } = payload;
    return { kind: "failed", seq, cause, text, spawnFailed, exitCode, connections, untrusted };
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
    connections: payload.connections,
    untrusted: payload.untrusted,
    exit: payload.exit,
  };
}
