import type { StoredEvent } from "../../events/event.ts";
import type { DelegationResult } from "../../ports/delegator.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { failedResult, unwrittenBy } from "../ends/conclude.ts";
import type { LiveDelegation } from "../live-delegation.ts";
import type { LiveRun } from "../live-run.ts";
import { closedElsewhere, endedElsewhere } from "./ended-elsewhere.ts";

/**
 * The runs that this process owns, and those that it lost to another. What others write about them,
 * answers and ends, reaches them by the log.
 */
export class LiveRuns {
  readonly #owned = new Map<string, LiveRun>();
  /** Another process works on them now; who started them here still wants to know how they end. */
  readonly #lost = new Map<string, LiveRun>();

  get all(): readonly LiveRun[] {
    return [...this.#owned.values()];
  }

  get(runId: string): LiveRun | undefined {
    return this.#owned.get(runId);
  }

  /** The agent of that id; of a run: its root. */
  find(id: string): LiveDelegation | undefined {
    const run = this.#owned.get(id);
    if (run !== undefined) return run.root ?? undefined;
    for (const { agents } of this.#owned.values()) {
      const agent = agents.get(id);
      if (agent !== undefined) return agent;
    }
    return undefined;
  }

  /** It is owned until its root has closed, with the result that is given. */
  add(run: LiveRun, root: LiveDelegation): Promise<DelegationResult> {
    this.#owned.set(run.id, run);
    const result = root.process.end.whenClosed();
    void result.then(() => this.#owned.delete(run.id));
    return result;
  }

  /** Another process owns the run now: what is in memory here no longer means anything. */
  lose(run: LiveRun): void {
    this.#owned.delete(run.id);
    const before = this.#lost.get(run.id);
    this.#lost.set(run.id, run);
    void run.root?.process.end.whenClosed().then((result) => {
      before?.root?.process.end.closed(result);
      if (this.#lost.get(run.id) === run) this.#lost.delete(run.id);
    });
    run.giveUp();
  }

  hear(event: StoredEvent): void {
    const run = this.#owned.get(event.run_id);
    switch (event.type) {
      case "agent.answered":
        run?.answered(event);
        break;
      case "agent.subagent_closed": {
        const { sub_agent_id: id } = event.payload;
        const agent = run?.agents.get(id);
        if (agent && !agent.process.end.isEnding && agent.run.execution.log === null)
          endedElsewhere(agent).catch(cannotBeRead);
        const lost = this.#lost.get(event.run_id)?.agents.get(id);
        if (lost) closedElsewhere(lost).catch(cannotBeRead);
        break;
      }
      case "agent.paused":
        // It rests: what is in memory is of no use, and who resumes it starts from the log.
        if (run?.root && run.root.id === event.sub_agent_id && isResting(run.root)) this.lose(run);
        break;
      case "run.resumed":
        if (run && event.payload.worker !== run.ownership.worker) this.lose(run);
        break;
      default:
    }
  }

  /** Nobody who waits here for what others work on would hear of its end. */
  close(): void {
    const closed = new MandateError("closed", "This process stopped; its runs go on elsewhere.");
    for (const { execution, root } of this.#lost.values()) {
      if (root !== null) execution.stopWaiting(root, failedResult(root, unwrittenBy(closed)));
    }
  }
}

/** A run rests with its root; one that paused for budget continues. */
function isResting({ isInterrupted, state }: LiveDelegation): boolean {
  return isInterrupted || (state.status === "waiting_for_merge" && state.isPaused === true);
}

/** The store was closed meanwhile: the log tells the end to whoever opens it next. */
function cannotBeRead(): void {}
