import type { Profile } from "../../agents/profiles/profile.ts";
import type { Candidate } from "../../application/commands/complete-command.ts";
import type { CommandReply } from "../../application/commands/execute-command.ts";
import type { Hotkeys } from "../../application/commands/profile-triggers.ts";
import type { EffectiveProfile } from "../../application/effective-profile.ts";
import type {
  DelegationDiff,
  DiffOptions,
} from "../../application/kept-work/diff-of-delegation.ts";
import type {
  DiscardedWork,
  DiscardKeptOptions,
  MergedWork,
  MergeOptions,
} from "../../application/kept-work/kept-work.ts";
import type { Memories } from "../../application/memories.ts";
import type { WaitingContent } from "../../application/waiting-content.ts";
import type { SkippedAgent } from "../../application/workflow-runs.ts";
import type { ConfigFile } from "../../control/config-schema.ts";
import type { ControlPlane } from "../../control/records/control-plane.ts";
import type { Principal } from "../../control/records/principal.ts";
import type { ForkRequest } from "../../delegations/replay/plan-fork.ts";
import type { ReplayedRun } from "../../delegations/replay/replay-run.ts";
import type { Interrupted } from "../../delegations/suspend/interrupt.ts";
import type { CheckReport } from "../../events/checker/check-report.ts";
import type { RunOutcome } from "../../events/close-reason.ts";
import type { OpenAsk } from "../../events/delegation.ts";
import type { EventType, StoredEvent } from "../../events/event.ts";
import type { DelegationInfo, DelegationResult } from "../../ports/delegator.ts";
import type { EventQuery } from "../../ports/store.ts";
import type { RuntimeOptions } from "../../runtime.ts";
import type { Inbox } from "../../sessions/inbox.ts";
import type { SentTo } from "../../sessions/send-message.ts";
import type { WorkflowView } from "../../sessions/workflow-view.ts";
import type { DelegationTools, MandateSessions } from "./handles.ts";

export interface MandateOptions extends Omit<RuntimeOptions, "config" | "consent" | "scheduler"> {
  /**
   * Any part of a mandate.yaml, over the defaults. It replaces all files and environment settings;
   * `flags` take precedence.
   */
  readonly config?: ConfigFile;
  /** Recover orphaned runs of this application at once. Default: true. */
  readonly recover?: boolean;
}

/** The parameters of a delegation. */
export interface DelegationParameters {
  /** A profile's name, or an agent's handle: `@writer`. */
  readonly profile: string;
  readonly task: string;
  readonly context?: string;
  /** Tokens for the agent and all its sub-agents. */
  readonly maxTokens?: number;
  /** The older name of `maxTokens`. */
  readonly maxTokenBudget?: number;
  /** US dollars. */
  readonly maxCost?: number;
  readonly maxDepth?: number;
  /** Milliseconds. */
  readonly timeout?: number;
  readonly modelOverride?: string;
  /** Skills for a registered agent, among those that it may get. */
  readonly forwardSkills?: readonly string[];
  readonly tools?: readonly string[];
  /** The folder it works in; absent: none. */
  readonly workspace?: string;
  /** The session whose `/workspace` setting applies. */
  readonly session?: string;
  /** Queues the run: it starts when the queued runs before it in its workspace have ended. */
  readonly isQueued?: boolean;
  /** The older name of `isQueued`. */
  readonly isGoal?: boolean;
  /**
   * A person typed the task: the exit rule of the profile does not apply, and hosts that the task
   * names stay open. Never set it for untrusted text.
   */
  readonly isTyped?: boolean;
}

/** The parameters of a workflow script's run: a trusted script by its name, or a script. */
export interface WorkflowParameters
  extends Pick<DelegationParameters, "maxTokens" | "maxCost" | "timeout" | "workspace"> {
  readonly name?: string;
  readonly script?: string;
  readonly args?: unknown;
  readonly limits?: {
    /** The script's `budget.total`. */
    readonly outputTokens?: number;
    readonly maxConcurrent?: number;
    readonly maxAgents?: number;
  };
}

export interface SendOptions {
  /**
   * A person typed the message: hosts that it names are open to the agent. Never set it for
   * untrusted text.
   */
  readonly isTyped?: boolean;
}

/** The person who typed a command, and where. */
export interface CommandAuthor extends Omit<Principal, "allRuns"> {
  readonly session?: string;
  /** The folder whose pins apply and in which agents work. */
  readonly workspace?: string;
  /** The run that the person is viewing, for `/pair` and `/tree`. */
  readonly run?: string;
  /** Agents that the command starts cannot write. */
  readonly readOnly?: boolean;
}

