import { parseJson } from "../ports/parse-json.ts";
import type { ArtifactReference, NewEvent, RecordedCall } from "./event.ts";
import type { ProgramReport } from "./program-payloads.ts";

/**
 * What an agent said and called, for people: a turn of our own loop, or what an agent program of others
 * reports. The requests of such a program to models are no turns of its delegation.
 */
export interface Said {
  readonly text: string;
  readonly calls: readonly SaidCall[];
  /** The model that answered; null: an agent program said it. */
  readonly model: string | null;
}

export interface SaidCall extends RecordedCall {
  /** What an agent program does by itself, in its words: `name` is the kind of that. */
  readonly title?: string;
}

export interface CallEnd extends Partial<Pick<SaidCall, "input" | "title">> {
  readonly callId: string;
  readonly tool: string;
  readonly outcome: "done" | "failed" | "refused" | "unknown";
  readonly output: string;
  /** The whole of a long output. */
  readonly artifact?: ArtifactReference;
}

/** What an event lets an agent say or call; undefined: nothing. */
export function saidIn({ payload, type }: NewEvent): Said | undefined {
  switch (type) {
    case "agent.model_turn": {
      const { calls = [], request, requested, served, text = "" } = payload;
      return request === undefined ? { text, calls, model: served ?? requested } : undefined;
    }
    case "agent.program_called": {
      const { call_id: id, input, tool: name } = payload;
      return { text: "", calls: [{ id, name, input }], model: null };
    }
    case "agent.program_reported":
      if (payload.what === "text") return { text: payload.text, calls: [], model: null };
      if (payload.what !== "call" || payload.outcome !== "begun") return undefined;
      return { text: "", calls: [ownCall(payload)], model: null };
    case "agent.program_answered":
      return { text: payload.text, calls: [], model: null };
    default:
      return undefined;
  }
}

/** The end of a call; undefined: the event is not the end of a call. */
export function callEndIn({ payload, type }: NewEvent): CallEnd | undefined {
  switch (type) {
    case "agent.tool_completed": {
      const { artifact, call_id: callId, is_error: isError, output, tool } = payload;
      const outcome = isError ? "failed" : "done";
      return { callId, tool, outcome, output, ...(artifact && { artifact }) };
    }
    case "agent.tool_failed":
      return endOf(payload, "failed");
    case "agent.tool_denied":
      return endOf(payload, "refused");
    case "agent.tool_outcome_unknown":
      return endOf(payload, "unknown");
    case "agent.program_reported": {
      if (payload.what !== "call" || payload.outcome === "begun") return undefined;
      const { id: callId, input, name: tool, title } = ownCall(payload);
      const outcome = payload.outcome === "completed" ? "done" : payload.outcome;
      return { callId, tool, input, title, outcome, output: payload.output ?? "" };
    }
    default:
      return undefined;
  }
}

function endOf(
  { call_id: callId, error: output, tool }: { call_id: string; error: string; tool: string },
  outcome: CallEnd["outcome"],
): CallEnd {
  return { callId, tool, outcome, output };
}

/** A program chooses the ids of its calls: they must not be taken for those of ours. */
function ownCall({ call_id: id, input, kind, title }: Extract<ProgramReport, { what: "call" }>) {
  return { id: `program:${id}`, name: kind, title, input: dataIn(input ?? "") };
}

/** Programs tell inputs as text, which is cut where it is long. */
function dataIn(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}
