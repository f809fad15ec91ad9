import { commandContext } from "../../commands/command-context.ts";
import { type Candidate, completeCommand } from "../../commands/complete-command.ts";
import { type EffectiveProfile, effectiveProfile } from "../../commands/effective-profile.ts";
import { type CommandReply, executeCommand } from "../../commands/execute-command.ts";
import { type ForkRequest, Forks } from "../../commands/forks.ts";
import { type Hotkeys, hotkeysOf } from "../../commands/hotkeys-of.ts";
import type { KeptWork } from "../../commands/kept-work.ts";
import { Memories } from "../../commands/memories.ts";
import type { ReplayedRun } from "../../commands/replay.ts";
import { fromUser } from "../../commands/user-text.ts";
import type { VerifyOptions } from "../../commands/verify-home.ts";
import { type WaitingContent, waitingContent } from "../../commands/waiting-content.ts";
import { findPlaces } from "../../control/places.ts";
import type { ControlPlane } from "../../control/records/control-plane.ts";
import type { Principal, Role } from "../../control/records/principal.ts";
import type { DelegationDiff, DiffOptions } from "../../delegations/diff-of-delegation.ts";
import type { DiscardedWork, DiscardKeptOptions } from "../../delegations/discard-kept.ts";
import type { Interrupted } from "../../delegations/interrupt.ts";
import type { MergedWork, MergeOptions } from "../../delegations/merge-kept.ts";
import type { CheckReport } from "../../events/check-report.ts";
import { type OpenAsk, openAskOf } from "../../events/delegation.ts";
import type { EventType, StoredEvent } from "../../events/event.ts";
import { Inbox } from "../../inbox/inbox.ts";
import { openStore } from "../../open-store.ts";
import type { DelegationInfo, DelegationResult } from "../../ports/delegator.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { EventQuery } from "../../ports/store.ts";
import type { Profile } from "../../profiles/profile.ts";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../runtime.ts";
import { infoOf } from "../../sessions/delegation-result.ts";
import { type DelegationTools, delegationTools } from "./delegation-tools.ts";
import { librarySessions, type MandateSessions } from "./library-sessions.ts";

export interface MandateOptions extends RuntimeOptions {
  /** Take up interrupted runs of this application at once. Default: true. */
  readonly recover?: boolean;
}

/** What is asked of a delegation; the names are those of the manager that other code knows. */
export interface DelegationParameters {
  /** A profile's name, or an agent's handle: `@writer`. */
  readonly profile: string;
  readonly task: string;
  readonly context?: string;
  readonly maxTokenBudget?: number;
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
  /** It is a goal: it begins when those before it in its workspace have ended. */
  readonly isGoal?: boolean;
}

/** Who typed a command, and where. */
export interface CommandAuthor extends Principal {
  readonly session?: string;
  /** The folder that pins count for and that agents work in. */
  readonly workspace?: string;
  /** The run that the person looks at: `/pair` and `/tree` are about it. */
  readonly run?: string;
  /** Nobody whom a command of theirs starts may write, whatever they say. */
  readonly readOnly?: boolean;
}

/** From where a fork goes on, and how. */
export type ForkOptions = Omit<ForkRequest, "runId">;

export interface RunHandle {
  readonly runId: string;
  readonly delegationId: string;
  readonly result: Promise<DelegationResult>;
  /** Of a goal that does not begin at once: the run that stands before it. */
  readonly behind?: string;
}

