import { requireKnownKeys } from "../../agents/documents/nearest-key.ts";
import { withoutEmptyFields } from "../../agents/documents/without-empty.ts";
import type { Profile } from "../../agents/profiles/profile.ts";
import { commandContext } from "../../application/commands/command-context.ts";
import { type Candidate, completeCommand } from "../../application/commands/complete-command.ts";
import {
  type CommandReply,
  executeCommand,
  fromUser,
} from "../../application/commands/execute-command.ts";
import { type Hotkeys, hotkeysOf } from "../../application/commands/profile-triggers.ts";
import { type EffectiveProfile, effectiveProfile } from "../../application/effective-profile.ts";
import type {
  DelegationDiff,
  DiffOptions,
} from "../../application/kept-work/diff-of-delegation.ts";
import type {
  DiscardedWork,
  DiscardKeptOptions,
  KeptWork,
  MergedWork,
  MergeOptions,
} from "../../application/kept-work/kept-work.ts";
import { Memories } from "../../application/memories.ts";
import { Forks } from "../../application/replay.ts";
import type { VerifyOptions } from "../../application/verify-home.ts";
import { type WaitingContent, waitingContent } from "../../application/waiting-content.ts";
import {
  readWorkflowRun,
  requestedWorkflow,
  resumeAny,
  type SkippedAgent,
  skipAgent,
} from "../../application/workflow-runs.ts";
import type { Config } from "../../control/config.ts";
import { loadConfig } from "../../control/load-config.ts";
import { findPlaces } from "../../control/places.ts";
import type { ControlPlane } from "../../control/records/control-plane.ts";
import type { Principal, Role } from "../../control/records/principal.ts";
import type { ReplayedRun } from "../../delegations/replay/replay-run.ts";
import type { Interrupted } from "../../delegations/suspend/interrupt.ts";
import type { CheckReport } from "../../events/checker/check-report.ts";
import { isOpen, type OpenAsk, openAskOf } from "../../events/delegation.ts";
import type { EventType, StoredEvent } from "../../events/event.ts";
import { askWorkersOnce, isRunInterrupted } from "../../events/is-worked-on.ts";
import { openStore } from "../../open-store.ts";
import type { DelegationInfo, DelegationResult } from "../../ports/delegator.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { EventQuery } from "../../ports/store.ts";
import { createRuntime, type Runtime } from "../../runtime.ts";
import { infoOf } from "../../sessions/delegation-result.ts";
import { Inbox } from "../../sessions/inbox.ts";
import type { SentTo } from "../../sessions/send-message.ts";
import type { WorkflowView } from "../../sessions/workflow-view.ts";
import {
  type DelegationTools,
  delegationTools,
  librarySessions,
  type MandateSessions,
  resumeHandle,
  runHandle,
} from "./handles.ts";
import type {
  CommandAuthor,
  DelegationParameters,
  ForkOptions,
  Mandate,
  MandateOptions,
  ResumeHandle,
  ResumeOptions,
  RunHandle,
  RunResult,
  SendOptions,
  ToolSession,
  WorkflowParameters,
} from "./mandate.ts";
import {
  authorKeys,
  delegationKeys,
  diffKeys,
  discardKeys,
  eventKeys,
  forkKeys,
  mergeKeys,
  requireMandateOptions,
  resumeKeys,
  sendKeys,
  toolSessionKeys,
  verifyKeys,
  workflowKeys,
} from "./option-keys.ts";

export async function openMandate(options: MandateOptions): Promise<Mandate> {
  requireMandateOptions(options);
  const forks = new Forks();
  const { config: settings, ...rest } = options;
  const runtime = await createRuntime({
    application: "library",
    ...rest,
    ...(settings !== undefined && { config: await configOf(settings, options) }),
    // A program consents to a folder by naming it in a call.
    consent: "named",
    middleware: [...(options.middleware ?? []), forks.middleware],
  });
  const recovered =
    options.recover === false ? [] : await runtime.engine.recover(undefined, warnOfRefused);
  const { database, home } = findPlaces(options.environment ?? process.env);
  const { id, role } = options.principal ?? { id: "local", role: "operator" };
  // An unknown role has no rights.
  const principal = { id, role: role as Role };
  // The files of the home belong to its own database; for another database they are not verified.
  const verified = options.database === undefined ? { home, database } : null;
  return new LibraryMandate(runtime, recovered.map(runHandle), { forks, principal, verified });
}

