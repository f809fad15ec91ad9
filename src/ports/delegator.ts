import type { ReceiptLine } from "../contracts/receipt.ts";
import type { RunPrincipal } from "../contracts/run-grant.ts";
import type { CloseReason, RunOutcome } from "../events/close-reason.ts";
import type { DelegationStatus, WaitingOn } from "../events/delegation.ts";
import type { ArtifactReference, PlannedStep, TokenUsage } from "../events/event.ts";
import type { Seal } from "../events/seal.ts";
import type { WorkflowPayloads } from "../events/workflow-payloads.ts";
import type { Effort } from "./model.ts";

/** A request for a delegation. Everything but the task is optional. */
export interface DelegationRequest {
  readonly task: string;
  readonly profile?: string | undefined;
  /** A handle of the registry, in place of a profile: `@writer`. */
  readonly agent?: string | undefined;
  readonly context?: string | undefined;
  readonly systemPrompt?: string | undefined;
  readonly tools?: readonly string[] | undefined;
  readonly forwardSkills?: readonly string[] | undefined;
  readonly modelOverride?: string | undefined;
  /**
   * A person chose `modelOverride` for a root: it answers where the profile names no model of its own,
   * in place of the default model.
   */
  readonly isModelChosen?: boolean | undefined;
  readonly maxTokens?: number | undefined;
  /** In dollars. */
  readonly maxCost?: number | undefined;
  readonly timeoutMs?: number | undefined;
  /** The part of `timeoutMs` for one attempt. */
  readonly attemptTimeoutMs?: number | undefined;
  readonly maxDepth?: number | undefined;
  readonly title?: string | undefined;
  readonly successCriteria?: readonly string[] | undefined;
  /** JSON Schema that its output must match, in place of the exit rule of its profile. */
  readonly outputSchema?: Readonly<Record<string, unknown>> | undefined;
  readonly effort?: Effort | undefined;
  /** The child works in a copy, whose changes are not merged: a person decides about them. */
  readonly keepsCopy?: boolean | undefined;
  readonly resumedFrom?: string | undefined;
  /** The last event of `resumedFrom` that is shared. */
  readonly resumedAt?: number | undefined;
  /** Patterns, relative to the workspace, that every path it changes must match. */
  readonly owns?: readonly string[] | undefined;
  /**
   * The request contains results of tainted children. Absent: the caller's own taint decides.
   */
  readonly untrusted?: boolean | undefined;
  /** Identifies a child among those of one call, so that a repeated call finds it after a crash. */
  readonly key?: string | undefined;
}

/** The result of a closed delegation for its caller. `status` is derived from the lifecycle. */
export interface DelegationResult {
  readonly delegationId: string;
  readonly profile: string;
  /** The name of the program that runs this agent; absent: the agent is ours. */
  readonly client?: string;
  readonly status: "completed" | "failed" | "timeout" | "cancelled";
  /**
   * Only for the root: how the whole run ended. A run can fail although its root completed, for an
   * incomplete plan or for a failed child whose failure no caller received.
   */
  readonly outcome?: RunOutcome;
  /** The child's final text; the error's sentence when it failed. */
  readonly result: string;
  readonly tokenUsage: TokenUsage;
  /** Milliseconds from creation to close. */
  readonly duration: number;
  readonly subDelegations?: readonly DelegationResult[];
  readonly truncated?: true;
  readonly closeReason: CloseReason;
  readonly evidence: Seal;
  readonly artifacts?: readonly ArtifactReference[];
}

/** How a delegation ended, for its caller. */
export type DelegationOutcome = DelegationResult["status"];

/** The output of a call that waited for a child; an error when the child did not complete. */
export interface JoinedOutput {
  readonly text: string;
  readonly isError?: true;
}

export interface DelegationInfo {
  readonly delegationId: string;
  readonly parentId: string | null;
  readonly profile: string;
  /** The name of the program that runs this agent; absent: the agent is ours. */
  readonly client?: string;
  readonly title: string;
  readonly status: DelegationStatus;
  /** Only of a closed delegation: its final status in the log. */
  readonly finalStatus?: "completed" | "failed";
  /** Only of a closed delegation: its status for callers. */
  readonly outcome?: DelegationOutcome;
  readonly closeReason?: CloseReason;
  /** The delegation is open, and no process works on its run. */
  readonly isInterrupted?: true;
  readonly waitingOn?: WaitingOn;
  readonly depth: number;
  readonly attempt: number;
  /** Messages sent to it and not read (yet, or ever, once it is closed); absent: none. */
  readonly unreadMessages?: number;
  readonly tokens: number;
  readonly cost: number;
  /** Part of both is an estimate: the real amounts are at most these. */
  readonly estimated?: true;
  /** An agent program with a login of its own works on it: its tokens and dollars are not known. */
  readonly unmetered?: true;
}

export type StartOutcome =
  | {
      readonly started: true;
      readonly delegationId: string;
      /** What was requested and what was granted. */
      readonly receipt: readonly ReceiptLine[];
    }
  | {
      readonly started: false;
      readonly rule: string;
      readonly reason: string;
      /** The cause is the machine, not the request. */
      readonly isFault?: true;
    };

