import type { Principal } from "../control/records/principal.ts";
import type { InboxItem } from "../events/inbox-item.ts";
import type { RunState } from "../events/run-state.ts";
import type { CancelOutcome } from "../ports/delegator.ts";
import type { SessionRow } from "../sessions/list-sessions.ts";
import type { SentTo } from "../sessions/send-message.ts";
import type { WorkspaceMode } from "../sessions/session-records.ts";

/**
 * What commands can do with runs, from the place where a person speaks. Commands decide who may and
 * what is answered; this acts. What cannot be done is thrown as a MandateError, whose sentence is
 * the reply, and has changed nothing.
 */
export interface Steering {
  /** Starts a run of its own in the workspace of this place; it is in the log when this resolves. */
  startRun(request: WorkRequest): Promise<StartedWork>;
  /** Resumes what was paused, interrupted, cancelled or failed. */
  resume(id: string, limits?: WorkLimits): Promise<ResumedWork>;
  /** Of a run or a delegation, with everything below it. */
  cancel(id: string, reason: string): Promise<CancelOutcome>;

  /**
   * Sends what a person typed to a delegation, or to the root of a run. Throws "already-terminal" when
   * that takes no further turn.
   */
  tell(id: string, text: string): Promise<SentTo>;

  /** The run that is meant when no run is named; throws when no run matches, or several do. */
  runAtWork(): Promise<string>;
  /** Who of that profile watches the session of a run's root, or of another agent in it. */
  watchers(id: string, profile: string): Promise<readonly string[]>;
  watch(id: string, profile: string): Promise<string>;
  unwatch(id: string, profile: string): Promise<readonly string[]>;

  /** Runs that have not finished, the newest first. */
  openRuns(): Promise<readonly KnownRun[]>;
  /** The run of that id, or that a delegation of that id is part of; without one, the latest. */
  findRun(id?: string): Promise<KnownRun>;
  /** What each of these delegations may spend, with everything below it. */
  capsOf(delegationIds: readonly string[]): Promise<ReadonlyMap<string, Cap>>;
  sessions(): Promise<readonly SessionRow[]>;

  /** What waits for an answer, from whatever depth, the oldest first. */
  openAsks(): Promise<readonly InboxItem[]>;
  /** The first items that this reader has not seen. */
  unread(reader: string): Promise<readonly InboxItem[]>;
  /** The last items there are, the oldest of them first. */
  latest(): Promise<readonly InboxItem[]>;
  markRead(upTo: number, reader: string): Promise<void>;
  /** Throws "unknown-ask" or "ask-closed". */
  answer(askId: string, text: string): Promise<void>;

  /** What is not committed in the workspace of this place, or the changes of a range of commits. */
  changes(
    range: string | undefined,
  ): Promise<{ readonly text: string; readonly truncated: boolean }>;

  workspaceMode(): Promise<WorkspaceMode>;
  /** For the next runs of this session. */
  setWorkspaceMode(mode: WorkspaceMode, by: Principal): Promise<void>;
}

export interface WorkRequest {
  /** A profile's name, or a handle. */
  readonly profile: string;
  readonly task: string;
  readonly context?: string | undefined;
  readonly title?: string | undefined;
  /** What the person typed, without what follows: `/oracle`. */
  readonly command: string;
  /** It waits until the goals before it in this workspace have ended. */
  readonly isGoal?: boolean | undefined;
}

export interface StartedWork {
  readonly runId: string;
  readonly delegationId: string;
  /** Of a goal that waits: the run that stands before it. */
  readonly behind?: string;
}

/** New limits for what continues as a new run; absent: as agreed then. */
export interface WorkLimits {
  readonly maxTokens?: number | undefined;
  readonly maxCost?: number | undefined;
  readonly timeoutMs?: number | undefined;
}

/** `as`: the same run where it stopped, or a new one on the conversation of `from`. */
export interface ResumedRunWork extends StartedWork {
  readonly as: "same" | "new";
  readonly from: string;
  /** Whose results count: the root's, or those of the sub-agents of another program's agent. */
  readonly agents: readonly string[];
}

/** All runs that continue are in `runs`, this one first. */
export interface ResumedWork extends ResumedRunWork {
  readonly runs: readonly ResumedRunWork[];
  readonly refused: readonly { readonly delegationId: string; readonly reason: string }[];
}

/** `state` is null where the log of the run cannot be read. */
export interface KnownRun {
  readonly id: string;
  readonly task: string;
  readonly state: RunState | null;
  /** It has not finished, and no process works on it. */
  readonly isInterrupted: boolean;
}

/** Null: no cap on the cost. */
export interface Cap {
  readonly tokens: number;
  readonly cost: number | null;
}
