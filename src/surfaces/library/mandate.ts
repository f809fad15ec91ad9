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
import type { DelegationTools, MandateSessions } from "./handles.ts";

export interface MandateOptions extends Omit<RuntimeOptions, "config" | "consent"> {
  /**
   * What a mandate.yaml may say, as much of it as you want, over the defaults: in place of all files
   * and of the environment's settings. `flags` win over it.
   */
  readonly config?: ConfigFile;
  /** Take up interrupted runs of this application at once. Default: true. */
  readonly recover?: boolean;
}

/** What is asked of a delegation; the names are those of the manager that other code knows. */
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
  /** Skills of a registered agent, among those that it may be given. */
  readonly forwardSkills?: readonly string[];
  readonly tools?: readonly string[];
  /** The folder it works in; absent: none. */
  readonly workspace?: string;
  /** Whose `/workspace` counts. */
  readonly session?: string;
  /** Queues the run: it starts when the queued runs before it in its workspace have ended. */
  readonly isQueued?: boolean;
  /** The older name of `isQueued`. */
  readonly isGoal?: boolean;
  /**
   * A person typed the task: the agent answers a person, so the exit rule of its profile does not
   * bind it, and the hosts that the task names stay open. Never set it for text of others.
   */
  readonly isTyped?: boolean;
}

export interface SendOptions {
  /** A person typed the message: hosts that it names are open to the agent. Never set it for text of others. */
  readonly isTyped?: boolean;
}

/** Who typed a command, and where. */
export interface CommandAuthor extends Omit<Principal, "allRuns"> {
  readonly session?: string;
  /** The folder that pins count for and that agents work in. */
  readonly workspace?: string;
  /** The run that the person looks at: `/pair` and `/tree` are about it. */
  readonly run?: string;
  /** Nobody whom a command of theirs starts may write, whatever they say. */
  readonly readOnly?: boolean;
}

/** Whose agent gets the tools, and the folder that its children work in. */
export interface ToolSession {
  readonly client?: string;
  readonly workspace?: string;
}

/** From where a fork goes on, and how. */
export type ForkOptions = Omit<ForkRequest, "runId">;

/** The result of a run: its root agent's, and how the whole run ended. */
export interface RunResult extends DelegationResult {
  readonly outcome: RunOutcome;
}

export interface RunHandle {
  readonly runId: string;
  readonly delegationId: string;
  /**
   * The root agent's final answer. Where it left children in the background, it is here long before
   * `result`; otherwise both resolve together.
   *
   * @example
   * const run = await mandate.start({ profile: "lead", task: "Start the survey" });
   * console.log((await run.answer).result);
   * console.log((await run.result).outcome); // when the survey has ended too
   */
  readonly answer: Promise<DelegationResult>;
  /** Of the whole run: resolves when every child in the background has closed, too. */
  readonly result: Promise<RunResult>;
  /** How the whole run ended; resolves together with `result`. */
  readonly outcome: Promise<RunOutcome>;
  /** The run that a queued run waits for; absent when it starts at once. */
  readonly behind?: string;
}

/** What a resumed run gets where a new one starts; absent: as agreed when the old one began. */
export type ResumeOptions = Pick<
  DelegationParameters,
  "maxTokens" | "maxTokenBudget" | "maxCost" | "timeout"
>;

/** A run that continues, or that was started to continue a delegation. */
export interface ResumedRunHandle extends RunHandle {
  /** `same`: the run itself continues; `new`: a run of its own on the old conversation. */
  readonly as: "same" | "new";
  /** The delegation that is continued; of a run that continues itself, its root. */
  readonly from: string;
  /** Whose results count: the root's, or those of the sub-agents of another program's agent. */
  readonly agents: readonly string[];
}

/** What `resume` gives: the first run that continues, and all of them. */
export interface ResumeHandle extends ResumedRunHandle {
  /** Several where another program's agent left several sub-agents that did not complete. */
  readonly runs: readonly ResumedRunHandle[];
  /** Sub-agents of such an agent that could not be resumed, and why. */
  readonly refused: readonly { readonly delegationId: string; readonly reason: string }[];
}

