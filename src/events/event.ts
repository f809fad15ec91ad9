/**
 * What can happen. One union, JSON only; every other view of a run (its state, its transcripts, its
 * costs, its timeline) is a fold of these facts. Token deltas are streamed and never stored, so they
 * are not here.
 */
import type { Carried } from "../contracts/exposure.ts";
import type { ReceiptLine } from "../contracts/receipt.ts";
import type { CallCause, Cause, LateCause, Reminder, RunCause } from "./cause.ts";
import type { CloseReason, RunOutcome } from "./close-reason.ts";
import type { Seal } from "./seal.ts";
import type { SpentLine } from "./spent.ts";

export interface TokenUsage {
  readonly prompt: number;
  readonly completion: number;
  /** In US dollars, by the configured prices; 0 when the model has none. */
  readonly cost: number;
  /** Part of it was not reported by the provider: it is at most so much. */
  readonly estimated?: true;
}

export interface RecordedCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  /** The raw text when the provider's arguments were not JSON. */
  readonly malformed?: string;
}

/** Large outputs live outside the log; the event keeps what is needed to find and verify them. */
export interface ArtifactReference {
  readonly hash: string;
  readonly bytes: number;
}

/** A memory is stored beside the log; the event of the call that saved it has a hash of all of it. */
export interface MemoryReference {
  readonly id: string;
  readonly hash: string;
}

/** `state`: it asks how children stand; `results`: it takes their results, which has them merged. */
export type Polls = "state" | "results";

/**
 * What the definition of a tool says of its calls, as far as folds of the log need it. Except for
 * `changes`, what does not apply is absent. Events of earlier versions get it when they are read.
 */
/**
 * What a delegation keeps back to read the results of its children and to answer. No request below
 * it is paid from that.
 */
export interface Keeps {
  /** Its next prompt with those results, and an answer. */
  readonly tokens: number;
  /** The same in dollars; absent: its tokens have no known price. */
  readonly cost?: number;
  /** There is room for so many unread results. */
  readonly results: number;
  /** A result enters its conversation with at most so many tokens of text. */
  readonly result: number;
}

export interface StartedTool {
  /**
   * What the call itself may change in the workspace: nothing, the files that its completion names,
   * or any file. Always there: a start without it is one of an earlier version.
   */
  readonly changes: "none" | "reported" | "any";
  /** It waits for children. */
  readonly joins?: true;
  /** Making the same call again is how an agent waits. */
  readonly polls?: Polls;
  /** It can save a memory. */
  readonly saves_memory?: true;
}

/** One step of a plan. A child carries it out: its `call_id` is the plan's, a `/`, and the key. */
export interface PlannedStep {
  /** Letters, digits and dashes; unique in its plan. */
  readonly key: string;
  readonly title: string;
  readonly profile: string;
  readonly depends_on: readonly string[];
  readonly owns: readonly string[];
  /** Of a continued plan: the delegation that completed it for the planner's predecessor. */
  readonly done_by?: string;
}

export interface EventPayloads {
  // A run: one user request, the root of a tree of delegations.
  "run.started": {
    readonly task: string;
    readonly application: string;
    readonly workspace: string | null;
    readonly budget: { readonly tokens: number };
    /** The session of a surface that it was started in; `read_only`: only that kept it from writing. */
    readonly session?: { readonly id: string; readonly read_only?: true };
    /** It is a goal, and waits until those before it in its workspace have ended; the one before it. */
    readonly goal?: { readonly behind: string | null };
    /**
     * Its delegations are worked on by the workers that claim them, not by the process that started it. At
     * most so many: no worker knows alone how many there are.
     */
    readonly spread?: { readonly delegations: number };
    readonly worker: string;
    readonly fence: number;
  };
  "run.resumed": { readonly worker: string; readonly fence: number };
  /** What an orchestrator is going to do; a later plan of the same agent supersedes the one before. */
  "run.planned": {
    readonly by: string;
    readonly call_id: string;
    /**
     * The index of the first step; the others follow in the order of the plan. Absent in earlier
     * versions, where children were counted as they were made.
     */
    readonly first_step?: number;
    /** The places of the steps in the order of their merges; absent: the order of the plan. */
    readonly merge_order?: readonly number[];
    readonly steps: readonly PlannedStep[];
  };
  "run.late_result": {
    readonly sub_agent_id: string;
    readonly cause: LateCause;
    readonly detail: string;
  };
  "run.finished": {
    readonly outcome: RunOutcome;
    readonly cause: RunCause;
    readonly reason: string;
  };

