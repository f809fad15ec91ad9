import type { CallCause } from "../../events/cause.ts";
import type { EventPayloads, FileEvidence, StoredEvent } from "../../events/event.ts";

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
