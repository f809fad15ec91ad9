import { callEndIn, saidIn } from "../../../../../src/events/agent-work.ts";
import type {
  ArtifactReference,
  FileEvidence,
  StoredEvent,
} from "../../../../../src/events/event.ts";

export interface ToolCall {
  /** Unique among these: an id may come again in another attempt. */
  readonly key: string;
  readonly callId: string;
  readonly tool: string;
  /** What an agent program did by itself, in its words; `tool` is then the kind of that. */
  title?: string;
  readonly at: number;
  /** What the model gave; undefined where the log has only the call itself. */
  input?: unknown;
  malformed?: string;
  startedAt: number | null;
  endedAt: number | null;
  outcome: "asked" | "running" | "done" | "failed" | "refused" | "unknown";
  /** The rule by which the call was refused. */
  rule?: string;
  output: string | null;
  exitCode?: number;
  artifact?: ArtifactReference;
  files: readonly FileEvidence[];
  /** Children whose results came back with it. */
  delivered: readonly string[];
}

/** What an agent called, in order, and what became of it. */
export function toolCallsOf(events: Iterable<StoredEvent>): readonly ToolCall[] {
  const calls: ToolCall[] = [];
  const open = new Map<string, ToolCall>();
  const add = (callId: string, tool: string, at: number): ToolCall => {
    const call: ToolCall = {
      ...{ key: `${calls.length} ${callId}`, callId, tool, at },
      ...{ startedAt: null, endedAt: null, outcome: "asked", output: null },
      ...{ files: [], delivered: [] },
    };
    calls.push(call);
    open.set(callId, call);
    return call;
  };
  const find = (callId: string, tool: string, at: number): ToolCall =>
    open.get(callId) ?? add(callId, tool, at);
  for (const event of events) {
    for (const { id, input, malformed, name, title } of saidIn(event)?.calls ?? []) {
      const call = add(id, name, event.at);
      call.input = input;
      if (malformed !== undefined) call.malformed = malformed;
      if (title !== undefined)
        Object.assign(call, { title, startedAt: event.at, outcome: "running" });
    }
    if (event.type === "agent.tool_started") {
      const call = find(event.payload.call_id, event.payload.tool, event.at);
      call.startedAt ??= event.at;
      call.outcome = "running";
    }
    const end = callEndIn(event);
    if (end !== undefined) {
      const { callId, tool, ...came } = end;
      const call = find(callId, tool, event.at);
      open.delete(callId);
      Object.assign(call, came, { endedAt: event.at }, moreOf(event));
    }
    if (event.type !== "agent.subagent_closed") continue;
    // An agent program that ended has not told what came of its last calls.
    for (const call of open.values()) if (call.title !== undefined) call.outcome = "unknown";
  }
  return calls;
}

/** What only the calls of our tools have. */
function moreOf({ payload, type }: StoredEvent): Partial<ToolCall> {
  switch (type) {
    case "agent.tool_completed": {
      const { delivered, exit_code: exitCode, files } = payload;
      return {
        ...(delivered && { delivered }),
        ...(exitCode !== undefined && { exitCode }),
        ...(files && { files }),
      };
    }
    case "agent.tool_failed":
      return payload.exit_code === undefined ? {} : { exitCode: payload.exit_code };
    case "agent.tool_denied":
      return { rule: payload.rule };
    default:
      return {};
  }
}