  // The lifecycle of one delegation (what the tables and tools call sub-agent).
  "agent.subagent_created": {
    readonly parent_id: string | null;
    readonly call_id: string | null;
    readonly step_idx: number;
    readonly depth: number;
    readonly profile: string;
    /**
     * Of an agent that another program runs: the name of that program. Earlier versions recorded it
     * as the profile.
     */
    readonly client?: string;
    readonly title: string;
    readonly contract_hash: string;
    /** In a run that is spread: what it may spend, so that every worker holds it to that. */
    readonly budget?: { readonly tokens: number; readonly cost?: number };
    /** In a run that is spread: what its copy was when it was made, for workers on other machines. */
    readonly bundle?: ArtifactReference;
    readonly resumed_from?: string;
    /** Of a fork: the last event of that one that it shares; absent: all that was said. */
    readonly resumed_at?: number;
    readonly receipt?: readonly ReceiptLine[];
  };
  /** In a run that is spread: who works on it from here on. What its last worker still writes is refused. */
  "agent.claimed": { readonly worker: string; readonly fence: number };
  "agent.subagent_started": {
    readonly strategy: string;
    readonly worktree_path?: string;
    readonly branch?: string;
    readonly base_ref?: string;
  };
  "agent.subagent_attempt": { readonly attempt: number; readonly of: number };
  "agent.subagent_waiting_for_merge": {
    readonly output: string;
    readonly output_hash: string;
    readonly output_path?: string;
    readonly truncated?: true;
    readonly reason?: CloseReason;
    readonly artifact?: ArtifactReference;
    /** What it changed in its copy, where that may lie on another machine than its caller's. */
    readonly bundle?: ArtifactReference;
    /** Its children that still run: it has answered, and closes after them. */
    readonly running?: readonly string[];
  };
  "agent.worktree_merged": {
    readonly strategy: string;
    readonly conflicted_files: readonly string[];
    /** The child's commit, under `refs/mandate/<id>`; null when it changed nothing. */
    readonly commit: string | null;
    /** What changed in its caller's folder; absent when nothing did. */
    readonly files?: readonly FileEvidence[];
    /** What it changed, as people read it. */
    readonly diff?: ArtifactReference;
  };
  "agent.subagent_completed": { readonly integrator: string; readonly reason: CloseReason };
  "agent.subagent_failed": {
    readonly code: CloseReason;
    readonly cause: Cause;
    readonly error: string;
  };
  "agent.subagent_closed": {
    readonly sub_agent_id: string;
    readonly step_idx: number;
    readonly final_status: "completed" | "failed";
    readonly close_reason: CloseReason;
    readonly seal: Seal;
  };

