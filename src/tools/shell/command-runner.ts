import { unlinkSync } from "node:fs";
import { release } from "node:os";
import { join, resolve } from "node:path";
import type { Clock } from "../../ports/clock.ts";
import type { WorkspaceBinding } from "../../workspaces/bind-workspace.ts";
import type { DelegationMark } from "../../workspaces/delegation-mark.ts";
import { systemShell } from "../../workspaces/processes/find-program.ts";
import { nearestRealPath } from "../../workspaces/resolve-inside.ts";
import type { SandboxFinding } from "../../workspaces/sandbox/detect-sandbox.ts";
import type { GuardRecords } from "../../workspaces/sandbox/guard-records.ts";
import { HostSockets, Placeholders } from "../../workspaces/sandbox/guarded-places.ts";
import { type NestedGuard, NestedGuards } from "../../workspaces/sandbox/nested-guards.ts";
import { freshEnvironment, type SandboxPolicy } from "../../workspaces/sandbox/sandbox.ts";
import { type Aftermath, ShellProcess } from "./shell-process.ts";

const graceMs = 2000;

interface RunnerOptions {
  readonly sandbox: SandboxFinding;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly forbidden: readonly string[];
  readonly maximumProcesses: number;
  readonly mark?: DelegationMark | undefined;
  readonly records?: GuardRecords | undefined;
  readonly clock: Clock;
}

interface CommandRequest {
  readonly delegationId: string;
  readonly workspace: WorkspaceBinding;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly network: boolean;
  readonly scratch: string;
  /** What `guardNested` gave for this command, unless its workspace is thrown away afterwards. */
  readonly nested: CommandGuard | "throwaway";
}

/** What one command has to be kept from, with the sockets that processes outside serve. */
type CommandGuard = NestedGuard;

const nothingNested: CommandGuard = { places: [], leave: () => Promise.resolve(undefined) };

