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
  const end = (event: Ending, outcome: ToolCall["outcome"], output: string): ToolCall => {
    const call = find(event.payload.call_id, event.payload.tool, event.at);
    open.delete(call.callId);
    return Object.assign(call, { outcome, output, endedAt: event.at });
  };
  for (const event of events) {
    switch (event.type) {
      case "agent.model_turn":
        for (const { id, input, malformed, name } of event.payload.calls ?? []) {
          const call = add(id, name, event.at);
          call.input = input;
          if (malformed !== undefined) call.malformed = malformed;
        }
        break;
      case "agent.tool_started": {
        const { call_id: id, tool } = event.payload;
        const call = find(id, tool, event.at);
        call.startedAt ??= event.at;
        call.outcome = "running";
        break;
      }
      case "agent.tool_completed": {
        const { artifact, delivered, exit_code: exitCode, files, is_error, output } = event.payload;
        Object.assign(end(event, is_error ? "failed" : "done", output), {
          ...(artifact && { artifact }),
          ...(delivered && { delivered }),
          ...(exitCode !== undefined && { exitCode }),
          ...(files && { files }),
        });
        break;
      }
      case "agent.tool_failed": {
        const { error, exit_code: exitCode } = event.payload;
        Object.assign(end(event, "failed", error), exitCode !== undefined && { exitCode });
        break;
      }
      case "agent.tool_denied":
        end(event, "refused", event.payload.error).rule = event.payload.rule;
        break;
      case "agent.tool_outcome_unknown":
        end(event, "unknown", event.payload.error);
        break;
    }
  }
  return calls;
}

type Ending = StoredEvent<
  "agent.tool_completed" | "agent.tool_failed" | "agent.tool_denied" | "agent.tool_outcome_unknown"
>;