  // What a running delegation does.
  "agent.model_turn": {
    readonly requested: string;
    readonly served: string | null;
    readonly usage: TokenUsage;
    readonly finish_reason: string;
    readonly text?: string;
    readonly calls?: readonly RecordedCall[];
    /** The budget was nearly spent: tools were withdrawn and the best result asked for. */
    readonly last?: true;
    /** What the provider wants to see again in the next request (thinking blocks and the like). */
    readonly provider_data?: unknown;
    /** No model was asked: the delegation of an earlier run whose answer this was. */
    readonly taken_from?: string;
  };
  "agent.budget_reserved": {
    readonly request: number;
    readonly tokens: number;
    /** Of the tokens, those that the prompt can be at most. Absent in logs of earlier versions. */
    readonly prompt?: number;
    /** In dollars, at the contract's prices; absent where it has none. */
    readonly cost?: number;
    /** Kept back besides, for results of children that it has not read. */
    readonly keeps?: Keeps;
  };
  "agent.budget_settled": {
    readonly request: number;
    readonly reserved: number;
    readonly prompt: number;
    readonly completion: number;
    readonly cost: number;
    /** The provider did not report it: the bound of the prompt, and the output that had arrived. */
    readonly estimated?: true;
    /** The provider reported more than was reserved; nothing is reserved from here on. */
    readonly overrun?: true;
    /** What had arrived when the request failed. */
    readonly partial?: string;
  };
  /** The provider reported after all what a request has used that was settled as an estimate. */
  "agent.budget_corrected": {
    readonly request: number;
    readonly prompt: number;
    readonly completion: number;
    readonly cost: number;
    /** What it was settled as. */
    readonly replaces: TokenUsage;
    readonly overrun?: true;
  };
  "agent.tool_started": {
    readonly call_id: string;
    readonly tool: string;
    /** Of the first call of a turn that makes children. Absent in events of earlier versions. */
    readonly keeps?: Keeps;
  } & StartedTool;
  "agent.tool_completed": {
    readonly call_id: string;
    readonly tool: string;
    readonly output: string;
    readonly bytes?: number;
    readonly hash?: string;
    readonly truncated?: true;
    readonly artifact?: ArtifactReference;
    /** Delegations whose results reached this agent with this output. */
    readonly delivered?: readonly string[];
    /** The output is the result of a child that did not complete: the model sees an error. */
    readonly is_error?: true;
    /** What the tool did to files, for the seal's evidence. */
    readonly files?: readonly FileEvidence[];
    /** Of a command that the tool ran. */
    readonly exit_code?: number;
    /** Of a call that saved one; absent in events of earlier versions. */
    readonly memory?: MemoryReference;
    /** It may be untrusted input: from here on the agent, and every agent that it passes text to, is tainted. */
    readonly untrusted?: true;
    /** An accepted exit: the delegation ends with this output. */
    readonly exit?: string;
  };
  "agent.tool_failed": {
    readonly call_id: string;
    readonly tool: string;
    readonly cause: CallCause;
    readonly error: string;
    /** A child could not be started because of the machine: a missing git, a read-only folder. */
    readonly spawn_failed?: true;
    readonly exit_code?: number;
    readonly untrusted?: true;
  };
  "agent.tool_denied": {
    readonly call_id: string;
    readonly tool: string;
    readonly rule: string;
    readonly error: string;
  };
  "agent.tool_outcome_unknown": {
    readonly call_id: string;
    readonly tool: string;
    readonly cause: CallCause;
    readonly error: string;
  };
  "agent.asked": {
    readonly ask_id: string;
    readonly call_id: string;
    /** It is asked whether the call may be made; absent: the call itself asks. */
    readonly kind?: "approval";
    /** What a question of the runtime is about, as a hash: it is the same one however it is worded. */
    readonly about?: string;
    readonly question: string;
    readonly deadline_at: number;
    readonly default: string | null;
  };
  "agent.answered": {
    readonly ask_id: string;
    readonly answer: string | null;
    readonly by: "person" | "default" | "expired";
  };
  "agent.retried": {
    /** `model`: the next one of those that may answer is asked. */
    readonly what: "request" | "attempt" | "model";
    readonly cause: Cause;
    /** The model that is asked next. */
    readonly next?: string;
    readonly reason: string;
    readonly delay_ms: number;
  };
  "agent.resumed": { readonly fence: number; readonly resumption: number };
  /**
   * A message to an agent that has not ended. Until `agent.interjected` delivers it, it is in the
   * agent's mail and not in its conversation.
   */
  "agent.message_sent": SentMessage;
  /**
   * A sentence that enters the agent's conversation from outside: a watcher's, the runtime's own, or
   * a message that was sent to it.
   */
  "agent.interjected": {
    readonly from: string;
    readonly severity: "info" | "warn" | "critical";
    /** Of what the runtime itself says. */
    readonly cause?: Reminder;
    readonly message: string;
    /** Of what a watcher is shown: the last event that it tells about. */
    readonly up_to?: number;
    /** Of a message that was sent to the agent: this delivers it. */
    readonly message_id?: string;
    /** As in `agent.message_sent`. */
    readonly carries?: readonly Carried[];
  };
  /** The conversation was shortened by a pure function of these numbers, so it can be rebuilt. */
  "agent.compacted": {
    readonly before_messages: number;
    /** Lengths are in characters. Absent in events of the first version, which had one way to shorten. */
    readonly shortening?: {
      /** The results of so many latest turns are recent, those of earlier turns are old. */
      readonly keep: number;
      readonly old: number;
      /** Absent: recent results stay whole. */
      readonly recent?: number;
      /** Of earlier answers, and of each argument of their calls. */
      readonly said?: number;
      /** So many latest turns are left. */
      readonly turns?: number;
    };
  };
  /** Why it is suspended: `budget`, until others have settled; `interrupt`, until the run is resumed. */
  "agent.paused": { readonly reason: "budget" | "interrupt" };
  /** Its caller stopped: it takes no further turn, and ends when those below it have. */
  "agent.interrupted": {
    readonly cause: Cause;
    readonly reason: string;
    readonly closes_as: CloseReason;
    /** Its descendants were resumed, and not itself: they continue, whatever their contracts say. */
    readonly resumed?: true;
  };

