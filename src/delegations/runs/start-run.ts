import { withoutEmptyFields } from "../../agents/documents/without-empty.ts";
import { originsIn } from "../../contracts/addresses.ts";
import { intersectAuthority } from "../../contracts/authority.ts";
import type { Carried } from "../../contracts/exposure.ts";
import {
  grantIn,
  grantNamed,
  grantTo,
  namedOrigins,
  type RunGrant,
  type RunPrincipal,
} from "../../contracts/run-grant.ts";
import type { ConsentMode } from "../../control/folders/decide-consent.ts";
import {
  isHandle,
  refusal,
  resolveProfile,
  type Unresolved,
} from "../../control/records/resolve-profile.ts";
import type { EventPayloads } from "../../events/event.ts";
import { Evidence } from "../../events/seal.ts";
import type {
  DelegationResult,
  RequestedWorkspace,
  RunRequest,
  SessionRequest,
  StartedRun,
} from "../../ports/delegator.ts";
import { type Resumption, withoutWriting } from "../../sessions/resumption.ts";
import { isReadOnlySession, isSessionName } from "../../sessions/session-records.ts";
import { carriedBy, carriesUntrusted } from "../../tools/exposure-of.ts";
import { realFolder } from "../../workspaces/bind-workspace.ts";
import { noteWorkspace } from "../../workspaces/processes/agent-folders.ts";
import { requireUnused } from "../changes/take-over.ts";
import { DistributedExecution, workOf } from "../distributed/distributed-execution.ts";
import type { EngineParts } from "../engine-parts.ts";
import type { LiveDelegation } from "../live-delegation.ts";
import { LiveRun } from "../live-run.ts";
import { openingAfter } from "../recovery/hydrate.ts";
import { Session } from "../session.ts";
import { movedWorkspace, type Start } from "../start/placement.ts";
import { startDelegation } from "../start/start-delegation.ts";
import { startWatcher } from "../watchers.ts";
import { localExecution } from "../work.ts";
import type { EngineState } from "./live-runs.ts";

/** A request with every field filled in, and the most that its run may hold. */
interface RunOrder extends Pick<Start, "copy" | "system"> {
  /** `isClosedBySession`: read-only because its session is. */
  readonly request: RunRequest & { readonly isClosedBySession: boolean };
  readonly grant: RunGrant;
  /** A person approves every change before it reaches the workspace. */
  readonly isReviewed: boolean;
}

/** Starts a run with a root agent of its own; a goal waits for the goals before it. */
export async function startRun(own: EngineState, asked: RunRequest): Promise<StartedRun> {
  const { agents, store } = own.parts;
  const request = withoutEmptyFields(asked, ["task"]);
  const { agent, by, session } = request;
  const workspace = realWorkspace(request);
  await agents.refresh(isHandle(request));
  const grant = grantNamed(grantTo(own.grant, by), typedOrigins(request));
  const mode = await consentMode(own.parts, workspace, grant);
  let { profile } = request;
  if (profile === undefined && agent === undefined) {
    const user = grant.principal.id;
    const context = { session, user, ...(workspace !== null && { workspace }) };
    profile = (await agents.pinned(context))?.profileId;
  }
  const isClosed = request.readOnly === true || mode === "read-only";
  const isClosedBySession =
    !isClosed && session !== undefined && (await isReadOnlySession(store, session));
  const readOnly = isClosed || isClosedBySession;
  return start(own, {
    request: { ...request, profile, workspace, readOnly, isClosedBySession },
    grant: grantIn(grant, { workspace, readOnly }),
    isReviewed: mode === "copy",
  });
}

/** A new run on the conversation, and in the working copy, of a delegation that has ended. */
export async function startContinuation(
  own: EngineState,
  resumption: Resumption,
  by: RunPrincipal | undefined,
): Promise<StartedRun> {
  const grant = grantTo(own.grant, by);
  const mode = await consentMode(own.parts, resumption.request.workspace ?? null, grant);
  const { copy: copyId, ...next } = mode === "read-only" ? withoutWriting(resumption) : resumption;
  const { cost, held, isClosedBySession = false, request, system } = next;
  // The old contract is the most that the new run can hold, whatever its profile says today.
  const authority = {
    ...intersectAuthority(grant.authority, held),
    write_roots: held.write_roots,
  };
  const named = [...namedOrigins(held.ways_out), ...typedOrigins(request)];
  const order: RunOrder = {
    request: { ...request, isClosedBySession },
    grant: grantNamed({ ...grant, authority, cost }, named),
    isReviewed: mode === "copy",
    system,
  };
  if (copyId === undefined) return start(own, order);
  const copies = await own.parts.copies();
  return copies.holding(copyId, async () => {
    // An empty copy was removed: the run still works apart, and its changes are still reviewed.
    if (!copies.has(copyId)) return start(own, { ...order, copy: "new" });
    await requireUnused(own.parts.store, copyId);
    return start(own, { ...order, copy: copies.take(copyId) });
  });
}