export interface Mandate {
  /** Starts a run and returns at once. */
  start(parameters: DelegationParameters): Promise<RunHandle>;
  /** Delegates and waits for the result. */
  delegate(parameters: DelegationParameters): Promise<DelegationResult>;
  listActive(): Promise<readonly DelegationInfo[]>;
  /** Idempotent; covers everything below. */
  cancel(delegationId: string, reason?: string): Promise<void>;
  /**
   * Stops a run's root agent; its children are treated as their contracts say. `settled` resolves
   * when those that go on have ended.
   */
  interrupt(runId: string, reason?: string): Promise<Interrupted>;
  getResult(delegationId: string): Promise<DelegationResult | null>;
  /** Continues what was cancelled or failed, on its old conversation. */
  resume(delegationId: string): Promise<RunHandle>;
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
  tools(session?: {
    readonly client?: string;
    readonly workspace?: string;
  }): Promise<DelegationTools>;
  /** Who an agent can be: every profile that can be used now. */
  profiles(): readonly Profile[];
  /** One profile, with where each field came from; also why it cannot be used. */
  describeProfile(name: string): EffectiveProfile | undefined;
  /** Profiles and skills that came with a project, and count once they are acknowledged. */
  waiting(): readonly WaitingContent[];
  /** What agents wrote down; promoting and forgetting are written down as the principal's. */
  readonly memory: Memories;
  /** The agent registry, pins and acknowledgements; each change names who makes it. */
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

/** Opens Mandate in this process: its database, models, profiles and tools. */
export async function createMandate(options: MandateOptions = {}): Promise<Mandate> {
  const forks = new Forks();
  const runtime = await createRuntime({
    application: "library",
    ...options,
    middleware: [...(options.middleware ?? []), forks.middleware],
  });
  const recovered = options.recover === false ? [] : await runtime.engine.recover();
  const { database, home } = findPlaces(options.environment ?? process.env);
  const { id, role } = options.principal ?? { id: "local", role: "operator" };
  // A role that nobody knows holds nothing.
  const principal = { id, role: role as Role };
  // What lies in the home belongs to the home's own database; which of it to another one, nobody says.
  const verified = options.database === undefined ? { home, database } : null;
  return new LibraryMandate(runtime, recovered, { forks, principal, verified });
}

function requireCount(name: string, value: number | undefined, least: number): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= least)) return;
  throw new MandateError("usage", `${name} must be a whole number from ${least} on, not ${value}.`);
}

interface LibrarySurroundings {
  readonly forks: Forks;
  readonly principal: Principal;
  /** The home and its own database; null where that is another one. */
  readonly verified: VerifyOptions["places"];
}

class LibraryMandate implements Mandate {
  readonly recovered: readonly RunHandle[];
  readonly sessions: MandateSessions;
  readonly #runtime: Runtime;
  readonly #sessions: DelegationTools[] = [];
  readonly #forks: Forks;
  readonly #principal: Principal;
  readonly #verified: VerifyOptions["places"];

  constructor(
    runtime: Runtime,
    recovered: readonly RunHandle[],
    { forks, principal, verified }: LibrarySurroundings,
  ) {
    this.#runtime = runtime;
    this.#forks = forks;
    this.recovered = recovered;
    this.#principal = principal;
    this.#verified = verified;
    this.sessions = librarySessions(runtime, principal);
  }