  // What was asked for and not granted.
  "agent.model_clamped": { readonly requested: string; readonly granted: string };
  "agent.skills_clamped": {
    readonly requested: readonly string[];
    readonly granted: readonly string[];
  };

  // People and programs steering the product: the control log, and nothing else is in that.
  "control.record_changed": {
    /** `policy/agent-registry:default` */
    readonly record: string;
    readonly actor: string;
    /** The version that it has from now on; a deletion takes one as well. */
    readonly version: number;
    /** Of the stored text of its value; null where there was or is none. */
    readonly before_hash: string | null;
    readonly after_hash: string | null;
  };
  /** A finished run was removed as a whole. This is what is left of it, and explains the gap. */
  "control.pruned": {
    readonly run: string;
    readonly actor: string;
    readonly outcome: RunOutcome;
    readonly started_at: number;
    readonly finished_at: number;
    /** How many events it had, and the hash after the last of them. */
    readonly events: number;
    readonly head: string;
    /** Their sequence numbers. */
    readonly spans: readonly NumberSpan[];
    /** The numbers behind the ids of the run, its delegations and its asks. */
    readonly numbers: readonly NumberSpan[];
    /** How many memories it left, which stay, and a hash of all of them (absent: an older receipt). */
    readonly memories: number;
    readonly memories_hash?: string;
    readonly spent: readonly SpentLine[];
  };
  "command.executed": {
    readonly command: string;
    readonly actor: string;
    readonly outcome: string;
  };
}

/**
 * Who sends messages to a running agent: `caller`, an agent above it or the program behind the run;
 * `person`, a person who typed the message at a surface of ours.
 */
export type MessageSender = "caller" | "person";

export interface SentMessage {
  /** Unique among the messages to one delegation. */
  readonly message_id: string;
  readonly from: MessageSender;
  readonly message: string;
  /** `untrusted`: its sender had read untrusted input. `private`: the sender could also read private data. */
  readonly carries?: readonly Carried[];
}

/** Numbers that follow each other: the first one, and how many. */
export type NumberSpan = readonly [first: number, count: number];

export interface FileEvidence {
  readonly path: string;
  readonly before: string | null;
  readonly after: string | null;
}

export type EventType = keyof EventPayloads;

/** A fact about to be stored. The store adds sequence numbers, the time and the hash. */
export type NewEvent<Type extends EventType = EventType> = {
  [T in Type]: {
    readonly type: T;
    /** The delegation it is about; absent for facts of the whole run. */
    readonly sub_agent_id?: string;
    readonly payload: EventPayloads[T];
  };
}[Type];

export type StoredEvent<Type extends EventType = EventType> = NewEvent<Type> & {
  readonly seq: number;
  readonly run_seq: number;
  readonly run_id: string;
  /** Milliseconds since 1970, by the clock of the process that appended it. Order is by `seq`. */
  readonly at: number;
  /** One line for a condensed timeline, as `summarize` wrote it. */
  readonly summary: string;
  readonly hash: string;
};
