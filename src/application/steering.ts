import type { Principal } from "../control/records/principal.ts";
import type { InboxItem } from "../events/inbox-item.ts";
import type { RunState } from "../events/run-state.ts";
import type { CancelOutcome } from "../ports/delegator.ts";
import type { SessionRow } from "../sessions/list-sessions.ts";
import type { SentTo } from "../sessions/send-message.ts";
import type { WorkspaceMode } from "../sessions/session-records.ts";
import type { ResumeWork } from "./workflow-runs.ts";

/**
 * What commands do with runs, from the place of a person. A command checks the role and makes the
 * reply; this acts. On an error it throws a MandateError, whose message is the reply, and changes
 * nothing.
 */
export interface Steering {
  /** Starts a run in the workspace of this place. When this resolves, the run is in the log. */
  startRun(request: WorkRequest): Promise<StartedWork>;
  startWorkflow(request: WorkflowWork): Promise<StartedWork>;
  /** Resumes what was paused, interrupted, cancelled or failed. */
  resume(id: string, limits?: WorkLimits & WorkflowWishes): Promise<ResumedWork>;
  /** Cancels a run or a delegation, with everything below it. */
  cancel(id: string, reason: string): Promise<CancelOutcome>;

  /**
   * Sends a message to a delegation, or to the root of a run. Throws "already-terminal" when it
   * takes no further turn.
   */
  tell(id: string, text: string): Promise<SentTo>;

  /** The run for a command without an id; throws for none or several. */
  runAtWork(): Promise<string>;
  /** The watchers with this profile of a run's root, or of another agent in it. */
  watchers(id: string, profile: string): Promise<readonly string[]>;
  watch(id: string, profile: string): Promise<string>;
  unwatch(id: string, profile: string): Promise<readonly string[]>;

  /** Runs that have not finished, the newest first. */
  openRuns(): Promise<readonly KnownRun[]>;
  /** The run with this id, or of the delegation with this id; without an id, the latest. */
  findRun(id?: string): Promise<KnownRun>;
  /** The caps of these delegations, each for everything below it. */
  capsOf(delegationIds: readonly string[]): Promise<ReadonlyMap<string, Cap>>;
  sessions(): Promise<readonly SessionRow[]>;

  /** The open questions of all delegations, the oldest first. */
  openAsks(): Promise<readonly InboxItem[]>;
  /** The first unread items of this reader. */
  unread(reader: string): Promise<readonly InboxItem[]>;
  /** The last items, the oldest first. */
  latest(): Promise<readonly InboxItem[]>;
  markRead(upTo: number, reader: string): Promise<void>;
  /** Throws "unknown-ask" or "ask-closed". */
  answer(askId: string, text: string): Promise<void>;

  /** The uncommitted changes in the workspace, or the changes of a range of commits. */
  changes(
    range: string | undefined,
  ): Promise<{ readonly text: string; readonly truncated: boolean }>;

  workspaceMode(): Promise<WorkspaceMode>;
  /** Sets the mode of the next runs of this session. */
  setWorkspaceMode(mode: WorkspaceMode, by: Principal): Promise<void>;
}

export interface WorkRequest {
  /** A profile's name, or a handle. */
  readonly profile: string;
  readonly task: string;
  readonly context?: string | undefined;
  readonly title?: string | undefined;
  /** The typed command, without its arguments: `/oracle`. */
  readonly command: string;
  /** The run waits until earlier goals in this workspace are done. */
  readonly isGoal?: boolean | undefined;
}

/** A listed workflow that a person starts by its name. */
export interface WorkflowWork {
  readonly name: string;
  readonly args?: unknown;
  /** The typed command, without its arguments. */
  readonly command: string;
}

export interface StartedWork {
  readonly runId: string;
  readonly delegationId: string;
  /** The run that a queued goal waits for. */
  readonly behind?: string;
}

/** New limits for a run that continues; absent: as before. */
export interface WorkLimits {
  readonly maxTokens?: number | undefined;
  readonly maxCost?: number | undefined;
  readonly timeoutMs?: number | undefined;
}

/** For a run that carries out a workflow. */
export interface WorkflowWishes {
  readonly workflow?: ResumeWork["workflow"];
}

/** `as`: the same run, or a new run with the conversation of `from`. */
export interface ResumedRunWork extends StartedWork {
  readonly as: "same" | "new";
  readonly from: string;
  /**
   * The delegations whose results count: the root, or the sub-agents of another program's agent.
   */
  readonly agents: readonly string[];
}

/** All resumed runs are in `runs`, this one first. */
export interface ResumedWork extends ResumedRunWork {
  readonly runs: readonly ResumedRunWork[];
  readonly refused: readonly { readonly delegationId: string; readonly reason: string }[];
}

/** `state` is null where the log of the run cannot be read. */
export interface KnownRun {
  readonly id: string;
  readonly task: string;
  readonly state: RunState | null;
  /** The run is open, and no process executes it. */
  readonly isInterrupted: boolean;
}

/** Null: no cap on the cost. */
export interface Cap {
  readonly tokens: number;
  readonly cost: number | null;
}
