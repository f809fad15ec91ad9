import { intersectAuthority } from "../contracts/authority.ts";
import { externalProvider, modelName } from "../contracts/contract.ts";
import { isPattern } from "../contracts/selection.ts";
import { isOpen } from "../events/delegation.ts";
import type { EventPayloads, NewEvent, StoredEvent } from "../events/event.ts";
import { isPaused } from "../events/run-state.ts";
import { answerAsk } from "../inbox/answer-ask.ts";
import type { CancelOutcome, DelegationResult } from "../ports/delegator.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { RunRow } from "../ports/store.ts";
import { resultOf } from "../sessions/delegation-result.ts";
import { isReadOnlySession, isSessionName } from "../sessions/session-workspace.ts";
import type { WorkingCopy } from "../workspaces/git/working-copy.ts";
import type { Agent } from "./agent.ts";
import { isWaitingGoal, type NoBranch, openBranch, workOnBranch } from "./branch.ts";
import { Branches, loseBranch } from "./branches.ts";
import { cancelLive } from "./cancel.ts";
import { cancelStored } from "./cancel-stored.ts";
import { carriedFrom } from "./carried.ts";
import { endWatcher } from "./close.ts";
import { unwritten } from "./conclude.ts";
import { type ContinueOptions, continuation } from "./continue-session.ts";
import type { EngineParts } from "./engine-parts.ts";
import { workOf } from "./enqueue.ts";
import { GoalQueue } from "./goal-queue.ts";
import { openingAfter } from "./hydrate.ts";
import { type Interrupted, interruptRoot } from "./interrupt.ts";
import { LiveRun } from "./live-run.ts";
import { recoverRun } from "./recover.ts";
import { canReachWorkspace } from "./remote-copy.ts";
import { isHandle } from "./resolve-profile.ts";
import { type Resumption, resumption } from "./resumption.ts";
import { grantTo, type RunGrant, type RunPrincipal } from "./run-grant.ts";
import {
  type RunRequest,
  realWorkspace,
  type SessionRequest,
  type StartedRun,
} from "./run-request.ts";
import { sendAgain } from "./send-again.ts";
import { Session } from "./session.ts";
import type { SessionLimits } from "./session-mode.ts";
import { startDelegation } from "./start-delegation.ts";
import { startWatcher, startWatchers, unfitWatcher } from "./start-watcher.ts";
import { retireCopy } from "./take-over.ts";
import { event } from "./take-turn.ts";
import { requireUnused, tidyCopies } from "./used-copies.ts";
import { isWatcher, watchersOf } from "./watch.ts";

/** Works on the runs of this process: starts them, takes them up after a crash, ends them. */
export class Engine {
  readonly #parts: EngineParts;
  readonly #grant: RunGrant;
  readonly #runs = new Map<string, LiveRun>();
  /** Another process works on them now; who started them here still wants to know how they end. */
  readonly #lost = new Map<string, LiveRun>();
  readonly #takingUp = new Set<string>();
  readonly #branches = new Branches();
  /** The delegations of spread runs that this process has claimed, or is about to. */
  readonly #atWorkOn = new Set<string>();
  readonly #goals: GoalQueue;
  readonly #idleWatch: NodeJS.Timeout;
  readonly #unsubscribe: () => void;