/**
 * How a child is created. A child of `spawn` cannot have children. `delegate`: the call waits for it;
 * the others return at once.
 */
export type DelegationWay = "spawn" | "delegate" | "background";

export type CancelOutcome = "cancelled" | "already_terminal" | "not_found";

/** The answer to a question, or that none came in time. */
export type AskOutcome =
  | { readonly answered: true; readonly answer: string; readonly by: "person" | "default" }
  | { readonly answered: false };

/**
 * What an agent can do with delegations during one of its calls: the port between tools and the engine.
 * It is bound to one caller and one call, so that a tool cannot reach delegations of other agents.
 */
export interface Delegator {
  readonly results: ChildResults;
  readonly plans: PlanRecorder;
  readonly workflows: WorkflowRecorder;
  start(request: DelegationRequest, way: DelegationWay): Promise<StartOutcome>;
  /** Whether a delegation is a descendant of the caller, in this run of its session or an earlier one. */
  isMine(id: string): Promise<boolean>;
  /** The profile of a name or handle, for rules that match it. */
  profileBehind(name: string): string | undefined;
  list(): Promise<readonly DelegationInfo[]>;
  cancel(id: string, reason: string): Promise<CancelOutcome>;
  /**
   * Sends a message to a descendant, which reads it before its next turn. A call that is repeated after
   * a crash does not send it again. Returns the reason when the message was not sent.
   */
  send(id: string, message: string): Promise<string | undefined>;
  /**
   * Asks a person. An approval is answered by yes or no, and counts as refused without an answer.
   * `about` is a hash of what is approved, by which an answer is found again after a crash.
   */
  ask(question: string, kind?: "approval", about?: string): Promise<AskOutcome>;
  /** For watchers: sends a remark to the watched agent. Returns the reason when it was not sent. */
  interject(severity: "info" | "warn" | "critical", message: string): Promise<string | undefined>;
  /** The changes of this agent, or of a range of commits. */
  changes(
    range?: string,
  ): Promise<{ readonly text: string; readonly truncated: boolean } | { readonly problem: string }>;
  /** The reviewer of this agent's work, and the number of reviews so far; null: no review. */
  readonly review: {
    readonly profile: string;
    readonly rounds: number;
    readonly made: number;
  } | null;
  readArtifact(hash: string): Promise<string | undefined>;
  /** Stores a text and returns its hash. */
  keepArtifact(text: string): Promise<string>;
}

/** The results of descendants, as one call can return them. */
export interface ChildResults {
  /**
   * Waits for one delegation and records this call's completion in the transaction that closes it,
   * so that a result is delivered exactly once. `describe` turns the result into the call's output.
   */
  joinAndComplete(
    id: string,
    describe: (result: DelegationResult) => JoinedOutput,
  ): Promise<JoinedOutput & { readonly recorded: true }>;
  /** Waits until all are closed or `maxWaitMs` has passed; null for each that is still open. */
  join(
    ids: readonly string[],
    maxWaitMs: number | undefined,
  ): Promise<ReadonlyMap<string, DelegationResult | null>>;
  /** Marks results as handed to the caller with this call's output. */
  delivered(ids: readonly string[]): void;
  /** The caller's children whose result no call has returned yet, in the order of creation. */
  notYetJoined(): Promise<readonly string[]>;
  /** The result of a descendant; null: it has not closed. */
  of(id: string): Promise<DelegationResult | null>;
  /** Whether a caller gets only result and evidence of a delegation, and not its transcript. */
  isSealed(id: string): boolean;
  /** The transcript of a closed descendant; null where it is sealed. */
  transcript(id: string): Promise<string | null>;
  /** The most tokens of a result that enter the caller's conversation. */
  readonly joinTokens: number;
}

/** The plan that one call carries out. */
export interface PlanRecorder {
  /**
   * Records the steps of a plan; a call that is repeated after a crash does not record them again. A
   * later plan of the same agent replaces the earlier one. `mergeOrder` lists the indices of the steps in
   * the order of their merges. Returns the recorded order.
   */
  record(steps: readonly PlannedStep[], mergeOrder?: readonly number[]): Promise<readonly number[]>;
  /** This step gets no further child whose work is merged, so that later steps can be merged. */
  stepSettled(key: string): void;
  /** Whether this call has created the child of this key, in this process or before a crash. */
  wasBegun(key: string): boolean;
  /**
   * The result of the same child, where this agent continues a cancelled or failed one that had already
   * delegated the same. Undefined: the child has to be started. Each result is given once.
   */
  earlier(key: string, request: DelegationRequest): Promise<DelegationResult | undefined>;
}

/** An event of the workflow that one call carries out. */
export type WorkflowEvent = {
  readonly [Type in keyof WorkflowPayloads]: {
    readonly type: Type;
    readonly payload: Omit<WorkflowPayloads[Type], "call_id">;
  };
}[keyof WorkflowPayloads];

