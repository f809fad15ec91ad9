import type { ModelPolicy } from "../agents/profiles/profile.ts";
import type { ProfileRegistry } from "../agents/profiles/profile-registry.ts";
import type { SkillRegistry } from "../agents/skills/skill.ts";
import type { Contract, MemoryPermission } from "../contracts/contract.ts";
import type { McpServer } from "../contracts/mcp-server.ts";
import type { NarrowingRules } from "../contracts/narrow.ts";
import type { TokenPrice } from "../contracts/token-price.ts";
import type { ConsentMode } from "../control/folders/decide-consent.ts";
import type { AgentEntry } from "../control/records/agent-registry.ts";
import type { EffectivePin, PinContext } from "../control/records/pins.ts";
import type { Cause } from "../events/cause.ts";
import type { EventPayloads, Keeps, SentMessage } from "../events/event.ts";
import type { Clock } from "../ports/clock.ts";
import type { Model, ModelUsage } from "../ports/model.ts";
import type { Store } from "../ports/store.ts";
import type { Dispatcher } from "../ports/workers.ts";
import type { McpScope } from "../tools/mcp/mcp-servers.ts";
import type { Tool } from "../tools/tool.ts";
import type { Toolbox } from "../tools/toolbox.ts";
import type { IsProtected } from "../workspaces/git/copies/judge-changes.ts";
import type { WorkingCopies } from "../workspaces/git/copies/working-copies.ts";
import type { MergeCheck } from "../workspaces/git/integration/prepare-merge.ts";
import type { AgentPrograms } from "./agent-programs.ts";
import type { TurnPlan } from "./budget.ts";
import type { LiveDelegation } from "./live-delegation.ts";
import type { Middleware } from "./middleware.ts";
import type { Scheduler } from "./scheduler.ts";
import type { AdmissionGate } from "./turns/admission-gate.ts";

/** Everything the engine is made of; put together in one place, `runtime.ts`. */
export interface EngineParts {
  readonly store: Store;
  readonly models: ModelSource;
  readonly profiles: ProfileSource;
  readonly agents: AgentSource;
  /** How a user's agents may work in a folder; throws "refused-by-policy" where there is no consent. */
  consentTo(folder: string, user: string): Promise<ConsentMode>;
  readonly skills: Pick<SkillRegistry, "all">;
  readonly servers: ServerSource;
  /** Copies of workspaces that children work in; loaded when the first one is needed. */
  copies(): Promise<WorkingCopies>;
  /** Whether there are working copies on disk; does not load them. */
  hasCopies(): boolean;
  /** Workers on other machines get them through the store. */
  readonly sendsCopies?: boolean;
  /** The folder of the working copies. */
  readonly worktrees: string;
  /** Looks at merged files before they are taken over. */
  checksFor(commands: readonly string[], about: CheckAbout): MergeCheck;
  /** Ends what a delegation left running, commands and servers of its own; safe to repeat. */
  release(delegationId: string): Promise<void>;
  /** Ends processes that delegations of a dead worker left behind; when it resolves they are gone. */
  endStrays(delegations: { has(id: string): boolean }): Promise<void>;
  /** Agent programs of others; absent: none can be started here. */
  readonly programs?: AgentPrograms;
  /** Takes closes that the store cannot write at the moment. */
  readonly unwritten: { add(live: LiveDelegation, cause: Cause): void };
  readonly toolbox: Toolbox;
  readonly middleware: Middleware;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** The lane of the scheduler in which a delegation works; absent: all are in one. */
  laneOf?(contract: Contract): string;
  /** Absent: this process works on what it starts. */
  readonly dispatcher?: Dispatcher | undefined;
  readonly limits: EngineLimits;
  /** The application of this process; it does not recover runs of other applications. */
  readonly application: string;
  /** Folders that no workspace may reach: the home of the database itself. */
  readonly forbidden: readonly string[];
  /** Files and folders that no child may write: configuration and profiles. */
  readonly guarded: readonly string[];
  /** Absent: the list decides. A replay refuses what was refused in the recorded run. */
  readonly isProtected?: IsProtected;
  /**
   * Whether a person can be asked: a terminal, a page, a chat or a client that elicits is connected.
   * Absent: that is not known, as where runs are distributed over machines, and questions wait for
   * an answer.
   */
  isAttended?(): boolean;
  /** Used by a replay: in earlier versions an answer ended the children that were still at work. */
  endsWithAnswer?(delegationId: string): boolean;
  /** Used by a replay: the messages that the recording delivered at this place. Absent: the mail. */
  mailOf?(agent: LiveDelegation): Promise<readonly SentMessage[]>;
  /** Admits model requests under stored limits; absent: there are none, as in a replay. */
  readonly admission?: AdmissionGate | undefined;
  /** Streams what models say while they say it; never stored. */
  readonly onDelta?: (delegationId: string, text: string) => void;
}