async function configOf(
  settings: NonNullable<MandateOptions["config"]>,
  { cwd = process.cwd(), environment = process.env, flags = {} }: MandateOptions,
): Promise<Config> {
  return (await loadConfig({ cwd, environment, flags, settings })).own;
}

/** A damaged run must not keep a program from opening, so it only emits a warning. */
function warnOfRefused({ code, message }: MandateError): void {
  process.emitWarning(`An interrupted run could not be recovered: ${message}`, {
    type: "MandateWarning",
    code,
  });
}

function requireCount(name: string, value: number | undefined, least: number): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= least)) return;
  throw new MandateError("usage", `${name} must be a whole number from ${least} on, not ${value}.`);
}

/** A call's token budget, by its name or its older one. */
function tokensOf({
  maxTokens,
  maxTokenBudget,
}: Pick<DelegationParameters, "maxTokens" | "maxTokenBudget">): number | undefined {
  requireCount("maxTokens", maxTokens, 1);
  requireCount("maxTokenBudget", maxTokenBudget, 1);
  return maxTokens ?? maxTokenBudget;
}

function requireDollars(name: string, value: number | undefined): void {
  if (value === undefined || (Number.isFinite(value) && value > 0)) return;
  throw new MandateError("usage", `${name} must be US dollars, more than 0, not ${value}.`);
}

interface LibrarySurroundings {
  readonly forks: Forks;
  readonly principal: Principal;
  /** The home and its own database; null with another database. */
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

  async start(parameters: DelegationParameters): Promise<RunHandle> {
    return this.#start("start", parameters);
  }

