import { unlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Selection } from "../../contracts/selection.ts";
import type { Clock } from "../../ports/clock.ts";
import type { WorkspaceBinding } from "../../workspaces/bind-workspace.ts";
import type { DelegationMark } from "../../workspaces/delegation-mark.ts";
import type { Doors } from "../../workspaces/egress/bridge.ts";
import { EgressLog } from "../../workspaces/egress/egress-log.ts";
import { createEgressProxy, type EgressRecord } from "../../workspaces/egress/egress-proxy.ts";
import type { Lookup } from "../../workspaces/egress/web-address.ts";
import { nearestRealPath } from "../../workspaces/resolve-inside.ts";
import {
  type ContainedProgram,
  startContained,
} from "../../workspaces/sandbox/contained-program.ts";
import type { SandboxFinding } from "../../workspaces/sandbox/detect-sandbox.ts";
import type { GuardRecords } from "../../workspaces/sandbox/guard-records.ts";
import { HostSockets, Placeholders } from "../../workspaces/sandbox/guarded-places.ts";
import { type NestedGuard, NestedGuards } from "../../workspaces/sandbox/nested-guards.ts";
import { defaultLimits, type ResourceLimits } from "../../workspaces/sandbox/resource-limits.ts";
import { freshEnvironment, type SandboxPolicy } from "../../workspaces/sandbox/sandbox.ts";
import { systemCallFilter } from "../../workspaces/sandbox/system-call-filter.ts";
import { type Aftermath, ShellProcess, startUncontained } from "./shell-process.ts";

const graceMs = 2000;

interface RunnerOptions {
  readonly sandbox: SandboxFinding;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly forbidden: readonly string[];
  readonly limits: ResourceLimits;
  readonly unixSockets: boolean;
  readonly allowPrivate: readonly string[];
  readonly lookup: Lookup | undefined;
  readonly mark?: DelegationMark | undefined;
  readonly records?: GuardRecords | undefined;
  readonly clock: Clock;
}

interface CommandRequest {
  readonly delegationId: string;
  readonly workspace: WorkspaceBinding;
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The hosts that are reached, through the proxy of the sandbox; absent: none. */
  readonly network?: Selection;
  readonly scratch: string;
  /** What `guardNested` gave for this command, unless its workspace is thrown away afterwards. */
  readonly nested: CommandGuard | "throwaway";
}

