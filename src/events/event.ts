/**
 * The events of the log: one union, JSON only. Every view of a run (state, transcripts, costs, timeline)
 * is a fold of its events. Token deltas are streamed and never stored, so they are not events.
 */
import type { Carried } from "../contracts/exposure.ts";
import type { ReceiptLine } from "../contracts/receipt.ts";
import type { CallCause, Cause } from "./cause.ts";
import type { CloseReason, RunOutcome } from "./close-reason.ts";
import type { ProgramPayloads } from "./program-payloads.ts";
import type { Reminder } from "./reminder.ts";
import type { LateCause, RunCause } from "./run-cause.ts";
import type { Seal } from "./seal.ts";
import type { SpentLine } from "./spent.ts";
import type { WorkflowPayloads } from "./workflow-payloads.ts";

export interface TokenUsage {
  readonly prompt: number;
  readonly completion: number;
  /** In US dollars, by the configured prices; 0 when the model has none. */
  readonly cost: number;
  /** Part of it is an estimate: the real usage is at most this. */
  readonly estimated?: true;
}

export interface RecordedCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  /** The raw text when the provider's arguments were not JSON. */
  readonly malformed?: string;
}

/** Refers to a large body outside the log. */
export interface ArtifactReference {
  readonly hash: string;
  readonly bytes: number;
}

/** Refers to a memory, which is stored beside the log, with the hash of all of it. */
export interface MemoryReference {
  readonly id: string;
  readonly hash: string;
}

/** `state`: the call reads the status of children; `results`: it takes their results, which merges them. */
export type Polls = "state" | "results";

/**
 * What a delegation keeps back to read the results of its children and to answer. Its descendants
 * cannot spend it.
 */
export interface Keeps {
  /** Tokens for its next prompt with those results, and an answer. */
  readonly tokens: number;
  /** The dollars for those tokens; absent: the tokens have no known price. */
  readonly cost?: number;
  /** The number of unread results that it covers. */
  readonly results: number;
  /** The most tokens of one result in its conversation. */
  readonly result: number;
}

/**
 * The properties of a tool that folds of the log need. Except for `changes`, a field that does not apply
 * is absent. Events of earlier versions get them when they are read.
 */
export interface StartedTool {
  /**
   * What the call may change in the workspace: nothing, the files that its completion names, or any file.
   * Only events of earlier versions lack it.
   */
  readonly changes: "none" | "reported" | "any";
  /** The tool waits for children. */
  readonly joins?: true;
  /** An agent repeats the same call to wait. */
  readonly polls?: Polls;
  /** The tool can save a memory. */
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
  /** Only in a continued plan: the delegation that completed the step before. */
  readonly done_by?: string;
}