/** Opens a run whose root is an agent that another program runs. */
export async function openSession(own: EngineState, request: SessionRequest): Promise<Session> {
  const { parts, runs } = own;
  const { client, requests, task = `Session of ${client}` } = request;
  const workspace = realWorkspace(request);
  const grant = grantTo(own.grant, request.by);
  const mode = await consentMode(parts, workspace, grant);
  const readOnly = request.readOnly === true || mode === "read-only";
  const held = grantIn(grant, { workspace, readOnly });
  const run = newRun(parts, {
    request: { ...request, workspace, task, readOnly },
    grant: {
      ...held,
      authority: {
        ...held.authority,
        tools: requests === undefined ? held.sessionTools : [],
        ...(requests?.network === false && { network: [] }),
      },
      // A session lasts as long as the other program holds it; its children have own deadlines.
      timeMs: Number.MAX_SAFE_INTEGER,
    },
    isReviewed: mode === "copy",
  });
  const { models = [], maxCost, maxTokens, timeoutMs } = requests ?? {};
  const { root } = await createRoot(own, {
    run,
    request: { task, maxCost, maxTokens, timeoutMs },
    way: "session",
    client,
    models,
    callId: null,
    outlivesProcess: request.outlivesProcess ?? false,
  });
  await runs.hold(run, root);
  return new Session(root);
}

async function start(own: EngineState, asked: RunOrder): Promise<StartedRun> {
  const { goals, parts, runs } = own;
  const order = withInput(asked);
  const { copy, request, system } = order;
  const { command, isGoal = false, resumedAt, resumedFrom, watchers = [] } = request;
  // The run is about what was asked: what came with it is for the agent alone.
  const run = newRun(parts, asked);
  const behind = isGoal ? await goals.lastOf(run.settings.workspace) : null;
  run.isHeld = isGoal;
  const unfit = unfitWatcher(run, watchers);
  if (unfit) throw refusal(unfit);
  const isTypedTask = request.isTyped === true && command === undefined && !isGoal;
  const { closed, root } = await createRoot(
    own,
    {
      run,
      request,
      way: "root",
      callId: command ?? null,
      copy,
      system,
      isConversation: request.isConversation ?? isTypedTask,
      addresses: request.addresses,
      ...(resumedFrom !== undefined && {
        opening: await openingAfter(parts, resumedFrom, request.task, resumedAt),
      }),
      carries: await carriedBefore(parts, request),
    },
    { ...sessionOf(request), ...(isGoal && { goal: { behind } }) },
  );
  const unwatched = await startWatchers(root, watchers);
  if (unwatched) {
    await run.execution.cancel(root, { code: "not_watchable", text: unwatched.reason });
    throw refusal(unwatched);
  }
  const isRemote = run.execution.isRemote(root);
  if (isRemote) {
    runs.lose(run);
    await parts.dispatcher?.dispatch(workOf(root));
  } else if (run.isHeld) {
    goals.hold(run);
    await goals.advance();
  }
  const waits = run.isHeld && behind !== null;
  return {
    runId: run.id,
    delegationId: root.id,
    ...(waits && { behind }),
    /** A caller that asks for either waits for it; one that does not may leave before. */
    get answer() {
      const answer = root.process.end.whenAnswered();
      return isRemote ? keepAlive(answer) : answer;
    },
    get result() {
      return isRemote ? keepAlive(closed) : closed;
    },
  };
}

/** Keeps this process alive until then: nothing else in it waits for what other processes work on. */
function keepAlive<Value>(awaited: Promise<Value>): Promise<Value> {
  const handle = setInterval(() => undefined, 3_600_000);
  return awaited.finally(() => clearInterval(handle));
}

function newRun(
  parts: EngineParts,
  { grant, isReviewed, request }: Pick<RunOrder, "grant" | "isReviewed"> & { request: RunRequest },
): LiveRun {
  const { dispatcher, limits, store } = parts;
  const settings = {
    id: store.newRunId(),
    task: request.task,
    workspace: request.workspace ?? null,
    tokens: request.budgetTokens ?? limits.runTokens,
    ownership: store.ownership,
    grant,
    readOnly: request.readOnly ?? false,
    isReviewed,
  };
  const execution = dispatcher === undefined ? localExecution : new DistributedExecution();
  return new LiveRun(parts, settings, execution);
}

