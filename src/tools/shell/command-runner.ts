import { lstatSync, unlinkSync } from "node:fs";
import { release } from "node:os";
import { join } from "node:path";
import type { DelegationMark } from "../../workspaces/delegation-mark.ts";
import type { SandboxFinding } from "../../workspaces/sandbox/detect-sandbox.ts";
import { freshEnvironment } from "../../workspaces/sandbox/fresh-environment.ts";
import { Placeholders } from "../../workspaces/sandbox/placeholders.ts";
import type { SandboxPolicy } from "../../workspaces/sandbox/sandbox.ts";
import type { WorkspaceBinding } from "../../workspaces/workspace-binding.ts";
import { ShellProcess } from "./shell-process.ts";

const graceMs = 2000;

export interface RunnerOptions {
  readonly sandbox: SandboxFinding;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly forbidden: readonly string[];
  readonly maximumProcesses: number;
  readonly mark?: DelegationMark | undefined;
}

export interface CommandRequest {
  readonly delegationId: string;
  readonly workspace: WorkspaceBinding;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly network: boolean;
  readonly scratch: string;
  /** The workspace is thrown away when the command has ended. */
  readonly isThrowaway?: true;
}

/** Starts commands under what the workspace's binding says, in the sandbox when there is one. */
export class CommandRunner {
  readonly #options: RunnerOptions;
  readonly #placeholders = new Placeholders();
  readonly #isLimitedBySystem = limitsBySystem();

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  start(request: CommandRequest): ShellProcess {
    const { sandbox, maximumProcesses } = this.#options;
    const { cwd, workspace, scratch, delegationId } = request;
    const mark = this.#options.mark?.(delegationId);
    const limit = this.#isLimitedBySystem && sandbox.isUsable ? maximumProcesses : null;
    const argv = ["/bin/sh", "-c", beginning(limit), "sh", ...request.argv];
    const shared = { graceMs, maximumProcesses: limit === null ? maximumProcesses : null };
    if (!sandbox.isUsable) {
      const [file = "", ...args] = argv;
      const environment = { ...this.#environmentOf(workspace, scratch), ...mark };
      return new ShellProcess({ ...shared, file, args, environment, cwd, isSandboxed: false });
    }
    const policy = this.#policyOf(request);
    const line = sandbox.sandbox.wrap(policy, argv, cwd);
    this.#placeholders.hold(delegationId, workspace.root, line.placeholders);
    const started = new ShellProcess({
      ...shared,
      file: line.file,
      args: line.args,
      // Also of the sandbox itself: its first process can be looked at from inside.
      environment: {
        ...freshEnvironment(
          this.#options.environment,
          sandbox.programs,
          policy.allowWrites ? policy.writeRoots : [],
        ),
        ...mark,
      },
      cwd: "/",
      isSandboxed: true,
    });
    if (policy.ownsGit) {
      void started.ended.finally(() => removeDiversion(workspace.root)).catch(() => undefined);
    }
    return started;
  }

  /** Nothing of this delegation runs any more. */
  release(delegationId: string): void {
    this.#placeholders.release(delegationId);
  }

  #policyOf({ workspace, network, scratch, isThrowaway }: CommandRequest): SandboxPolicy {
    const { root, writeRoots, allowWrites } = workspace;
    return {
      root,
      writeRoots,
      allowWrites,
      forbidden: [...new Set([...this.#options.forbidden, ...(workspace.forbidden ?? [])])],
      guarded: workspace.guarded ?? [],
      visible: workspace.visible ?? [],
      // Only a working copy of its own: nobody else's git reads what is written there.
      ownsGit: workspace.isolation === "sandbox",
      ...(isThrowaway && { isThrowaway }),
      network,
      scratch,
    };
  }

  #environmentOf(workspace: WorkspaceBinding, scratch: string): Record<string, string> {
    const { environment, sandbox } = this.#options;
    const places = { home: join(scratch, "home"), temporary: join(scratch, "tmp") };
    return freshEnvironment(environment, sandbox.programs, workspace.writeRoots, places);
  }
}

/** What comes before every command: both outputs in one, in their order; no core files. */
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

/** Tells git to take settings and hooks from elsewhere; a clone never has one by itself. */
function removeDiversion(root: string): void {
  const place = join(root, ".git", "commondir");
  if (lstatSync(place, { throwIfNoEntry: false }) !== undefined) unlinkSync(place);
}