/** Starts commands under what the workspace's binding says, in the sandbox when there is one. */
export class CommandRunner {
  readonly #options: RunnerOptions;
  readonly #placeholders = new Placeholders();
  readonly #nested: NestedGuards;
  readonly #sockets: HostSockets;
  readonly #isLimitedBySystem = limitsBySystem();

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#nested = new NestedGuards({ records: options.records });
    this.#sockets = new HostSockets(options.clock);
  }

  /**
   * Looks for what a command in this workspace has to be kept from. What `start` returns sees to
   * `leave`; an earlier exit does it there.
   */
  async guardNested(workspace: WorkspaceBinding): Promise<CommandGuard> {
    const { allowWrites, root, writeRoots } = workspace;
    // A working copy has no sockets but those of its own commands.
    if (ownsGit(workspace)) return nothingNested;
    const isNeeded = allowWrites && writeRoots.length > 0;
    const nested = isNeeded
      ? await this.#nested.enter(workspace, this.#options.sandbox.isUsable)
      : nothingNested;
    if (!this.#options.sandbox.isUsable) return nested;
    const seen = writeRoots.includes(root) ? nested.sockets : undefined;
    try {
      const sockets = await this.#sockets.enter(workspace, seen);
      const leave = () => {
        sockets.leave();
        return nested.leave();
      };
      return { ...nested, sockets: sockets.places, leave };
    } catch (error) {
      await nested.leave();
      throw error;
    }
  }

  start(request: CommandRequest): ShellProcess {
    const { clock, sandbox, maximumProcesses } = this.#options;
    const { cwd, workspace, scratch, delegationId } = request;
    const mark = this.#options.mark?.(delegationId);
    const limit = this.#isLimitedBySystem && sandbox.isUsable ? maximumProcesses : null;
    const argv = ["/bin/sh", "-c", beginning(limit), "sh", ...request.argv];
    const shared = { clock, graceMs, maximumProcesses: limit === null ? maximumProcesses : null };
    if (!sandbox.isUsable) {
      const own = this.#environmentOf(scratch);
      return new ShellProcess({
        ...shared,
        program: systemShell(),
        args: argv.slice(1),
        environment: { ...own, ...mark },
        folder: cwd,
        isSandboxed: false,
        afterwards: () => lookAfter(request),
      });
    }
    const policy = this.#policyOf(request);
    const line = sandbox.sandbox.wrap(policy, argv, cwd);
    this.#placeholders.hold(delegationId, workspace.root, line.placeholders);
    return new ShellProcess({
      ...shared,
      program: line.program,
      args: line.args,
      ...(line.filter !== undefined && { filter: line.filter }),
      // The sandbox itself gets the clean environment too: commands can read that of its first process.
      environment: {
        ...freshEnvironment(this.#options.environment, sandbox.programs),
        ...mark,
      },
      isSandboxed: true,
      afterwards: () => lookAfter(request),
    });
  }

  /** Nothing of this delegation runs any more. */
  async release(delegationId: string): Promise<void> {
    this.#placeholders.release(delegationId);
    await this.#nested.settle();
  }

  #policyOf({ workspace, network, scratch, nested }: CommandRequest): SandboxPolicy {
    const { root, writeRoots, allowWrites } = workspace;
    return {
      root,
      writeRoots,
      allowWrites,
      forbidden: [...new Set([...this.#options.forbidden, ...(workspace.forbidden ?? [])])],
      guarded: nested === "throwaway" ? [] : [...(workspace.guarded ?? []), ...nested.places],
      ...(nested !== "throwaway" && nested.sockets && { sockets: nested.sockets }),
      visible: workspace.visible ?? [],
      ownsGit: ownsGit(workspace),
      ...(nested === "throwaway" && { isThrowaway: true }),
      network,
      scratch,
    };
  }

  #environmentOf(scratch: string): Record<string, string> {
    const { environment, sandbox } = this.#options;
    const places = { home: join(scratch, "home"), temporary: join(scratch, "tmp") };
    return freshEnvironment(environment, sandbox.programs, places);
  }
}

/** Only a working copy of its own: no other git reads what is written there. */
function ownsGit({ isolation }: WorkspaceBinding): boolean {
  return isolation === "sandbox";
}

async function lookAfter({ workspace, nested }: CommandRequest): Promise<Aftermath> {
  if (ownsGit(workspace)) removeDiversion(workspace.root);
  if (nested === "throwaway") return {};
  const { remark } = nested;
  const objection = await nested.leave();
  return { ...(objection !== undefined && { objection }), ...(remark !== undefined && { remark }) };
}

/** The prefix of every command: standard error goes to standard output, and no core files. */
function beginning(maximumProcesses: number | null): string {
  const limit = maximumProcesses === null ? "" : limitProcesses(maximumProcesses);
  return `exec 2>&1; ulimit -c 0; ${limit}exec "$@"`;
}

/** Shells do not agree on the letter. */
function limitProcesses(maximum: number): string {
  return `ulimit -u ${maximum} 2>/dev/null || ulimit -p ${maximum} 2>/dev/null; `;
}

/**
 * Since Linux 5.14 the limit counts the processes of a namespace; before, those of the user on the
 * whole machine. For root it never counts.
 */
function limitsBySystem(): boolean {
  const [major = 0, minor = 0] = release().split(".").map(Number);
  return process.getuid?.() !== 0 && (major > 5 || (major === 5 && minor >= 14));
}

/** Removes `.git/commondir`, which redirects git to other settings and hooks. A clone never has one. */
function removeDiversion(root: string): void {
  try {
    unlinkSync(join(root, ".git", "commondir"));
  } catch {
    // It does not exist, the usual case; or a folder, which git does not take for one.
  }
}

/** Settings for all commands, from the operator and the machine. */
export interface CommandSettings {
  /** The result of `detectSandbox`, or the function: it is slow, so it is called by the first command. */
  readonly sandbox: SandboxFinding | (() => SandboxFinding);
  /** The operator allows commands without a sandbox; never for read-only contracts. */
  readonly unsandboxed?: boolean;
  /** Of this process; commands get a new one without secrets. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Hidden beside what the binding forbids: MANDATE_HOME may lie around a working copy. */
  readonly forbidden?: readonly string[];
  readonly maximumProcesses?: number;
  /** Marks processes with their delegation, so that orphaned ones can be found. */
  readonly mark?: DelegationMark | undefined;
  /** Records the folders of running commands, for the recovery after a kill. */
  readonly records?: GuardRecords | undefined;
}

interface PreparedCommands {
  readonly runner: CommandRunner;
  readonly sandbox: SandboxFinding;
  readonly unsandboxed: boolean;
}

export interface CommandSetup {
  prepare(): PreparedCommands;
  /** Nothing of this owner runs any more. */
  release(owner: string): Promise<void>;
}

/** One runner for all commands of a process, made when the first of them comes. */
export function createCommandSetup(settings: CommandSettings, clock: Clock): CommandSetup {
  let prepared: PreparedCommands | undefined;
  return {
    prepare() {
      prepared ??= make(settings, clock);
      return prepared;
    },
    async release(owner) {
      await prepared?.runner.release(owner);
    },
  };
}

function make(settings: CommandSettings, clock: Clock): PreparedCommands {
  const sandbox = typeof settings.sandbox === "function" ? settings.sandbox() : settings.sandbox;
  const runner = new CommandRunner({
    sandbox,
    environment: settings.environment,
    forbidden: (settings.forbidden ?? []).map((place) => nearestRealPath(resolve(place)).path),
    maximumProcesses: settings.maximumProcesses ?? 1024,
    mark: settings.mark,
    records: settings.records,
    clock,
  });
  return { runner, sandbox, unsandboxed: settings.unsandboxed ?? false };
}