  constructor(parts: EngineParts, grant: RunGrant) {
    this.#parts = parts;
    this.#grant = grant;
    this.#goals = new GoalQueue(parts.store);
    this.#unsubscribe = parts.store.subscribe((events) => this.#hear(events));
    this.#idleWatch = setInterval(() => {
      this.#stopIdle();
      // Whoever worked on the goal before may have died.
      void this.#goals.advance();
    }, 1000).unref();
  }

  /** Starts a run with a root agent of its own. Refusals are thrown: there is no log yet to hold them. */
  async startRun(request: RunRequest): Promise<StartedRun> {
    const workspace = realWorkspace(request);
    await this.#parts.agents.refresh(isHandle(request));
    const profile = request.profile ?? (await this.#pinned(request, workspace));
    const { session } = request;
    const isClosedBySession =
      request.readOnly !== true &&
      session !== undefined &&
      (await isReadOnlySession(this.#parts.store, session));
    const readOnly = request.readOnly === true || isClosedBySession;
    const grant = grantIn(grantTo(this.#grant, request.by), workspace, readOnly);
    return this.#start({ ...request, profile, workspace, readOnly, isClosedBySession }, grant);
  }

  /** The profile that the nearest scope has pinned, for those who name none. */
  async #pinned(request: RunRequest, workspace: string | null): Promise<string | undefined> {
    if (request.agent !== undefined) return undefined;
    const { session } = request;
    const user = request.by?.id ?? this.#grant.principal.id;
    const context = { session, user, ...(workspace !== null && { workspace }) };
    return (await this.#parts.agents.pinned(context))?.profileId;
  }

  async #start(
    request: RunRequest & Pick<Resumption, "isClosedBySession">,
    grant: RunGrant,
    system?: string,
    copy?: WorkingCopy | "new",
  ): Promise<StartedRun> {
    const run = this.#newRun(request, grant);
    const behind = request.isGoal ? await this.#goals.lastOf(run.workspace) : null;
    run.isHeld = request.isGoal === true;
    const { watchers = [] } = request;
    const unfit = unfitWatcher(run, watchers);
    if (unfit) throw refusal(unfit);
    const opening =
      request.resumedFrom &&
      (await openingAfter(this.#parts, request.resumedFrom, request.task, request.resumedAt));
    const started = await startDelegation({
      run,
      caller: null,
      request,
      way: "root",
      callId: request.command ?? null,
      step: run.steps++,
      copy,
      before: [
        this.#runStarted(run, {
          ...sessionOf(request),
          ...(request.isGoal && { goal: { behind } }),
        }),
      ],
      opening: opening || undefined,
      carries:
        request.resumedFrom === undefined
          ? undefined
          : await carriedFrom(this.#parts, request.resumedFrom),
      system,
    });
    if (!("agent" in started)) throw refusal(started);
    this.#runs.set(run.id, run);
    const result = started.agent.whenClosed();
    void result.then(() => this.#runs.delete(run.id));
    await started.created;
    const unwatched = await startWatchers(started.agent, watchers);
    if (unwatched) {
      await cancelLive(started.agent, `It cannot be watched: ${unwatched.reason}`);
      throw refusal(unwatched);
    }
    if (run.isSpread) await this.#send(run, started.agent);
    else if (run.isHeld) {
      this.#goals.hold(run);
      await this.#goals.advance();
    }
    const waits = run.isHeld && behind !== null;
    return { runId: run.id, delegationId: started.agent.id, result, ...(waits && { behind }) };
  }

  /** Whoever has room works on it; here it is only waited for. */
  async #send(run: LiveRun, root: Agent): Promise<void> {
    this.#lose(run);
    await this.#parts.dispatcher?.dispatch(workOf(root));
    // Somebody may have ended it before it was sent.
    await this.#closedElsewhere(root);
  }

  /** The agent of another program stays where that program is; those below it need not. */
  async #keepRoot(run: LiveRun, root: Agent): Promise<void> {
    run.here = root;
    run.state = (await this.#parts.store.readRun(run.id)) ?? null;
    this.#branches.add(run);
  }

  /**
   * Works on one delegation of a run that is spread, until it has ended, or is its caller's to take
   * over, or another worker has it. "busy": another has it already. "unfit": it needs a model, a
   * tool or a folder that is missing here; as a last resort it is taken all the same, and ends.
   */
  async workOn(
    runId: string,
    delegationId: string,
    isLastResort = false,
  ): Promise<NoBranch | "unfit"> {
    if (!isLastResort && !(await this.#canWorkOn(runId, delegationId))) return "unfit";
    // Two of this process would present the same claim.
    if (this.#atWorkOn.has(delegationId)) return "busy";
    this.#atWorkOn.add(delegationId);
    try {
      return await this.#workOnBranch(runId, delegationId);
    } finally {
      this.#atWorkOn.delete(delegationId);
    }
  }

  async #workOnBranch(runId: string, delegationId: string): Promise<NoBranch> {
    let opened: LiveRun | undefined;
    try {
      const run = await openBranch(this.#parts, this.#grant, runId, delegationId, (one) => {
        opened = one;
        this.#branches.add(one);
      });
      if (typeof run === "string") return run;
      // Now it is known where it works.
      this.#branches.add(run);
      if (run.state !== null && isWaitingGoal(run, run.state)) this.#goals.hold(run);
      await workOnBranch(run);
      if (run.isHeld) await this.#goals.advance();
      await run.left.promise;
      return run.lost ? "busy" : "done";
    } finally {
      if (opened !== undefined) this.#branches.remove(opened);
    }
  }

  /**
   * Opens a run for an agent that Mandate does not run itself: its calls of our tools pass the same
   * gate, under a contract of its own, and what it delegates is below it in the tree.
   */
  async openSession(request: SessionRequest): Promise<Session> {
    const task = request.task ?? `Session of ${request.client}`;
    // It lasts as long as the other program holds it; its children have deadlines of their own.
    const workspace = realWorkspace(request);
    const held = grantIn(grantTo(this.#grant, request.by), workspace, request.readOnly);
    const run = this.#newRun(
      { ...request, workspace, task },
      {
        ...held,
        authority: { ...held.authority, tools: held.sessionTools },
        timeMs: Number.MAX_SAFE_INTEGER,
      },
    );
    const started = await startDelegation({
      run,
      caller: null,
      request: { task },
      way: "session",
      step: run.steps++,
      client: request.client,
      callId: null,
      before: [this.#runStarted(run)],
    });
    if (!("agent" in started)) throw refusal(started);
    this.#runs.set(run.id, run);
    void started.agent.whenClosed().then(() => {
      this.#runs.delete(run.id);
      this.#branches.remove(run);
    });
    await started.created;
    if (run.isSpread) await this.#keepRoot(run, started.agent);
    return new Session(started.agent);
  }

  /**
   * Takes up every run of this application whose worker is gone, or only the one that is named; one
   * that is paused only when it is named. A run that needs a model or a tool that is missing here
   * stays as it is, for a process that has them.
   */
  async recover(
    only?: string,
    onRefused: (error: MandateError) => void = rethrow,
  ): Promise<readonly StartedRun[]> {
    const { store, application } = this.#parts;
    await tidyCopies(this.#parts);
    const recovered: StartedRun[] = [];
    const refused: MandateError[] = [];
    for (const row of await store.listRuns({ open: true, application, limit: 10_000 })) {
      if (only !== undefined && row.id !== only) continue;
      try {
        const run = await this.#recoverOne(row, only);
        if (run !== undefined) recovered.push(run);
      } catch (error) {
        // One whose log was damaged is nothing to the others.
        if (!(error instanceof MandateError)) throw error;
        refused.push(error);
      }
    }
    await this.#goals.advance();
    for (const error of refused) onRefused(error);
    return recovered;
  }

  async #recoverOne(row: RunRow, only: string | undefined): Promise<StartedRun | undefined> {
    const state = await this.#parts.store.readRun(row.id);
    if (state?.spread) return sendAgain(this.#parts, state);
    if (!(await this.#isLeft(row, only)) || !(await this.#canWorkOn(row.id))) return undefined;
    const run = await this.#takeUp(row.id);
    if (run === undefined) return undefined;
    this.#runs.set(run.id, run);
    if (run.isHeld) this.#goals.hold(run);
    const root = run.root ?? run.topLevel[0];
    if (root === undefined) return undefined;
    const result = root.whenClosed();
    void result.then(() => this.#runs.delete(run.id));
    return { runId: run.id, delegationId: root.id, result };
  }

  /** Has everything of spread runs worked on that nobody works on any more. */
  async sendLost(): Promise<void> {
    const { store } = this.#parts;
    for (const { id } of await store.listRuns({ open: true, limit: 1000 })) {
      const state = await store.readRun(id);
      if (state?.spread) await sendAgain(this.#parts, state);
    }
  }

  /** Whether nobody works on a run, and nobody has said that it shall rest. */
  async #isLeft({ id, worker }: RunRow, named: string | undefined): Promise<boolean> {
    const { store } = this.#parts;
    const run = await store.readRun(id);
    if (run !== undefined && isPaused(run)) return named === id;
    return !(await store.isWorkerAlive(worker));
  }

  /** Two who resume the same run in this process would both own it. */
  async #takeUp(runId: string): Promise<LiveRun | undefined> {
    if (this.#takingUp.has(runId)) return undefined;
    this.#takingUp.add(runId);
    try {
      const before = this.#runs.get(runId);
      if (before) this.#lose(before);
      return await recoverRun(this.#parts, runId, this.#grant);
    } finally {
      this.#takingUp.delete(runId);
    }
  }

  /**
   * The caller of a run that this process works on stops. The run's root takes no further turn; what
   * becomes of those to whom it delegated is in the contract of each. To end all of it, cancel it.
   */
  async interrupt(id: string, reason: string): Promise<Interrupted> {
    const { store } = this.#parts;
    const runId = (await store.findRun(id)) ?? id;
    const run = this.#runs.get(runId);
    const { root } = run ?? {};
    if (root == null) {
      const settled = Promise.resolve();
      const state = await store.readRun(runId);
      if (state && isPaused(state)) return { outcome: "paused", settled };
      if (state && state.outcome !== null) return { outcome: "already_terminal", settled };
      if (state?.spread) {
        const told = `Run ${runId} is spread over workers, where nobody can have it rest. To end it: mandate cancel ${runId}`;
        throw new MandateError("usage", told);
      }
      throw new MandateError("unknown-run", `Nothing that works here is called ${id}.`);
    }
    if (id === run?.id || id === root.id) return interruptRoot(root, reason);
    const told = `${id} works for another agent, which alone can be interrupted with all that it does: run ${run?.id}. To end ${id}, cancel it.`;
    throw new MandateError("usage", told);
  }

  async cancel(id: string, reason: string): Promise<CancelOutcome> {
    const { store } = this.#parts;
    const runId = await store.findRun(id);
    if (runId === undefined) return "not_found";
    const live = this.#runs.get(runId);
    const agent = live?.agents.get(id) ?? (id === runId ? live?.root : undefined);
    if (agent) return cancelLive(agent, reason);
    return cancelStored(store, this.#parts.toolbox, runId, id, reason);
  }

  /** True when this answer was the one that counted. */
  async answer(askId: string, text: string): Promise<boolean> {
    return (await answerAsk(this.#parts.store, askId, text)).accepted;
  }

  /** Continues a delegation that was cancelled or failed: a new run on the old conversation. */
  async resume(id: string, by?: RunPrincipal, limits?: SessionLimits): Promise<StartedRun> {
    return this.#goOn(await resumption(this.#parts.store, id, limits), by);
  }

  /** The person's next message to a root agent that has ended: a new run on the conversation so far. */
  async continueSession(
    id: string,
    message: string,
    options?: ContinueOptions,
  ): Promise<StartedRun> {
    return this.#goOn(await continuation(this.#parts.store, id, message, options), options?.by);
  }

  async #goOn(
    { copy: copyId, held, cost, system, ...asked }: Resumption,
    by: RunPrincipal | undefined,
  ): Promise<StartedRun> {
    const grant = grantTo(this.#grant, by);
    // What it held then is the most it can hold now, whatever its profile says today.
    const authority = {
      ...intersectAuthority(grant.authority, held),
      write_roots: held.write_roots,
    };
    const request = { ...asked.request, isClosedBySession: asked.isClosedBySession === true };
    const start = (copy?: WorkingCopy | "new") =>
      this.#start(request, { ...grant, authority, cost }, system, copy);
    if (copyId === undefined) return start();
    const copies = await this.#parts.copies();
    return copies.holding(copyId, async () => {
      // Gone, for it held nothing: it still works apart, and what it makes is still looked at.
      if (!copies.has(copyId)) return start("new");
      await requireUnused(this.#parts.store, copyId);
      return start(copies.take(copyId));
    });
  }

  /** Whether this process has what the open delegations of a run need, or the one that is named. */
  async #canWorkOn(runId: string, only?: string): Promise<boolean> {
    const { store, models, toolbox } = this.#parts;
    const run = await store.readRun(runId);
    for (const delegation of run?.delegations.values() ?? []) {
      if (!isOpen(delegation) || (only !== undefined && delegation.id !== only)) continue;
      try {
        const contract = await store.readContract(delegation.id);
        const { allowed_tools: tools } = contract.permissions;
        // The tools of servers are found when they are opened.
        const isMissing = (tool: string) => !isPattern(tool) && !tool.startsWith("mcp__");
        if (tools.some((tool) => isMissing(tool) && toolbox.get(tool) === undefined)) return false;
        if (contract.model.provider !== externalProvider) models.resolve(modelName(contract));
        if (only === undefined || run === undefined) continue;
        if (!(await canReachWorkspace(this.#parts, run, delegation, contract))) return false;
      } catch (error) {
        // A contract that cannot be trusted is for recovery to end; a missing key is not.
        if (!(error instanceof MandateError) || error.code !== "contract-invalid") return false;
      }
    }
    return true;
  }

  async resultOf(id: string): Promise<DelegationResult | null> {
    const { store } = this.#parts;
    const runId = await store.findRun(id);
    const run = runId === undefined ? undefined : await store.readRun(runId);
    if (run === undefined) return null;
    const root = [...run.delegations.values()].find(({ parentId }) => parentId === null);
    return resultOf(run, id === runId ? (root?.id ?? "") : id);
  }

  /**
   * Has a session watched: the root agent's of a run that this process works on, or another's of
   * that run. Gives the watcher's id.
   */
  async watch(id: string, profile: string): Promise<string> {
    const started = await startWatcher(await this.#atWork(id), profile);
    if (!("agent" in started)) throw refusal(started);
    await started.created;
    return started.agent.id;
  }

  /** Ends the watchers of that profile; the session that they watched goes on. Gives their ids. */
  async unwatch(id: string, profile: string): Promise<readonly string[]> {
    const watchers = watchersOf(await this.#atWork(id), profile);
    await Promise.all(watchers.map(endWatcher));
    return watchers.map((one) => one.id);
  }

  /** The ids of those of that profile who watch a session here. */
  async watchersOf(id: string, profile: string): Promise<readonly string[]> {
    return watchersOf(await this.#atWork(id), profile).map((one) => one.id);
  }

  /** Of a run: its root. */
  async #atWork(id: string): Promise<Agent> {
    const runId = (await this.#parts.store.findRun(id)) ?? id;
    const run = this.#runs.get(runId);
    // Of a run that is spread, each branch is at work on one of its agents, and on who watches that.
    const inBranch = this.#branches.all
      .flatMap((one) => (id === one.id ? one.root : one.agents.get(id)) ?? [])
      .find((one) => one.run.here === one || isWatcher(one));
    const agent = inBranch ?? run?.agents.get(id) ?? run?.root;
    if (agent && !agent.isEnding) return agent;
    throw new MandateError("unknown-run", `Nothing that works here is called ${id}.`);
  }

  /** A sentence for an agent that works here, about what is around it. */
  tell(delegationId: string, message: string): void {
    for (const run of this.liveRuns) {
      const agent = run.agents.get(delegationId);
      if (run.isSpread && run.here !== agent) continue;
      if (agent === undefined || agent.isEnding || agent.stopReason !== null) continue;
      if (agent.suspension !== null) continue;
      agent.record(event(agent, "agent.interjected", { from: "mcp", severity: "info", message }));
    }
  }

  get liveRuns(): readonly LiveRun[] {
    return [...this.#runs.values(), ...this.#branches.all];
  }

  close(): void {
    clearInterval(this.#idleWatch);
    this.#unsubscribe();
    const closed = new MandateError("closed", "This process stopped; its runs go on elsewhere.");
    // Nobody who waits here would hear of their ends.
    for (const { isSpread, root } of this.#lost.values()) {
      if (isSpread && root !== null) root.closed(unwritten(root, closed));
    }
    for (const run of this.#branches.all) loseBranch(run);
  }

  #newRun(request: RunRequest, grant: RunGrant): LiveRun {
    const { limits, store } = this.#parts;
    return new LiveRun(this.#parts, {
      id: store.newRunId(),
      task: request.task,
      workspace: request.workspace ?? null,
      tokens: request.budgetTokens ?? limits.runTokens,
      ownership: store.ownership,
      grant,
      readOnly: request.readOnly ?? false,
      isSpread: this.#parts.dispatcher !== undefined,
    });
  }

  #runStarted(run: LiveRun, about: Pick<RunStarted, "session" | "goal"> = {}): NewEvent {
    return {
      type: "run.started",
      payload: {
        task: run.task,
        application: this.#parts.application,
        workspace: run.workspace,
        budget: { tokens: run.account.cap },
        ...about,
        ...(run.isSpread && { spread: { delegations: this.#parts.limits.maxChildren } }),
        ...run.ownership,
      },
    };
  }

  /** Answers, and ends that other processes wrote, reach the agents they are about. */
  #hear(events: readonly StoredEvent[]): void {
    for (const event of events) {
      this.#branches.hear(event);
      if (event.type === "agent.answered") {
        const { ask_id: askId, answer, by } = event.payload;
        const resolve = this.#runs.get(event.run_id)?.asks.get(askId);
        resolve?.(
          answer === null || by === "expired"
            ? { answered: false }
            : { answered: true, answer, by },
        );
      } else if (event.type === "agent.subagent_closed") {
        const run = this.#runs.get(event.run_id);
        const agent = run?.agents.get(event.payload.sub_agent_id);
        if (agent && !agent.isEnding && !run?.isSpread) void this.#endedElsewhere(agent);
        const lost = this.#lost.get(event.run_id)?.agents.get(event.payload.sub_agent_id);
        if (lost) void this.#closedElsewhere(lost);
      } else if (event.type === "agent.paused") {
        const run = this.#runs.get(event.run_id);
        // It rests: what is in memory is of no use, and who resumes it starts from the log.
        if (run?.root?.isInterrupted && run.root.id === event.sub_agent_id) this.#lose(run);
      } else if (event.type === "run.finished") {
        void this.#goals.advance();
      } else if (event.type === "run.resumed") {
        const run = this.#runs.get(event.run_id);
        if (run && event.payload.worker !== run.ownership.worker) this.#lose(run);
      }
    }
  }

  async #endedElsewhere(agent: Agent): Promise<void> {
    agent.isEnding = true;
    agent.account.settle(agent.reservation, agent.reservation, 0);
    agent.reservation = 0;
    agent.stop("cancelled", "It was ended from outside.");
    await this.#closedElsewhere(agent);
  }

  async #closedElsewhere(agent: Agent): Promise<void> {
    const state = await this.#parts.store.readRun(agent.run.id);
    const result = state && resultOf(state, agent.id);
    if (result === undefined || result === null) return;
    agent.closed(result);
    if (!agent.run.lost) retireCopy(agent);
  }

  /** Another process owns the run now: what is in memory here no longer means anything. */
  #lose(run: LiveRun): void {
    run.lost = true;
    this.#runs.delete(run.id);
    const before = this.#lost.get(run.id);
    this.#lost.set(run.id, run);
    void run.root?.whenClosed().then((result) => {
      before?.root?.closed(result);
      if (this.#lost.get(run.id) === run) this.#lost.delete(run.id);
    });
    for (const agent of run.agents.values()) {
      if (agent.isEnding) continue;
      agent.isEnding = true;
      agent.stop("worker_lost", "Another process works on this run now.");
    }
    run.stir();
  }

  #stopIdle(): void {
    const now = this.#parts.clock.monotonic();
    for (const run of this.liveRuns) {
      for (const agent of run.agents.values()) {
        if (!agent.hasSlot || agent.lastActivity === 0) continue;
        const { idle } = agent.contract.deadlines;
        if (now - agent.lastActivity > idle)
          agent.stop("timeout", `Nothing happened for ${idle} ms.`);
      }
    }
  }
}

type RunStarted = EventPayloads["run.started"];

/** So that whoever goes on with the run finds the session's mode. */
function sessionOf({
  isClosedBySession,
  session,
}: Pick<RunRequest & Resumption, "isClosedBySession" | "session">): Pick<RunStarted, "session"> {
  if (session === undefined || !isSessionName(session)) return {};
  return { session: { id: session, ...(isClosedBySession && { read_only: true as const }) } };
}

/** A workspace brings the right to write in it; without one there is nothing to write. */
function grantIn(grant: RunGrant, workspace: string | null, readOnly?: boolean): RunGrant {
  const roots = workspace === null || readOnly ? [] : [workspace];
  return { ...grant, authority: { ...grant.authority, write_roots: roots } };
}

function refusal(refused: { readonly rule: string; readonly reason: string }): MandateError {
  if (refused.rule === "task")
    return new MandateError("task-required", "A run needs a task: say what is to be done.");
  const sentence = `${refused.reason.replace(/^unknown/, "There is no")}.`;
  if (refused.rule === "profile") return new MandateError("unknown-profile", sentence);
  if (refused.rule === "agent") return new MandateError("unknown-agent", sentence);
  return new MandateError("refused-by-policy", refused.reason);
}

function rethrow(error: MandateError): never {
  throw error;
}