  start(parameters: DelegationParameters): Promise<RunHandle> {
    const { maxTokenBudget, maxDepth, timeout, ...rest } = parameters;
    requireCount("maxTokenBudget", maxTokenBudget, 1);
    requireCount("timeout", timeout, 1);
    requireCount("maxDepth", maxDepth, 0);
    const { defaultTimeout, tokenBudget } = this.#runtime.config.agents.delegation;
    // Whoever calls this is the parent: what it starts has the limits of a sub-agent.
    const own = this.#profileOf(parameters.profile)?.limits;
    const tokens = maxTokenBudget ?? own?.tokens ?? tokenBudget.default;
    return this.#runtime.engine.startRun({
      ...rest,
      maxDepth,
      maxTokens: Math.min(tokens, tokenBudget.max),
      timeoutMs: timeout ?? own?.timeoutMs ?? defaultTimeout,
    });
  }

  /** Behind a handle as well as by name. */
  #profileOf(name: string): Profile | undefined {
    const { control, profiles } = this.#runtime;
    const id = name.startsWith("@") ? (control.view.entry(name)?.profileId ?? "") : name;
    return profiles.get(id);
  }

  async delegate(parameters: DelegationParameters): Promise<DelegationResult> {
    return (await this.start(parameters)).result;
  }

  async listActive(): Promise<readonly DelegationInfo[]> {
    const { store } = this.#runtime;
    const infos: DelegationInfo[] = [];
    for (const row of await store.listRuns({ open: true, limit: 1000 })) {
      const run = await store.readRun(row.id);
      for (const delegation of run?.delegations.values() ?? []) {
        if (delegation.status !== "closed") infos.push(infoOf(delegation));
      }
    }
    return infos;
  }

  async cancel(delegationId: string, reason = "cancelled by its caller"): Promise<void> {
    const outcome = await this.#runtime.engine.cancel(delegationId, reason);
    if (outcome === "not_found") {
      throw new MandateError("unknown-delegation", `There is no delegation ${delegationId}.`);
    }
  }

  interrupt(runId: string, reason = "interrupted by its caller"): Promise<Interrupted> {
    return this.#runtime.engine.interrupt(runId, reason);
  }

  getResult(delegationId: string): Promise<DelegationResult | null> {
    return this.#runtime.engine.resultOf(delegationId);
  }

  resume(delegationId: string): Promise<RunHandle> {
    return this.#runtime.engine.resume(delegationId);
  }

  async replay(runId: string): Promise<ReplayedRun> {
    const { replay } = await import("../../commands/replay.ts");
    const memory = openStore({ database: ":memory:" });
    try {
      return await replay(this.#runtime.store, runId, memory);
    } finally {
      await memory.close();
    }
  }

  fork(runId: string, options: ForkOptions): Promise<RunHandle> {
    return this.#forks.fork(this.#runtime, { runId, ...options });
  }

  async diff(id: string, options?: DiffOptions): Promise<DelegationDiff> {
    return (await this.#keptWork()).diff(id, options);
  }

  async merge(id: string, options?: MergeOptions): Promise<MergedWork> {
    const work = await this.#keptWork();
    return work.merge(id, this.#principal, this.#runtime.parts, options);
  }

  async discard(id: string, options?: DiscardKeptOptions): Promise<DiscardedWork> {
    return (await this.#keptWork()).discard(id, this.#principal, options);
  }

  /** Loaded when it is asked for: most programs have no use for git. */
  async #keptWork(): Promise<KeptWork> {
    const module = await import("../../commands/kept-work.ts");
    // A delegation that has just failed: its copy is still being looked at, to be kept.
    await (await this.#runtime.parts.copies()).settled();
    return new module.KeptWork({ store: this.#runtime.store, home: this.#runtime.workFolder });
  }

  async asks(): Promise<readonly (OpenAsk & { readonly delegationId: string })[]> {
    const { store } = this.#runtime;
    const asks: (OpenAsk & { readonly delegationId: string })[] = [];
    for (const row of await store.listRuns({ open: true, limit: 1000 })) {
      const run = await store.readRun(row.id);
      for (const delegation of run?.delegations.values() ?? []) {
        const ask = openAskOf(delegation);
        if (ask !== null) asks.push({ ...ask, delegationId: delegation.id });
      }
    }
    return asks;
  }

  answer(askId: string, text: string): Promise<boolean> {
    return this.#runtime.engine.answer(askId, text);
  }

  get inbox(): Inbox {
    return new Inbox(this.#runtime.store, { reader: this.#principal.id });
  }

  on(type: EventType | "*", listener: (event: never) => void): () => void {
    const tell = listener as (event: StoredEvent) => void;
    return this.#runtime.store.subscribe((events) => {
      for (const event of events) if (type === "*" || event.type === type) tell(event);
    });
  }

  events(query: EventQuery = {}): AsyncIterable<StoredEvent> {
    return this.#runtime.store.readEvents(query);
  }

  async tools(
    session: { readonly client?: string; readonly workspace?: string } = {},
  ): Promise<DelegationTools> {
    const opened = await this.#runtime.engine.openSession({
      client: session.client ?? "ai-sdk",
      workspace: session.workspace,
    });
    const tools = delegationTools(opened, this.#runtime.parts.toolbox);
    this.#sessions.push(tools);
    return tools;
  }

  get memory(): Memories {
    return new Memories(this.#runtime.store, this.#principal);
  }

  get control(): ControlPlane {
    return this.#runtime.control.plane;
  }

  profiles(): readonly Profile[] {
    return this.#runtime.profiles.all();
  }

  describeProfile(name: string): EffectiveProfile | undefined {
    return effectiveProfile(this.#runtime.profiles, name);
  }

  waiting(): readonly WaitingContent[] {
    return waitingContent(this.#runtime.control);
  }

  async command(text: string, { id, role, ...place }: CommandAuthor): Promise<CommandReply> {
    const by = { id, role };
    const reply = await executeCommand(
      fromUser(text, by),
      commandContext(this.#runtime, by, place),
    );
    await this.#runtime.control.view.refresh();
    return reply;
  }

  complete(prefix: string, { id, ...place }: CommandAuthor): Promise<readonly Candidate[]> {
    return completeCommand(prefix, commandContext(this.#runtime, { id }, place));
  }

  hotkeys(): Hotkeys {
    return hotkeysOf(this.#runtime.profiles.all());
  }

  async verify(query: { readonly runId?: string } = {}): Promise<CheckReport> {
    const { verifyHome } = await import("../../commands/verify-home.ts");
    return verifyHome(this.#runtime.store, { places: this.#verified, ...query });
  }

  async close(): Promise<void> {
    for (const tools of this.#sessions) await tools.close();
    await this.#runtime.close();
  }
}