export interface Mandate {
  /** Starts a run and returns at once. */
  start(parameters: DelegationParameters): Promise<RunHandle>;
  /** Delegates and waits for the result: also for children that the root left in the background. */
  delegate(parameters: DelegationParameters): Promise<RunResult>;
  listActive(): Promise<readonly DelegationInfo[]>;
  /** Idempotent; covers everything below. */
  cancel(delegationId: string, reason?: string): Promise<void>;
  /**
   * Sends a message to an agent that works, in this process or another one, by its id or that of its
   * run: it reads the message once, before its next turn. Throws "already-terminal" when it has ended.
   *
   * @example
   * const run = await mandate.start({ profile: "coder", task: "Port the parser" });
   * await mandate.send(run.delegationId, "Leave the tests as they are.");
   */
  send(delegationId: string, message: string, options?: SendOptions): Promise<SentTo>;
  /**
   * Stops a run's root agent; its children are treated as their contracts say. `settled` resolves
   * when those that go on have ended.
   */
  interrupt(runId: string, reason?: string): Promise<Interrupted>;
  getResult(delegationId: string): Promise<DelegationResult | null>;
  /**
   * Resumes a run or a delegation by its id. A run that was paused, or whose process is gone,
   * continues itself under its contract. What was cancelled or failed continues as a new run on the
   * old conversation and copy. Of a session that another program's agent held, every sub-agent that
   * did not complete is resumed. Throws "not-resumable" with the reason otherwise.
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
  /** What was said: sessions to list, read, name, export and go on with. */
  readonly sessions: MandateSessions;
  /**
   * What a delegation changed in its own copy: as the copy is now, or as the log has it. Throws
   * "no-kept-work" where it had none, changed nothing, or was discarded. Here and below, the id of
   * a run means its root, or the one delegation below it that has work.
   */
  diff(id: string, options?: DiffOptions): Promise<DelegationDiff>;
  /**
   * Takes over what a failed delegation left in its copy, by the rules of its contract. A conflict
   * is an answer and changes nothing. The decision is written down.
   */
  merge(id: string, options?: MergeOptions): Promise<MergedWork>;
  /** Removes its copy. What was not merged is lost with `deleteChanges`, and kept without. */
  discard(id: string, options?: DiscardKeptOptions): Promise<DiscardedWork>;
  asks(): Promise<readonly (OpenAsk & { readonly delegationId: string })[]>;
  answer(askId: string, text: string): Promise<boolean>;
  /**
   * Says that your program puts questions (`asks`) to a person, until it calls what is returned. Without
   * it, calls that would need an approval after untrusted input are refused at once.
   */
  attend(): () => void;
  /**
   * What people should know of all runs: asks from any depth, what was handed in, reviews, remarks,
   * plans, ends. Reading it takes nothing out; `markRead` moves the place of one reader, by default
   * of the principal that this was opened for.
   */
  readonly inbox: Inbox;
  /** Calls back with every event of a type, this process's and others'; returns how to stop that. */
  on<Type extends EventType>(type: Type, listener: (event: StoredEvent<Type>) => void): () => void;
  on(type: "*", listener: (event: StoredEvent) => void): () => void;
  events(query?: EventQuery): AsyncIterable<StoredEvent>;
  /** Delegation tools for an AI SDK agent of yours, under a contract of their own. */
  tools(session?: ToolSession): Promise<DelegationTools>;
  /** Who an agent can be: every profile that can be used now. */
  profiles(): readonly Profile[];
  /** One profile, with where each field came from; also why it cannot be used. */
  describeProfile(name: string): EffectiveProfile | undefined;
  /** Profiles and skills that came with a project, and have no effect until they are trusted. */
  waiting(): readonly WaitingContent[];
  /** What agents wrote down; promoting and forgetting are written down as the principal's. */
  readonly memory: Memories;
  /** The agent registry, pins and trusted content; each change names who makes it. */
  readonly control: ControlPlane;
  /**
   * Executes a slash command, with the same parser and the same fixed replies as every surface.
   * Pass only what a person typed: never a model's words, a tool's output or a file.
   */
  command(text: string, by: CommandAuthor): Promise<CommandReply>;
  /** What a person who typed this could mean: commands, handles, profiles, questions, runs. */
  complete(prefix: string, by: CommandAuthor): Promise<readonly Candidate[]>;
  /** The keys that profiles ask for, and what each of them types. */
  hotkeys(): Hotkeys;
  /** Checks what must hold, in the log and in the world beside it; can run while work goes on. */
  verify(query?: { readonly runId?: string }): Promise<CheckReport>;
  /** What was interrupted and is worked on again. */
  readonly recovered: readonly RunHandle[];
  close(): Promise<void>;
}

/**
 * Opens Mandate in this process: its database, models, profiles and tools. They are loaded here and
 * not with the package: a program that imports it and has nothing to delegate yet starts at once.
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
