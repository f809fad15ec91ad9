import type { EventPayloads } from "../../events/event.ts";
import { isSessionName } from "../../sessions/session-workspace.ts";
import type { Agent } from "../agent.ts";
import { cancelLive } from "../ends/cancel.ts";
import type { EngineParts } from "../engine-parts.ts";
import { workOf } from "../enqueue.ts";
import { openingAfter } from "../recovery/hydrate.ts";
import { keepAlive } from "../spread/keep-alive.ts";
import { carriedFrom } from "../start/carried.ts";
import type { RunGrant } from "../start/run-grant.ts";
import type { RunRequest, StartedRun } from "../start/run-request.ts";
import { type Start, startDelegation } from "../start/start-delegation.ts";
import { startWatchers, unfitWatcher } from "../watchers/start-watcher.ts";
import { closedElsewhere } from "./ended-elsewhere.ts";
import type { GoalQueue } from "./goal-queue.ts";
import type { LiveRuns } from "./live-runs.ts";
import { newRun, runStarted } from "./new-run.ts";
import { refusal } from "./refusal.ts";

export interface RunStarting {
  readonly parts: EngineParts;
  readonly runs: LiveRuns;
  readonly goals: GoalQueue;
}

/** A request that leaves nothing open, and the most that its run may hold. */
export interface RunOrder extends Pick<Start, "copy" | "system"> {
  readonly request: OrderedRequest;
  readonly grant: RunGrant;
  /** A person approves every change before it reaches the workspace. */
  readonly isReviewed: boolean;
}

interface OrderedRequest extends RunRequest {
  /** It may not write for its session's sake alone. */
  readonly isClosedBySession: boolean;
}

/** Starts a run with a root agent of its own, as soon as goals before it let it. */
export async function startRun(
  { goals, parts, runs }: RunStarting,
  { copy, grant, isReviewed, request, system }: RunOrder,
): Promise<StartedRun> {
  const run = newRun(parts, request, grant, isReviewed);
  const behind = request.isGoal ? await goals.lastOf(run.workspace) : null;
  run.isHeld = request.isGoal === true;
  const { watchers = [] } = request;
  const unfit = unfitWatcher(run, watchers);
  if (unfit) throw refusal(unfit);
  const about = { ...sessionOf(request), ...(request.isGoal && { goal: { behind } }) };
  const started = await startDelegation({
    ...(await beginningOf(parts, request)),
    run,
    caller: null,
    request,
    way: "root",
    callId: request.command ?? null,
    step: run.steps++,
    copy,
    before: [runStarted(run, about)],
    system,
  });
  if (!("agent" in started)) throw refusal(started);
  const { agent: root, created } = started;
  const result = runs.add(run, root);
  await created;
  const unwatched = await startWatchers(root, watchers);
  if (unwatched) {
    await cancelLive(root, `It cannot be watched: ${unwatched.reason}`);
    throw refusal(unwatched);
  }
  if (run.isSpread) await send(root, runs);
  else if (run.isHeld) {
    goals.hold(run);
    await goals.advance();
  }
  const waits = run.isHeld && behind !== null;
  return {
    runId: run.id,
    delegationId: root.id,
    ...(waits && { behind }),
    /** Who asks for it waits for it; who does not may leave before it is there. */
    get result() {
      return run.isSpread ? keepAlive(result) : result;
    },
  };
}

/** What one begins with that goes on from a stored delegation. */
async function beginningOf(
  parts: EngineParts,
  { resumedAt, resumedFrom, task }: RunRequest,
): Promise<Pick<Start, "opening" | "carries">> {
  if (resumedFrom === undefined) return {};
  return {
    opening: await openingAfter(parts, resumedFrom, task, resumedAt),
    carries: await carriedFrom(parts, resumedFrom),
  };
}

/** So that whoever goes on with the run finds the session's mode. */
function sessionOf({
  isClosedBySession,
  session,
}: OrderedRequest): Pick<EventPayloads["run.started"], "session"> {
  if (session === undefined || !isSessionName(session)) return {};
  return { session: { id: session, ...(isClosedBySession && { read_only: true as const }) } };
}

/** Whoever has room works on it; here it is only waited for. */
async function send(root: Agent, runs: LiveRuns): Promise<void> {
  runs.lose(root.run);
  await root.run.parts.dispatcher?.dispatch(workOf(root));
  // Somebody may have ended it before it was sent.
  await closedElsewhere(root);
}
