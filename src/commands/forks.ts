import type { Engine, StartedRun } from "../delegations/engine.ts";
import type { ProfileSource } from "../delegations/engine-parts.ts";
import type { Store } from "../ports/store.ts";
import type { Tool } from "../tools/tool.ts";
import type { ForkRequest } from "../workflows/replay/plan-fork.ts";
import { ReusedResults } from "../workflows/replay/reused-results.ts";

export type { ForkRequest };

/** What a fork needs of a runtime. */
export interface ForkingRuntime {
  readonly engine: Engine;
  readonly store: Store;
  readonly profiles: Pick<ProfileSource, "get">;
}

/** A run that goes on from the middle of another one. */
export interface ForkedRun extends StartedRun {
  /** How many turns of the old root agent it shares. */
  readonly turns: number;
  /** The last event that it shares. */
  readonly sharedUpTo: number;
}

/** Forks of one runtime. `around` belongs around its tools when it is put together. */
export class Forks {
  readonly #reused = new ReusedResults();

  get around(): (tool: Tool) => Tool {
    return this.#reused.around;
  }

  async fork(runtime: ForkingRuntime, request: ForkRequest): Promise<ForkedRun> {
    // Loaded when it is asked for: most runs are never forked.
    const { planFork } = await import("../workflows/replay/plan-fork.ts");
    const { request: asked, sharedUpTo, turns } = await planFork(runtime.store, request);
    this.#reused.begin(runtime);
    const { resumedAt, resumedFrom } = asked;
    if (resumedFrom !== undefined && resumedAt !== undefined) {
      this.#reused.expect(resumedFrom, resumedAt, request.at);
    }
    return { ...(await runtime.engine.startRun(asked)), turns, sharedUpTo };
  }
}
