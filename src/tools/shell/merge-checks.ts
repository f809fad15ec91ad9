import type { Clock } from "../../ports/clock.ts";
import type { MergeCheck } from "../../workspaces/git/integration/prepare-merge.ts";
import { CheckRun, type CheckSubject } from "./check-run.ts";
import type { CommandSetup } from "./command-setup.ts";

export interface MergeChecks {
  /**
   * Commands as a judgement of merged files: one after the other, in one folder, until the first
   * that does not end with 0. Rejects when it is stopped, by the signal or by `release`: no check
   * knows then what the verdict would have been, and none may be made up.
   */
  checksFor(commands: readonly string[], about: CheckSubject): MergeCheck;
  /** Ends what is checked for a delegation; resolves when nothing of it is left. */
  release(delegationId: string): Promise<void>;
  close(): Promise<void>;
}

export function createMergeChecks(setup: CommandSetup, clock: Clock): MergeChecks {
  const runs = new Map<CheckRun, string>();
  let isClosed = false;

  return {
    checksFor: (commands, about) => async (merged) => {
      if (commands.length === 0) return { passed: true };
      about.signal.throwIfAborted();
      if (isClosed) throw new Error("The runtime is closing; no check is started any more.");
      const prepared = setup.prepare();
      const { sandbox, unsandboxed } = prepared;
      if (!sandbox.isUsable && !unsandboxed) {
        return { passed: false, reason: explainMissing(sandbox.problem) };
      }
      const run = new CheckRun(prepared.runner, about, clock);
      runs.set(run, about.delegationId);
      try {
        return await run.judge(commands, merged);
      } finally {
        await run.stop();
        runs.delete(run);
      }
    },
    async release(delegationId) {
      const own = [...runs].filter(([, owner]) => owner === delegationId);
      await Promise.all(own.map(([run]) => run.stop()));
    },
    async close() {
      isClosed = true;
      await Promise.all([...runs.keys()].map((run) => run.stop()));
    },
  };
}

function explainMissing(problem: string): string {
  return (
    `the checks could not be run, since there is no sandbox for them. ${problem} To run them ` +
    "without one all the same, set tools.shell.unsandboxed to true in your own configuration."
  );
}
