import type { EventPayloads } from "../../events/event.ts";
import { isSessionName } from "../../sessions/session-workspace.ts";
import type { EngineParts } from "../engine-parts.ts";
import { openingAfter } from "../recovery/hydrate.ts";
import { carriedFrom } from "../start/carried.ts";
import type { RunGrant } from "../start/run-grant.ts";
import type { RunRequest, StartedRun } from "../start/run-request.ts";
import { type Start, startDelegation } from "../start/start-delegation.ts";
import { startWatchers, unfitWatcher } from "../watchers/start-watcher.ts";
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
    isConversation: isConversation(request),
    addresses: request.addresses,
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
    await run.execution.cancel(root, { code: "not_watchable", text: unwatched.reason });
    throw refusal(unwatched);
  }
  const starting = run.execution.start(root, {
    waitForTurn: () => {
      goals.hold(run);
      return goals.advance();
    },
    lose: () => runs.lose(run),
  });
  if (starting) await starting;
  const waits = run.isHeld && behind !== null;
  return {
    runId: run.id,
    delegationId: root.id,
    ...(waits && { behind }),
    /** A caller that asks for either waits for it; one that does not may leave before. */
    get answer() {
      return run.execution.awaited(root.process.end.whenAnswered());
    },
    get result() {
      return run.execution.awaited(result);
    },
  };
}

function isConversation({ command, isGoal, isTyped, ...request }: RunRequest): boolean {
  return request.isConversation ?? (isTyped === true && command === undefined && !isGoal);
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