interface ProgramRequest
  extends Pick<CommandRequest, "delegationId" | "workspace" | "argv" | "scratch"> {
  readonly variables: Readonly<Record<string, string>>;
  /** Where the program itself is installed. */
  readonly visible: readonly string[];
  readonly doors: Doors;
  /** A host is reached only if all of these grant it. */
  readonly grants: readonly Selection[];
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
    // A command that can make no UNIX socket reaches none that a process outside serves.
    if (!this.#options.unixSockets && systemCallFilter() !== undefined) {
      return { ...nested, sockets: [] };
    }
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
    const { clock, environment, limits, sandbox } = this.#options;
    const { argv, cwd, delegationId, network = [], scratch, workspace } = request;
    const mark = this.#options.mark?.(delegationId);
    const shared = { clock, graceMs, afterwards: () => lookAfter(request) };
    if (!sandbox.isUsable) {
      const own = { ...this.#environmentOf(scratch), ...mark };
      const program = startUncontained({ argv, clock, cwd, limits, environment: own });
      return new ShellProcess({ ...shared, program, isSandboxed: false });
    }
    const grants = sandbox.sandbox.hasNamespaces && network.length > 0;
    const connections = grants ? new EgressLog() : undefined;
    const onConnection = (record: EgressRecord) => connections?.add(record);
    const { allowPrivate, lookup } = this.#options;
    const egress =
      connections &&
      createEgressProxy({
        grants: [network],
        allowPrivate,
        onConnection,
        ...(lookup && { lookup }),
      });
    const program = startContained(
      { sandbox: sandbox.sandbox, programs: sandbox.programs, clock, environment, limits },
      {
        policy: this.#policyOf(request),
        ...{ argv, cwd, egress, input: "ignore", joinsErrors: true },
        ...(mark !== undefined && { variables: mark }),
        onPlaceholders: (places) => this.#placeholders.hold(delegationId, workspace.root, places),
      },
    );
    return new ShellProcess({ ...shared, program, connections, isSandboxed: true });
  }

  /**
   * Starts an agent program in the sandbox that commands of its delegation have, with doors to what it
   * reaches outside. Throws where there is no sandbox that could hold it.
   */
  async startAgent(
    request: ProgramRequest,
  ): Promise<{ readonly program: ContainedProgram; readonly ended: Promise<void> }> {
    const { clock, environment, limits, sandbox } = this.#options;
    if (!sandbox.isUsable) throw new Error(sandbox.problem);
    const { delegationId, doors, grants, visible, workspace } = request;
    const nested = await this.guardNested(workspace);
    const command = { ...request, nested, cwd: workspace.root };
    const { allowPrivate, lookup } = this.#options;
    const reachesHosts = grants.every((granted) => granted.length > 0);
    try {
      const policy = this.#policyOf(command);
      const program = startContained(
        { sandbox: sandbox.sandbox, programs: sandbox.programs, clock, environment, limits },
        {
          policy: { ...policy, visible: [...policy.visible, ...visible] },
          ...{ argv: request.argv, cwd: workspace.root, doors, input: "pipe" },
          variables: { ...request.variables, ...this.#options.mark?.(delegationId) },
          onPlaceholders: (places) => this.#placeholders.hold(delegationId, workspace.root, places),
          ...(reachesHosts && {
            egress: createEgressProxy({
              grants,
              allowPrivate,
              onConnection: () => undefined,
              ...(lookup && { lookup }),
            }),
          }),
        },
      );
      const exited = new Promise<void>((resolve) => {
        program.child.once("exit", () => resolve());
        program.child.once("error", () => resolve());
      });
      return { program, ended: exited.then(async () => void (await lookAfter(command))) };
    } catch (error) {
      await nested.leave();
      throw error;
    }
  }

  /** Frees what a delegation held, when nothing of it runs any more. */
  async release(delegationId: string): Promise<void> {
    this.#placeholders.release(delegationId);
    await this.#nested.settle();
  }

  #policyOf({ workspace, scratch, nested }: CommandRequest): SandboxPolicy {
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
      unixSockets: this.#options.unixSockets,
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

/** Removes `.git/commondir`, which redirects git to other settings and hooks. A clone never has one. */
function removeDiversion(root: string): void {
  try {
    unlinkSync(join(root, ".git", "commondir"));
  } catch {
    // The file does not exist, the usual case; or it is a folder, which git ignores here.
  }
}

/** Settings for all commands, from the operator and the machine. */
export interface CommandSettings {
  /** The result of `detectSandbox`, or the function: it is slow, so it is called by the first command. */
  readonly sandbox: SandboxFinding | (() => SandboxFinding);
  /** The operator allows commands without a sandbox; never for read-only contracts. */
  readonly unsandboxed?: boolean;
  /** The environment of this process; commands get a new one without secrets. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Hidden beside what the binding forbids: MANDATE_HOME may lie around a working copy. */
  readonly forbidden?: readonly string[];
  /** The limits of each command with all that it starts. */
  readonly limits?: Partial<ResourceLimits>;
  /** Commands may make UNIX sockets. */
  readonly unixSockets?: boolean;
  /** Private places that commands may reach where the contract grants their host, as `host:port`. */
  readonly allowPrivate?: readonly string[];
  readonly lookup?: Lookup;
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
  /** Frees what an owner held, when nothing of it runs any more. */
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
    limits: { ...defaultLimits, ...settings.limits },
    unixSockets: settings.unixSockets ?? false,
    allowPrivate: settings.allowPrivate ?? [],
    lookup: settings.lookup,
    mark: settings.mark,
    records: settings.records,
    clock,
  });
  return { runner, sandbox, unsandboxed: settings.unsandboxed ?? false };
}
