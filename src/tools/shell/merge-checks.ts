import { mkdirSync } from "node:fs";
import { relative } from "node:path";
import type { Clock } from "../../ports/clock.ts";
import { messageOf } from "../../ports/message-of.ts";
import { tailOf } from "../../text.ts";
import { bindWorkspace } from "../../workspaces/bind-workspace.ts";
import type { CheckVerdict, MergeCheck } from "../../workspaces/git/integration/prepare-merge.ts";
import { resolveInside } from "../../workspaces/resolve-inside.ts";
import { cleanLine, cleanText } from "../mcp/clean-text.ts";
import type { CommandRunner, CommandSetup } from "./command-runner.ts";
import { DelegationShell } from "./delegation-shell.ts";
import { describeEnd, waitFor } from "./describe-outcome.ts";
import type { HeadAndTail } from "./head-and-tail.ts";
import type { ShellProcess } from "./shell-process.ts";

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

/** The delegation whose merge is checked, and the limits of the check. */
export interface CheckSubject {
  readonly delegationId: string;
  /** Folders of git objects that the commands can read as well. */
  readonly objects: readonly string[];
  /** The time for all commands together. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

type Merged = Parameters<MergeCheck>[0];

/** The commands that judge one merged tree. */
class CheckRun {
  readonly #runner: CommandRunner;
  readonly #about: CheckSubject;
  readonly #clock: Clock;
  readonly #endsAt: number;
  // The home and /tmp of the check are new: what the child left in its own must not count here.
  readonly #shell = new DelegationShell();
  #isStopped = false;

  constructor(runner: CommandRunner, about: CheckSubject, clock: Clock) {
    this.#runner = runner;
    this.#about = about;
    this.#clock = clock;
    this.#endsAt = clock.monotonic() + about.timeoutMs;
  }

  async judge(commands: readonly string[], merged: Merged): Promise<CheckVerdict> {
    for (const command of commands) {
      this.#throwIfStopped();
      try {
        const verdict = await this.#judgeBy(command, merged);
        if (!verdict.passed) return verdict;
      } catch (error) {
        this.#throwIfStopped();
        // A check that cannot run counts as failed.
        return describeFailedCheck(command, messageOf(error));
      }
    }
    this.#throwIfStopped();
    return { passed: true };
  }

  /** Resolves when nothing of it is left. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#shell.release();
    await this.#runner.release(this.#owner);
  }

  get #owner(): string {
    return `${this.#about.delegationId} checks`;
  }

  async #judgeBy(command: string, merged: Merged): Promise<CheckVerdict> {
    const { signal, timeoutMs } = this.#about;
    const tooLong = `The checks took longer than ${timeoutMs} ms and were ended.`;
    const left = this.#endsAt - this.#clock.monotonic();
    if (!(left > 0)) return describeFailedCheck(command, tooLong);
    const process = this.#start(command, merged);
    this.#shell.follow(process);
    if (!(await waitFor(process, left, signal, this.#clock))) await process.end(tooLong);
    const outcome = await process.ended;
    this.#throwIfStopped();
    if (outcome.code === 0 && outcome.endedBecause === undefined) return { passed: true };
    return describeFailedCheck(command, describeEnd(outcome), process.takeOutput());
  }

  /** Everything is checked again each time: the command before may have put a link in its place. */
  #start(command: string, { folder, root }: Merged): ShellProcess {
    const bound = bindWorkspace({ root: folder, isolation: "sandbox", allowWrites: true });
    const workspace = { ...bound, visible: this.#about.objects };
    const cwd = resolveInside(workspace, relative(folder, root) || ".").path;
    // A workspace whose last file was removed is an empty folder.
    mkdirSync(cwd, { recursive: true });
    return this.#runner.start({
      delegationId: this.#owner,
      workspace,
      argv: ["/bin/sh", "-c", command],
      cwd,
      scratch: this.#shell.scratch,
      nested: "throwaway",
    });
  }

  #throwIfStopped(): void {
    this.#about.signal.throwIfAborted();
    if (this.#isStopped) throw new Error("The checks were stopped before they had ended.");
  }
}

const shownLines = 20;

const shownCharacters = 2000;

const commandBytes = 200;

/** The message of a failed check to the agent that has to fix it: which one, how it ended, its last words. */
function describeFailedCheck(command: string, end: string, output?: HeadAndTail): CheckVerdict {
  const words = output === undefined ? "" : lastWords(output);
  const said = output === undefined ? "" : words === "" ? " No output." : " The end of its output:";
  const name = cleanLine(command, commandBytes);
  const sentence = `the check "${name}" failed. ${end}${said}`;
  return { passed: false, reason: words === "" ? sentence : `${sentence}\n${words}` };
}

function lastWords({ head, tail }: HeadAndTail): string {
  // A character is at most four bytes; what ends up outside these was never going to be shown.
  const end = Buffer.concat([head, tail]).subarray(-shownCharacters * 8);
  const lines = cleanText(end.toString("utf8"), end.length * 3)
    .trimEnd()
    .split("\n");
  // Cut at the front: a program says at the end what went wrong.
  return tailOf(lines.slice(-shownLines).join("\n"), shownCharacters).trimStart();
}