/** The program that gets the tools, and the folder of its children. */
export interface ToolSession {
  readonly client?: string;
  readonly workspace?: string;
}

/** Where a fork starts, and how it continues. */
export type ForkOptions = Omit<ForkRequest, "runId">;

/** The result of a run: its root agent's, and how the whole run ended. */
export interface RunResult extends DelegationResult {
  readonly outcome: RunOutcome;
}

export interface RunHandle {
  readonly runId: string;
  readonly delegationId: string;
  /**
   * The root agent's final answer. With children in the background it resolves before `result`; otherwise both resolve together.
   *
   * @example
   * const run = await mandate.start({ profile: "lead", task: "Start the survey" });
   * console.log((await run.answer).result);
   * console.log((await run.result).outcome); // when the survey has ended too
   */
  readonly answer: Promise<DelegationResult>;
  /** The result of the whole run: resolves when all background children have closed as well. */
  readonly result: Promise<RunResult>;
  /** The outcome of the whole run; resolves together with `result`. */
  readonly outcome: Promise<RunOutcome>;
  /** The run that a queued run waits for; absent when it starts at once. */
  readonly behind?: string;
}

/** New limits of a resumed run; absent: those of the old one. */
export interface ResumeOptions
  extends Pick<DelegationParameters, "maxTokens" | "maxTokenBudget" | "maxCost" | "timeout"> {
  /** New arguments or limits, for a run that carries out a workflow. */
  readonly workflow?: Pick<WorkflowParameters, "args" | "limits">;
}

/** A run that continues, or that was started to continue a delegation. */
export interface ResumedRunHandle extends RunHandle {
  /** `same`: the run itself continues; `new`: a run of its own on the old conversation. */
  readonly as: "same" | "new";
  /** The delegation that is continued; of a run that continues itself, its root. */
  readonly from: string;
  /** The agents whose results count: the root, or the sub-agents of another program's agent. */
  readonly agents: readonly string[];
}

/** The first run that continues, and all of them. */
export interface ResumeHandle extends ResumedRunHandle {
  /** Several where another program's agent left several sub-agents that did not complete. */
  readonly runs: readonly ResumedRunHandle[];
  /** Sub-agents of such an agent that could not be resumed, and why. */
  readonly refused: readonly { readonly delegationId: string; readonly reason: string }[];
}

export interface Mandate {
  /** Starts a run and returns at once. */
  start(parameters: DelegationParameters): Promise<RunHandle>;