  async #start(call: string, parameters: DelegationParameters): Promise<RunHandle> {
    requireKnownKeys(call, parameters, delegationKeys);
    const given = withoutEmptyFields(parameters, ["task"]);
    const { maxTokens: _, maxTokenBudget: __, isQueued, isGoal, ...others } = given;
    const { maxDepth, timeout, ...rest } = others;
    const asked = tokensOf(given);
    requireDollars("maxCost", given.maxCost);
    requireCount("timeout", timeout, 1);
    requireCount("maxDepth", maxDepth, 0);
    const { defaultTimeout, tokenBudget } = this.#runtime.config.agents.delegation;
    // The caller counts as the parent, so the run has the limits of a sub-agent.
    const own = this.#profileOf(given.profile ?? "")?.limits;
    const tokens = asked ?? own?.tokens ?? tokenBudget.default;
    const started = await this.#runtime.engine.startRun({
      ...rest,
      isGoal: isQueued ?? isGoal,
      maxDepth,
      maxTokens: Math.min(tokens, tokenBudget.max),
      timeoutMs: timeout ?? own?.timeoutMs ?? defaultTimeout,
    });
    return runHandle(started);
  }

  async runWorkflow(parameters: WorkflowParameters): Promise<RunHandle> {
    requireKnownKeys("runWorkflow", parameters, workflowKeys);
    const { maxCost, timeout, workspace, ...workflow } = parameters;
    requireDollars("maxCost", maxCost);
    requireCount("timeout", timeout, 1);
    const request = await requestedWorkflow(this.#runtime, workflow, workspace ?? null);
    const maxTokens = tokensOf(parameters);
    const limits = { maxCost, maxTokens, timeoutMs: timeout };
    const started = await this.#runtime.engine.startRun({ ...request, ...limits, workspace });
    return runHandle(started);
  }

  async getWorkflow(id: string): Promise<WorkflowView | null> {
    return (await readWorkflowRun(this.#runtime.store, id))?.view ?? null;
  }

  async skipAgent(id: string, key: string): Promise<SkippedAgent> {
    const found = await readWorkflowRun(this.#runtime.store, id);
    if (found === undefined) {
      throw new MandateError("unknown-run", `${id} carries out no workflow.`);
    }
    return skipAgent(this.#runtime, found, { key, reason: "skipped by its caller" });
  }

  /** The profile of a name or a handle. */
  #profileOf(name: string): Profile | undefined {
    const { control, profiles } = this.#runtime;
    const id = name.startsWith("@") ? (control.view.entry(name)?.profileId ?? "") : name;
    return profiles.get(id);
  }

  async delegate(parameters: DelegationParameters): Promise<RunResult> {
    return (await this.#start("delegate", parameters)).result;
  }

  async listActive(): Promise<readonly DelegationInfo[]> {
    const { store } = this.#runtime;
    const infos: DelegationInfo[] = [];
    const workers = askWorkersOnce(store);
    for (const row of await store.listRuns({ open: true, limit: 1000 })) {
      const run = await store.readRun(row.id);
      if (run === undefined) continue;
      const isInterrupted = await isRunInterrupted(store, run, workers);
      for (const delegation of run.delegations.values()) {
        if (isOpen(delegation)) infos.push(infoOf(run, delegation, isInterrupted));
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

  async send(id: string, message: string, options: SendOptions = {}): Promise<SentTo> {
    requireKnownKeys("send", options, sendKeys);
    return this.#runtime.engine.send(id, message, options.isTyped === true ? "person" : "caller");
  }

  interrupt(runId: string, reason = "interrupted by its caller"): Promise<Interrupted> {
    return this.#runtime.engine.interrupt(runId, reason);
  }

  getResult(delegationId: string): Promise<DelegationResult | null> {
    return this.#runtime.engine.resultOf(delegationId);
  }

  async resume(id: string, options: ResumeOptions = {}): Promise<ResumeHandle> {
    requireKnownKeys("resume", options, resumeKeys);
    const { maxCost, timeout: timeoutMs } = options;
    const maxTokens = tokensOf(options);
    requireDollars("maxCost", maxCost);
    requireCount("timeout", timeoutMs, 1);
    const limits = { maxTokens, maxCost, timeoutMs };
    const { workflow } = options;
    return resumeHandle(await resumeAny(this.#runtime, id, { limits, workflow }));
  }

  async replay(runId: string): Promise<ReplayedRun> {
    const { replay } = await import("../../application/replay.ts");
    const memory = await openStore({ database: ":memory:" });
    try {
      return await replay(this.#runtime.store, runId, memory);
    } finally {
      await memory.close();
    }
  }

  async fork(runId: string, options: ForkOptions): Promise<RunHandle> {
    requireKnownKeys("fork", options, forkKeys);
    return runHandle(await this.#forks.fork(this.#runtime, { runId, ...options }));
  }

  async diff(id: string, options: DiffOptions = {}): Promise<DelegationDiff> {
    requireKnownKeys("diff", options, diffKeys);
    return (await this.#keptWork()).diff(id, options);
  }

  async merge(id: string, options: MergeOptions = {}): Promise<MergedWork> {
    requireKnownKeys("merge", options, mergeKeys);
    const work = await this.#keptWork();
    return work.merge(id, this.#principal, this.#runtime, options);
  }

  async discard(id: string, options: DiscardKeptOptions = {}): Promise<DiscardedWork> {
    requireKnownKeys("discard", options, discardKeys);
    return (await this.#keptWork()).discard(id, this.#principal, options);
  }

  /** Loaded on demand: most programs do not need git. */
  async #keptWork(): Promise<KeptWork> {
    const module = await import("../../application/kept-work/kept-work.ts");
    // The copy of a delegation that has just failed may still be examined.
    await this.#runtime.settleCopies();
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

  attend(): () => void {
    return this.#runtime.attend();
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
    requireKnownKeys("events", query, eventKeys);
    return this.#runtime.store.readEvents(query);
  }

  async tools(session: ToolSession = {}): Promise<DelegationTools> {
    requireKnownKeys("tools", session, toolSessionKeys);
    this.#runtime.engine.requireModel();
    const opened = await this.#runtime.engine.openSession({
      client: session.client ?? "ai-sdk",
      workspace: session.workspace,
    });
    const tools = delegationTools(opened, this.#runtime.toolbox);
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

  async command(text: string, author: CommandAuthor): Promise<CommandReply> {
    requireKnownKeys("command", author, authorKeys);
    const { id, role, ...place } = author;
    const by = { id, role };
    const reply = await executeCommand(
      fromUser(text, by),
      commandContext(this.#runtime, by, place),
    );
    await this.#runtime.control.view.refresh();
    return reply;
  }

  async complete(prefix: string, author: CommandAuthor): Promise<readonly Candidate[]> {
    requireKnownKeys("complete", author, authorKeys);
    const { id, ...place } = author;
    return completeCommand(prefix, commandContext(this.#runtime, { id }, place));
  }

  hotkeys(): Hotkeys {
    return hotkeysOf(this.#runtime.profiles.all());
  }

  async verify(query: { readonly runId?: string } = {}): Promise<CheckReport> {
    requireKnownKeys("verify", query, verifyKeys);
    const { verifyHome } = await import("../../application/verify-home.ts");
    return verifyHome(this.#runtime.store, { places: this.#verified, ...query });
  }

  async close(): Promise<void> {
    for (const tools of this.#sessions) await tools.close();
    await this.#runtime.close();
  }
}