export interface CheckAbout {
  readonly delegationId: string;
  readonly objects: readonly string[];
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** What a replay repeats of one request, since it came from outside or was another version's decision. */
export interface RecordedEstimate {
  /** How much of its answer it had received when it was cut, as its estimate counted it. */
  readonly received: number;
  /** Earlier versions did not record the bound of the prompt, and settled without it. */
  readonly isBounded: boolean;
  /** The bound of its prompt, which depends on how texts were worded then; undefined: not known. */
  readonly promptBound: number | undefined;
  readonly keeps: RecordedKeeps;
  /** How its conversation was shortened in this attempt before it was sent. */
  readonly shortenings: readonly EventPayloads["agent.compacted"][];
  /** False: its conversation was shortened, and the delegation ended before it was sent. */
  readonly isSent: boolean;
  /** The conversation was too long, and the delegation failed; earlier versions dropped the best text. */
  readonly hasFailed: boolean;
}

/** What a delegation kept back for results of children, from one request to the next. */
export interface RecordedKeeps {
  readonly reserved?: Keeps | undefined;
  /** By the calls that began with it; absent: none, or an earlier version, which kept nothing back. */
  readonly calls?: ReadonlyMap<string, Keeps>;
}

export interface ModelSource {
  resolve(name: string): Model;
  /** Tokens of prompt and answer together; undefined when it is not known. */
  contextWindow?(name: string): number | undefined;
  /** The models of a pool; undefined: there is no pool of that name. */
  pool?(name: string): readonly string[] | undefined;
  /** Null: no model is configured. */
  readonly defaultModel: string | null;
  /** The models that a policy allows to run on, in the order in which they are tried. */
  candidates(policy: ModelPolicy): readonly string[];
  /** In dollars, by a price that was agreed, or by today's list. */
  cost(name: string, usage: ModelUsage, agreed?: TokenPrice): number;
  /** One value for each model; undefined when nothing is known of one. */
  price(name: string): TokenPrice | undefined;
  /** Used by a replay: what comes from outside of the request that is about to be made again. */
  recorded?(delegationId: string, request: number): RecordedEstimate | undefined;
  /**
   * Used by a replay of a distributed run: what its worker decided to reserve next, by what it knew of the
   * others' reservations at that moment.
   */
  readonly recordedPlan?: ((delegationId: string) => RecordedPlan | undefined) | undefined;
}

export interface RecordedPlan {
  readonly plan: TurnPlan;
  /** Why there was no room. */
  readonly cause?: Cause;
}

export type ProfileSource = Pick<
  ProfileRegistry,
  "get" | "layersOf" | "names" | "offered" | "problemOf"
>;

/** The agent registry as it was last read; `refresh` reads it again. */
export interface AgentSource {
  entry(agentId: string): AgentEntry | undefined;
  all(): readonly AgentEntry[];
  /** `always`: also when nothing is known to have changed. */
  refresh(always?: boolean): Promise<void> | undefined;
  /** The profile that the user who starts a run has pinned, by scope; throws when it does not exist. */
  pinned(context: PinContext): Promise<EffectivePin | undefined>;
}

/** The MCP servers that are configured, and the way to open any server. */
export interface ServerSource {
  declared(name: string): McpServer | undefined;
  open(name: string, server: McpServer, scope: McpScope): Promise<readonly Tool[]>;
}

export interface EngineLimits extends NarrowingRules {
  readonly runTokens: number;
  readonly runTimeMs: number;
  /** Delegations in one run, all depths together. */
  readonly maxChildren: number;
  readonly maxOutputTokens: number;
  readonly maxRetries: number;
  readonly joinTokens: number;
  /**
   * For new delegations. False: a caller may also read the transcripts of its closed children. Absent:
   * it may not.
   */
  readonly sealOnComplete?: boolean;
  /** How sub-agents may save memories. Absent: for themselves and those above and below them. */
  readonly memory?: MemoryPermission;
  readonly askDeadlineMs: number;
  readonly askDefault: string | null;
  readonly deadlines: {
    readonly firstTokenMs: number;
    readonly stallMs: number;
    readonly toolMs: number;
    readonly idleMs: number;
  };
  /** How often a watcher is shown something new, at most. */
  readonly watchIntervalMs: number;
  /** Requests that meet a passing fault: how often, and how long at first. */
  readonly requestTries: number;
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  /** Bytes of a tool's output that enter the conversation; the rest becomes an artifact. */
  readonly toolOutputBytes: number;
  readonly reportPathPattern: string | null;
  /** Checks that the changes of every child have to pass before a merge, with those of its profile. */
  readonly checks: readonly string[];
  readonly approval: boolean;
  readonly onUnknownProfile: string | null;
}