  /**
   * Starts a workflow script: `agent()`, `parallel()` and `pipeline()` become delegations, and every
   * result is in the log before the script sees it.
   *
   * @example
   * const run = await mandate.runWorkflow({ name: "review", args: { path: "src" }, maxCost: 5 });
   * console.log(JSON.parse((await run.result).result));
   */
  runWorkflow(parameters: WorkflowParameters): Promise<RunHandle>;
  /**
   * The workflow of a run, or of one of its delegations: phases, and each call with its state, its
   * delegation, and why it ran again. Null: it carries out none.
   */
  getWorkflow(id: string): Promise<WorkflowView | null>;
  /**
   * Skips one agent of a workflow that works, by the key of its call: the script gets `null`.
   *
   * @example
   * const call = (await mandate.getWorkflow(run.runId))?.calls.find(({ label }) => label === "slow");
   * if (call) await mandate.skipAgent(run.runId, call.key);
   */
  skipAgent(id: string, key: string): Promise<SkippedAgent>;
  /** Delegates and waits for the result, also for background children. */
  delegate(parameters: DelegationParameters): Promise<RunResult>;
  listActive(): Promise<readonly DelegationInfo[]>;
  /** Cancels a delegation and everything below it. Idempotent. */
  cancel(delegationId: string, reason?: string): Promise<void>;
  /**
   * Sends a message to a running agent in any process, by its id or that of its run. The agent reads it once, before its next turn. Throws "already-terminal" when it has closed.
   *
   * @example
   * const run = await mandate.start({ profile: "coder", task: "Port the parser" });
   * await mandate.send(run.delegationId, "Leave the tests as they are.");
   */
  send(delegationId: string, message: string, options?: SendOptions): Promise<SentTo>;
  /**
   * Suspends a run's root agent; each child is cancelled, suspended or continues, as its contract
   * says. `settled` resolves when the continuing ones have closed.
   */
  interrupt(runId: string, reason?: string): Promise<Interrupted>;
  getResult(delegationId: string): Promise<DelegationResult | null>;
  /**
   * Resumes a run or a delegation by its id. A run that was paused, or whose process is gone,
   * continues itself under its contract. What was cancelled or failed continues as a new run on the
   * old conversation and copy. Of a session that another program's agent held, every sub-agent that
   * did not complete is resumed. A workflow takes its recorded results, and its script as it is now
   * where the file is trusted. Throws "not-resumable" with the reason otherwise.
   *
   * @example
   * await mandate.interrupt(run.runId);
   * const { result } = await mandate.resume(run.runId);
   */
  resume(id: string, options?: ResumeOptions): Promise<ResumeHandle>;
  /**
   * Runs a whole tree again from its log, in memory, and says where the events differ: models and
   * tools only answer what is recorded, and nothing outside is asked, opened or written.
   */
  replay(runId: string): Promise<ReplayedRun>;
  /**
   * Starts a new run that shares the root agent's conversation up to an event of an old one, and is
   * live from there. What children had answered that had finished by then is not asked again.
   */
  fork(runId: string, options: ForkOptions): Promise<RunHandle>;
  /** Conversations: list, read, rename, export and continue sessions. */
  readonly sessions: MandateSessions;
  /**
   * The changes of a delegation in its working copy, from the copy or from the log. Throws
   * "no-kept-work" when there are none. Here and in `merge` and `discard`, the id of a run means
   * its root, or the one delegation below it with kept work.
   */
  diff(id: string, options?: DiffOptions): Promise<DelegationDiff>;
  /**
   * Merges the working copy of a failed delegation, by the rules of its contract. A conflict is a
   * normal result and changes nothing. The decision is logged.
   */
  merge(id: string, options?: MergeOptions): Promise<MergedWork>;
  /** Removes the working copy. Unmerged changes are deleted only with `deleteChanges`. */
  discard(id: string, options?: DiscardKeptOptions): Promise<DiscardedWork>;
  asks(): Promise<readonly (OpenAsk & { readonly delegationId: string })[]>;
  answer(askId: string, text: string): Promise<boolean>;
  /**
   * Declares that your program shows questions (`asks`) to a person, until the returned function is
   * called. Without it, calls that need an approval after untrusted input are refused at once.
   */
  attend(): () => void;
  /**
   * The inbox of all runs: questions from any depth, reports, reviews, remarks, plans, ends.
   * Reading removes nothing; `markRead` moves the position of one reader, by default the principal.
   */
  readonly inbox: Inbox;
  /**
   * Calls back with every event of a type, from all processes; returns the function that
   * unsubscribes.
   */
  on<Type extends EventType>(type: Type, listener: (event: StoredEvent<Type>) => void): () => void;
  on(type: "*", listener: (event: StoredEvent) => void): () => void;
  events(query?: EventQuery): AsyncIterable<StoredEvent>;
  /** Delegation tools for your own AI SDK agent, under a contract of their own. */
  tools(session?: ToolSession): Promise<DelegationTools>;
  /** All usable profiles. */
  profiles(): readonly Profile[];
  /** One profile, with the origin of each field, and why it cannot be used if so. */
  describeProfile(name: string): EffectiveProfile | undefined;
  /** Profiles and skills that came with a project, and have no effect until they are trusted. */
  waiting(): readonly WaitingContent[];
  /** The memories of agents. Promoting and forgetting is logged under the principal. */
  readonly memory: Memories;
  /** The agent registry, pins and trusted content; each change names who makes it. */
  readonly control: ControlPlane;
  /**
   * Executes a slash command, with the same parser and the same fixed replies as every surface.
   * Pass only what a person typed: never a model's words, a tool's output or a file.
   */
  command(text: string, by: CommandAuthor): Promise<CommandReply>;
  /**
   * Completes a command that a person has begun to type: commands, handles, profiles, questions,
   * runs.
   */
  complete(prefix: string, by: CommandAuthor): Promise<readonly Candidate[]>;
  /** The hotkeys of profiles, and the command that each one types. */
  hotkeys(): Hotkeys;
  /** Verifies all invariants of the log, the files and the processes; can run during work. */
  verify(query?: { readonly runId?: string }): Promise<CheckReport>;
  /** The runs that were recovered at the start. */
  readonly recovered: readonly RunHandle[];
  close(): Promise<void>;
}

/**
 * Opens Mandate in this process: its database, models, profiles and tools. They are loaded with
 * this call and not with the package, so that importing it is fast.
 *
 * @example
 * const mandate = await createMandate();
 * const { result } = await mandate.delegate({ task: "Which of our modules have no tests?" });
 * await mandate.close();
 */
export async function createMandate(options: MandateOptions = {}): Promise<Mandate> {
  const { openMandate } = await import("./open-mandate.ts");
  return openMandate(options);
}