/** A call of a workflow in an earlier run, which this one resumes. */
export interface EarlierCall {
  readonly label: string;
  readonly state: "completed" | "failed" | "interrupted";
  /** The delegation with the result of an agent's completed call. */
  readonly delegation?: string;
  /** The place of the result in the order in which results were recorded. */
  readonly position: number;
}

/** The record of the workflow that one call carries out. */
export interface WorkflowRecorder {
  /** What this call has recorded, in this process or before a crash, in order. */
  read(): Promise<readonly WorkflowEvent[]>;
  /** Resolves when the events are on disk. */
  record(events: readonly WorkflowEvent[]): Promise<void>;
  /**
   * The calls of the workflows that this one resumes, by key: those of the delegation that this one
   * continues, or of `resumes`, and of what that one resumed. Empty where the workflow was of another
   * principal.
   */
  earlier(resumes: string | undefined): Promise<ReadonlyMap<string, EarlierCall>>;
  /** The hash of the stored document of a workflow that this caller may resume; or why it may not. */
  resumable(id: string): Promise<{ readonly document: string } | { readonly problem: string }>;
  /** The result of a delegation of an earlier run. */
  resultOf(delegationId: string): Promise<DelegationResult | undefined>;
}

/** The folder of a run. */
export interface RequestedWorkspace {
  readonly workspace?: string | null | undefined;
  /**
   * The path is a real path that was checked before. The run does not start when it resolves to another
   * one now: it may have been replaced by a link since.
   */
  readonly isRealWorkspace?: boolean | undefined;
}

export interface RunRequest extends DelegationRequest, RequestedWorkspace {
  readonly budgetTokens?: number | undefined;
  /** No agent of this run may write in its workspace, whatever the profiles allow. */
  readonly readOnly?: boolean | undefined;
  /** Profiles of watchers that start with the run. */
  readonly watchers?: readonly string[] | undefined;
  /** The session whose pins and workspace mode apply. */
  readonly session?: string | undefined;
  /** A person typed the task at one of our surfaces. Never set for text from a program. */
  readonly isTyped?: boolean | undefined;
  /**
   * Untrusted text after a typed task, such as the output of a command. The agent begins tainted, and
   * no host that the text names counts as named by the person.
   */
  readonly untrustedInput?: string | undefined;
  /** For a resumed sub-agent: the known addresses of its old contract. */
  readonly addresses?: readonly string[] | undefined;
  /**
   * Whether the root answers a person: then the exit rule of its profile does not apply. Absent: true
   * for a typed task that is neither a command nor a goal.
   */
  readonly isConversation?: boolean | undefined;
  /** The slash command that started the run: `/oracle`. */
  readonly command?: string | undefined;
  readonly by?: RunPrincipal | undefined;
  /** The run is a goal: it starts when earlier goals in its workspace have ended. */
  readonly isGoal?: boolean | undefined;
}

export interface SessionRequest extends RequestedWorkspace {
  /** The name of the program that calls the tools. */
  readonly client: string;
  readonly task?: string | undefined;
  readonly budgetTokens?: number | undefined;
  /** What the program's own requests to models may use; absent: it makes none through Mandate. */
  readonly requests?: RequestGrant | undefined;
  readonly readOnly?: boolean | undefined;
  readonly by?: RunPrincipal | undefined;
  /**
   * The client may return to another process. With workers, the sub-agents continue when this process
   * is gone, whatever their contracts say about an interrupt.
   */
  readonly outlivesProcess?: boolean | undefined;
}

export interface RequestGrant {
  /** `provider/model` names, the preferred one first. */
  readonly models: readonly string[];
  /** Whether requests may use tools of the provider that reach the network. */
  readonly network: boolean;
  readonly maxTokens?: number | undefined;
  /** In dollars. */
  readonly maxCost?: number | undefined;
  readonly timeoutMs?: number | undefined;
}

export interface StartedRun {
  readonly runId: string;
  readonly delegationId: string;
  /** Resolves when the root has closed. */
  readonly result: Promise<DelegationResult>;
  /** The root's final answer: resolves before `result` while background children still run. */
  readonly answer: Promise<DelegationResult>;
  /** Only of a goal that has to wait: the run before it. */
  readonly behind?: string;
}

/** A run that was resumed, or that was started to continue a delegation. */
export interface ResumedRun extends StartedRun {
  /** `same`: the run itself continues; `new`: a new run continues the old conversation. */
  readonly as: "same" | "new";
  /** The continued delegation; the root, where the run itself continues. */
  readonly from: string;
  /** The delegations whose results count: the root, or the sub-agents of another program's agent. */
  readonly agents: readonly string[];
}

export interface Resumed extends ResumedRun {
  /**
   * All continued runs, this one first. Several, where a closed run of another program's agent has
   * several sub-agents that did not complete.
   */
  readonly runs: readonly ResumedRun[];
  /** Sub-agents of such a run that could not be resumed. */
  readonly refused: readonly RefusedResumption[];
}

export interface RefusedResumption {
  readonly delegationId: string;
  readonly reason: string;
}