type RootStart = Omit<Start, "before" | "caller" | "step"> & { readonly outlivesProcess?: boolean };

/** Writes the run and its root in one transaction. The process owns the run until its root closes. */
async function createRoot(
  { runs }: EngineState,
  { outlivesProcess = false, ...start }: RootStart,
  about: Pick<EventPayloads["run.started"], "session" | "goal"> = {},
): Promise<{ readonly root: LiveDelegation; readonly closed: Promise<DelegationResult> }> {
  const { run } = start;
  const { application, limits } = run.parts;
  const payload = {
    task: run.settings.task,
    application,
    workspace: run.settings.workspace,
    budget: { tokens: run.budget.tokens },
    ...about,
    ...run.execution.recorded.run(limits.maxChildren, outlivesProcess),
    ...run.settings.ownership,
  };
  const before = [{ type: "run.started" as const, payload }];
  const started = await startDelegation({
    ...start,
    caller: null,
    step: run.delegations.nextStep++,
    before,
  });
  if (!("agent" in started)) throw refusal(started);
  const closed = runs.add(run, started.agent);
  await started.created;
  return { root: started.agent, closed };
}

/** What a root begins with: its untrusted input, and what the delegation that it continues carries. */
async function carriedBefore(
  { store, toolbox }: EngineParts,
  { resumedFrom: delegationId, untrustedInput }: RunRequest,
): Promise<readonly Carried[]> {
  const given = untrustedInput === undefined ? [] : carriesUntrusted;
  if (delegationId === undefined) return given;
  const contract = await store.readContract(delegationId);
  const evidence = new Evidence();
  for await (const event of store.readEvents({ delegationId })) evidence.see(event);
  return [...new Set([...given, ...carriedBy(toolbox, contract, evidence)])];
}

/** The task with its untrusted input. The hosts that the person named were read from the task alone. */
function withInput({ request, ...order }: RunOrder): RunOrder {
  const { task, untrustedInput } = request;
  if (untrustedInput === undefined) return { ...order, request };
  return { ...order, request: { ...request, task: `${task}\n\n${untrustedInput}` } };
}

/** A process that recovers the run finds the session's mode in the log. */
function sessionOf({
  isClosedBySession,
  session,
}: RunOrder["request"]): Pick<EventPayloads["run.started"], "session"> {
  if (session === undefined || !isSessionName(session)) return {};
  return { session: { id: session, ...(isClosedBySession && { read_only: true as const }) } };
}

function typedOrigins({ isTyped, task }: RunRequest): readonly string[] {
  return isTyped ? originsIn(task) : [];
}

/**
 * Asked before anything is written: without consent there is no run. Programs are not looked up in
 * the folder of an agent, and a folder is an agent's from its consent on.
 */
async function consentMode(
  { consentTo }: EngineParts,
  workspace: string | null,
  { principal }: RunGrant,
): Promise<ConsentMode> {
  if (workspace === null) return "in-place";
  const mode = await consentTo(workspace, principal.id);
  noteWorkspace(workspace);
  return mode;
}

/** Links and relative paths are resolved before any contract names the folder. */
function realWorkspace({ isRealWorkspace, workspace }: RequestedWorkspace): string | null {
  if (workspace == null) return null;
  const root = realFolder(workspace);
  if (isRealWorkspace !== true || root === workspace) return root;
  throw movedWorkspace(workspace);
}

/** The first profile that cannot watch. Asked before the run exists, so that a refusal leaves none. */
function unfitWatcher(run: LiveRun, profiles: readonly string[]): Unresolved | undefined {
  for (const profile of profiles) {
    const found = resolveProfile(run.parts, { task: "watch", profile }, "watch");
    if (!("profile" in found)) return found;
  }
  return undefined;
}

/** Starts the watchers that a run's request names. A session that has closed by then needs none. */
async function startWatchers(
  watches: LiveDelegation,
  profiles: readonly string[],
): Promise<Unresolved | undefined> {
  for (const profile of profiles) {
    if (watches.process.end.isEnding) return undefined;
    const started = await startWatcher(watches, profile);
    if (!("agent" in started)) return started;
    try {
      await started.created;
    } catch (error) {
      if (!watches.process.end.isEnding) throw error;
    }
  }
  return undefined;
}
