/** Replay, comparison and fork of recorded runs. What they need is loaded when it is used. */
import type { Engine } from "../delegations/engine.ts";
import type { EngineParts } from "../delegations/engine-parts.ts";
import type { Middleware } from "../delegations/middleware.ts";
import type { RunDifference } from "../delegations/replay/compare-runs.ts";
import type { ForkRequest } from "../delegations/replay/plan-fork.ts";
import type { ReplayedRun } from "../delegations/replay/replay-run.ts";
import { TakenAnswers } from "../delegations/replay/taken-answers.ts";
import type { StoredEvent } from "../events/event.ts";
import type { RunRequest, StartedRun } from "../ports/delegator.ts";
import type { Store } from "../ports/store.ts";

/** Replays a recorded run from its log alone; `memory` is an empty store that receives the replay. */
export async function replay(store: Store, runId: string, memory: Store): Promise<ReplayedRun> {
  const { replayRun } = await import("../delegations/replay/replay-run.ts");
  return replayRun(store, runId, memory);
}

/** The first difference of each delegation between two recorded runs. */
export async function compareStoredRuns(
  store: Store,
  one: string,
  other: string,
): Promise<readonly RunDifference[]> {
  const { compareRuns } = await import("../delegations/replay/compare-runs.ts");
  const names = [`run ${one}`, `run ${other}`] as const;
  return compareRuns(await eventsOf(store, one), await eventsOf(store, other), { names });
}

async function eventsOf(store: Store, runId: string): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const event of store.readEvents({ runId })) events.push(event);
  return events;
}

/** What a fork needs of a runtime. */
interface ForkingRuntime extends Pick<EngineParts, "toolbox"> {
  readonly engine: Engine;
  readonly store: Store;
}

export type ForkPlace = Pick<RunRequest, "by" | "isRealWorkspace" | "readOnly" | "session">;

/** A run that continues from the middle of another run. */
interface ForkedRun extends StartedRun {
  /** How many turns of the old root agent the new run shares. */
  readonly turns: number;
  /** The number of the last event that both runs share. */
  readonly sharedUpTo: number;
}

/** Forks of one runtime. Its `middleware` has to be the innermost. */
export class Forks {
  readonly #taken = new TakenAnswers();

  get middleware(): Middleware {
    return this.#taken;
  }

  /** `place` is what the surface knows of the new run: its principal, session and workspace. */
  async fork(
    runtime: ForkingRuntime,
    request: ForkRequest,
    place: ForkPlace = {},
  ): Promise<ForkedRun> {
    const { planFork } = await import("../delegations/replay/plan-fork.ts");
    const { reach, request: asked, sharedUpTo, turns } = await planFork(runtime.store, request);
    this.#taken.begin(runtime.store, (name) => runtime.toolbox.get(name));
    const { resumedAt, resumedFrom } = asked;
    if (resumedFrom !== undefined && resumedAt !== undefined) {
      this.#taken.expect(resumedFrom, resumedAt, reach);
    }
    const started = await runtime.engine.startRun({ ...asked, ...place });
    return { ...started, turns, sharedUpTo };
  }
}
