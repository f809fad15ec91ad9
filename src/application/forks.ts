import type { Engine } from "../delegations/engine.ts";
import type { EngineParts } from "../delegations/engine-parts.ts";
import type { Middleware } from "../delegations/middleware.ts";
import type { ForkRequest } from "../delegations/replay/plan-fork.ts";
import { TakenAnswers } from "../delegations/replay/taken-answers.ts";
import type { RunRequest, StartedRun } from "../ports/delegator.ts";
import type { Store } from "../ports/store.ts";

export type { ForkRequest };

/** What a fork needs of a runtime. */
export interface ForkingRuntime extends Pick<EngineParts, "toolbox"> {
  readonly engine: Engine;
  readonly store: Store;
}

export type ForkPlace = Pick<RunRequest, "by" | "isRealWorkspace" | "readOnly" | "session">;

/** A run that continues from the middle of another run. */
export interface ForkedRun extends StartedRun {
  /** How many turns of the old root agent it shares. */
  readonly turns: number;
  /** The last event that it shares, by its number in the run. */
  readonly sharedUpTo: number;
}

/** Forks of one runtime. Its `middleware` is the innermost when that is put together. */
export class Forks {
  readonly #taken = new TakenAnswers();

  get middleware(): Middleware {
    return this.#taken;
  }

  /** `place` says what a surface knows better than the old run: whose the new one is, and where. */
  async fork(
    runtime: ForkingRuntime,
    request: ForkRequest,
    place: ForkPlace = {},
  ): Promise<ForkedRun> {
    // Loaded when it is asked for: most runs are never forked.
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