export interface EventPayloads extends WorkflowPayloads, ProgramPayloads {
  // A run: one request of a user, and the tree of its delegations.
  "run.started": {
    readonly task: string;
    readonly application: string;
    readonly workspace: string | null;
    readonly budget: { readonly tokens: number };
    /** The session that started it; `read_only`: the run is read-only because of the session's mode. */
    readonly session?: { readonly id: string; readonly read_only?: true };
    /** The run is a goal, and waits for earlier goals in its workspace. `behind`: the last of them. */
    readonly goal?: { readonly behind: string | null };
    /**
     * The run is distributed: workers claim its delegations. The log enforces the most delegations, because
     * no single worker knows all of them. `outlives_process`: its session may continue in another process.
     */
    readonly spread?: { readonly delegations: number; readonly outlives_process?: true };
    readonly worker: string;
    readonly fence: number;
  };
  "run.resumed": { readonly worker: string; readonly fence: number };
  /** The plan of an orchestrator; a later plan of the same agent replaces it. */
  "run.planned": {
    readonly by: string;
    readonly call_id: string;
    /**
     * The index of the first step; the others follow in the order of the plan. Absent in events of earlier
     * versions, which counted children as they were created.
     */
    readonly first_step?: number;
    /** The indices of the steps in the order of their merges; absent: the order of the plan. */
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

  // The lifecycle of one delegation (in tables and tools: sub-agent).
  "agent.subagent_created": {
    readonly parent_id: string | null;
    readonly call_id: string | null;
    readonly step_idx: number;
    readonly depth: number;
    readonly profile: string;
    /**
     * The name of the program that runs this agent; absent: the agent is ours. Earlier versions recorded it
     * as the profile.
     */
    readonly client?: string;
    readonly title: string;
    readonly contract_hash: string;
    /** In a distributed run: its budget, which every worker enforces. */
    readonly budget?: { readonly tokens: number; readonly cost?: number };
    /** In a distributed run: the bundle of its new working copy, for workers on other machines. */
    readonly bundle?: ArtifactReference;
    readonly resumed_from?: string;
    /** A fork shares the events of `resumed_from` up to this one; absent: all of them. */
    readonly resumed_at?: number;
    readonly receipt?: readonly ReceiptLine[];
  };
  /** In a distributed run: the new worker. Writes of the old one are refused. */
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
    /** In a distributed run: the bundle of its changes. */
    readonly bundle?: ArtifactReference;
    /** The children that still run: the delegation closes after them. */
    readonly running?: readonly string[];
  };
  "agent.worktree_merged": {
    readonly strategy: string;
    readonly conflicted_files: readonly string[];
    /** The child's commit, under `refs/mandate/<id>`; null when it changed nothing. */
    readonly commit: string | null;
    /** The files that changed in its caller's folder; absent: none. */
    readonly files?: readonly FileEvidence[];
    /** The diff for people. */
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

  // Events about the work of a running delegation.
  "agent.model_turn": {
    /** The request that was answered, for another program, which can make several at once. */
    readonly request?: number;
    readonly requested: string;
    readonly served: string | null;
    readonly usage: TokenUsage;
    readonly finish_reason: string;
    readonly text?: string;
    readonly calls?: readonly RecordedCall[];
    /** The budget was nearly spent: tools were withdrawn, and the best result was requested. */
    readonly last?: true;
    /** Data that the provider needs in the next request, such as thinking blocks. */
    readonly provider_data?: unknown;
    /** The answer was reused from this delegation of an earlier run, without asking a model. */
    readonly taken_from?: string;
  };
  "agent.budget_reserved": {
    readonly request: number;
    /** The model that another program asks; absent: the model of the contract. */
    readonly model?: string;
    readonly tokens: number;
    /** The part of `tokens` for the prompt. Absent in logs of earlier versions. */
    readonly prompt?: number;
    /** In dollars, at the contract's prices; absent where it has none. */
    readonly cost?: number;
    /** Kept back in addition, for unread results of children. */
    readonly keeps?: Keeps;
  };
  "agent.budget_settled": {
    readonly request: number;
    readonly reserved: number;
    readonly prompt: number;
    readonly completion: number;
    readonly cost: number;
    /** The provider did not report it: these are the bound of the prompt and the output received. */
    readonly estimated?: true;
    /** The provider reported more than was reserved; no further request is made. */
    readonly overrun?: true;
    /** The output received before the request failed. */
    readonly partial?: string;
  };
  /** A late report of the provider about a request that was settled as an estimate. */
  "agent.budget_corrected": {
    readonly request: number;
    readonly prompt: number;
    readonly completion: number;
    readonly cost: number;
    /** The estimate that this report replaces. */
    readonly replaces: TokenUsage;
    readonly overrun?: true;
  };
  "agent.tool_started": {
    readonly call_id: string;
    readonly tool: string;
    /** In the first call of a turn that creates children. Absent in events of earlier versions. */
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
    /** The delegations whose results are in this output. */
    readonly delivered?: readonly string[];
    /** The output is the result of a child that did not complete: the model sees an error. */
    readonly is_error?: true;
    /** The files that the tool changed, for the seal. */
    readonly files?: readonly FileEvidence[];
    /** The exit code of a command that the tool ran. */
    readonly exit_code?: number;
    /** The hosts that the command asked the proxy of its sandbox for. */
    readonly connections?: readonly ConnectionEvidence[];
    /** The memory that the call saved; absent in events of earlier versions. */
    readonly memory?: MemoryReference;
    /** The output may be untrusted input: the agent, and every agent that it sends text to, is tainted. */
    readonly untrusted?: true;
    /** An accepted exit: the delegation ends with this output. */
    readonly exit?: string;
  };
  "agent.tool_failed": {
    readonly call_id: string;
    readonly tool: string;
    readonly cause: CallCause;
    readonly error: string;
    /** A child could not be started because of the machine: no git, or a read-only folder. */
    readonly spawn_failed?: true;
    readonly exit_code?: number;
    readonly connections?: readonly ConnectionEvidence[];
    readonly untrusted?: true;
  };
  "agent.tool_denied": {
    readonly call_id: string;
    readonly tool: string;
    readonly rule: string;
    /** The reason that a person gave for a no. */
    readonly said?: string;
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
    /** The runtime asks whether the call may be made; absent: the call itself asks. */
    readonly kind?: "approval";
    /** A hash of the subject of the runtime's question, independent of its wording. */
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
    /** `model`: the next fallback is asked. */
    readonly what: "request" | "attempt" | "model";
    readonly cause: Cause;
    /** The model that is tried next. */
    readonly next?: string;
    readonly reason: string;
    readonly delay_ms: number;
  };
  "agent.resumed": { readonly fence: number; readonly resumption: number };
  /**
   * A message to an open delegation. It enters the conversation when `agent.interjected` delivers it.
   */
  "agent.message_sent": SentMessage;
  /**
   * A text that enters the agent's conversation from outside: a watcher's remark, a message of the
   * runtime, or a sent message.
   */
  "agent.interjected": {
    readonly from: string;
    readonly severity: "info" | "warn" | "critical";
    /** Why the runtime sends this message, when the runtime is the sender. */
    readonly cause?: Reminder;
    readonly message: string;
    /** The number of the last event in a summary for a watcher. */
    readonly up_to?: number;
    /** The sent message that this event delivers. */
    readonly message_id?: string;
    /** What the message carries, as in `agent.message_sent`. */
    readonly carries?: readonly Carried[];
  };
  /** The conversation was shortened, by a pure function of these numbers. */
  "agent.compacted": {
    readonly before_messages: number;
    /** Lengths are in characters. Absent in events of the first version, which had fixed numbers. */
    readonly shortening?: {
      /** The number of latest turns whose results are recent; those of earlier turns are old. */
      readonly keep: number;
      readonly old: number;
      /** The length of recent results; absent: whole. */
      readonly recent?: number;
      /** The length of earlier answers, and of each argument of their calls. */
      readonly said?: number;
      /** The number of latest turns that stay. */
      readonly turns?: number;
    };
  };
  /** Suspended: for `budget`, until other requests are settled; for `interrupt`, until the run is resumed. */
  /** limit: its next request waits under a stored limit of the installation. */
  "agent.paused": { readonly reason: "budget" | "interrupt" | "limit" };
  /** The caller was interrupted: it makes no further turn, and ends after its descendants. */
  "agent.interrupted": {
    readonly cause: Cause;
    readonly reason: string;
    readonly closes_as: CloseReason;
    /** Only its descendants were resumed: they continue, whatever their contracts say. */
    readonly resumed?: true;
  };

  // Requests that were granted only in part.
  "agent.model_clamped": { readonly requested: string; readonly granted: string };
  "agent.skills_clamped": {
    readonly requested: readonly string[];
    readonly granted: readonly string[];
  };

  // The control log: decisions of people and programs. These types are in no run.
  "control.record_changed": {
    /** `policy/agent-registry:default` */
    readonly record: string;
    readonly actor: string;
    /** The new version; a deletion has one as well. */
    readonly version: number;
    /** Hashes of the stored text; null: no value. */
    readonly before_hash: string | null;
    readonly after_hash: string | null;
  };
  /** The receipt of a pruned run, which explains the gap in the sequence numbers. */
  "control.pruned": {
    readonly run: string;
    readonly actor: string;
    readonly outcome: RunOutcome;
    readonly started_at: number;
    readonly finished_at: number;
    /** The number of its events, and the hash of the last one. */
    readonly events: number;
    readonly head: string;
    /** The sequence numbers of the pruned events. */
    readonly spans: readonly NumberSpan[];
    /** The numbers behind the ids of the run, its delegations and its asks. */
    readonly numbers: readonly NumberSpan[];
    /** The number of its memories, which stay, and a hash of all of them (absent in older receipts). */
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
 * The sender of a message to a running agent: `caller`, an ancestor or the program behind the run;
 * `person`, a person who typed the message at one of our surfaces.
 */
export type MessageSender = "caller" | "person";

export interface SentMessage {
  /** Unique among the messages to one delegation. */
  readonly message_id: string;
  readonly from: MessageSender;
  readonly message: string;
  /** `untrusted`: the sender is tainted. `private`: the sender can read private data. */
  readonly carries?: readonly Carried[];
}

/** Numbers that follow each other: the first one, and how many. */
export type NumberSpan = readonly [first: number, count: number];

/** Connections of a program in a sandbox to one host. */
export interface ConnectionEvidence {
  /** The host and port that the command asked for. */
  readonly host: string;
  /** The rule that refused them, or `not_reachable`; absent: they were made. */
  readonly refused?: string;
  readonly times: number;
}

export interface FileEvidence {
  readonly path: string;
  readonly before: string | null;
  readonly after: string | null;
  /** Lines added and removed; absent: not counted. */
  readonly lines?: LineCounts;
}

export interface LineCounts {
  readonly added: number;
  readonly removed: number;
}

export type EventType = keyof EventPayloads;

/** An event before it is stored. The store adds sequence numbers, the time and the hash. */
export type NewEvent<Type extends EventType = EventType> = {
  [T in Type]: {
    readonly type: T;
    /** The delegation; absent for events of the whole run. */
    readonly sub_agent_id?: string;
    readonly payload: EventPayloads[T];
  };
}[Type];

export type StoredEvent<Type extends EventType = EventType> = NewEvent<Type> & {
  readonly seq: number;
  readonly run_seq: number;
  readonly run_id: string;
  /** Milliseconds since 1970, by the clock of the appending process. The order is that of `seq`. */
  readonly at: number;
  /** A line for a timeline, made by `summarize`. */
  readonly summary: string;
  readonly hash: string;
};
