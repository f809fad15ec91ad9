import { resolve } from "node:path";
import type { Clock } from "../../ports/clock.ts";
import type { DelegationMark } from "../../workspaces/delegation-mark.ts";
import { nearestRealPath } from "../../workspaces/resolve-inside.ts";
import type { SandboxFinding } from "../../workspaces/sandbox/detect-sandbox.ts";
import type { GuardRecords } from "../../workspaces/sandbox/guard-records.ts";
import { CommandRunner } from "./command-runner.ts";

/** What the operator and the machine say about commands, whichever tool runs them. */
export interface CommandSettings {
  /** What `detectSandbox` finds; asked when the first command comes, since it takes its time. */
  readonly sandbox: SandboxFinding | (() => SandboxFinding);
  /** The operator's word that commands may run without one; never for read-only contracts. */
  readonly unsandboxed?: boolean;
  /** Ours; commands get a fresh one with what names no secret. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Hidden beside what the binding forbids: MANDATE_HOME may lie around a working copy. */
  readonly forbidden?: readonly string[];
  readonly maximumProcesses?: number;
  /** Says of a process whose it is, to those who look for what was left running. */
  readonly mark?: DelegationMark | undefined;
  /** Where a killed process leaves word of the places that its commands ran in. */
  readonly records?: GuardRecords | undefined;
}

export interface PreparedCommands {
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
