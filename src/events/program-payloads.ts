import type { Cause } from "./cause.ts";

/** What an agent program of others does that works on a delegation, or makes requests under its contract. */
export interface ProgramPayloads {
  /** A request of another program to a model was not sent. Equal refusals are recorded once. */
  "agent.request_refused": {
    /** The model as the program named it; absent: the request names none. */
    readonly model?: string;
    readonly cause: Cause;
    readonly error: string;
  };
  /** The program runs, and has a session of its own that a later process can load. */
  "agent.program_started": {
    readonly runner: string;
    /** Name and version, as the program says. */
    readonly program: string;
    readonly session: string;
    /** The program asks models with a login of its own: nothing meters its tokens and dollars. */
    readonly login?: "own";
    /** The program continues the session that an earlier process had. */
    readonly resumed?: true;
  };
  "agent.program_reported": ProgramReport;
  /** The program calls a tool of ours. The events of the tool tell what comes of the call. */
  "agent.program_called": {
    readonly call_id: string;
    readonly tool: string;
    /** The beginning as text, where it is very long. */
    readonly input: unknown;
  };
  /** The program's turn is over: the text since its last call is its answer. */
  "agent.program_answered": {
    readonly stop: ProgramStop;
    readonly text: string;
  };
}

export type ProgramStop = "end_turn" | "max_tokens" | "max_turn_requests" | "refusal" | "cancelled";

/**
 * What an agent program says that it does. Nothing is decided by it: what it did is what reached the
 * gateway, the gate and its working copy.
 */
export type ProgramReport =
  | { readonly what: "text"; readonly text: string }
  | {
      readonly what: "call";
      readonly call_id: string;
      readonly title: string;
      /** As the protocol names it: read, edit, execute, search and the like. */
      readonly kind: string;
      /** "begun": title and input may still change. "unknown": its end was not reported. */
      readonly outcome: "begun" | "completed" | "failed" | "unknown";
      readonly input?: string;
      readonly output?: string;
    }
  | {
      readonly what: "plan";
      readonly entries: readonly { readonly text: string; readonly status: string }[];
    };
