import type { AgentRunner } from "../contracts/agent-runner.ts";
import type { Contract } from "../contracts/contract.ts";
import type { ProgramReport, ProgramStop } from "../events/event.ts";
import type { ToolDescription } from "../ports/model.ts";
import type { ToolResult } from "../tools/tool.ts";
import type { WorkspaceBinding } from "../workspaces/bind-workspace.ts";
import type { ProgramRequests } from "./program-requests.ts";

/**
 * Agent programs of others: how they are started, held and spoken to. The engine decides about their
 * turns as about those of its own loop; see `turns/program-turn.ts`.
 */
export interface AgentPrograms {
  /** Why this program cannot be held to a contract here; undefined: it can. Starts nothing. */
  obstacleTo(runner: AgentRunner): string | undefined;
  /**
   * The models that the program can ask, of those that a profile may run on. A profile that names none
   * gets the default of the program's own provider, where its protocol is not spoken by the usual one.
   * Throws "model-not-configured" where there is none.
   */
  modelsFor(
    runner: AgentRunner,
    candidates: () => readonly string[],
    isNamed: boolean,
  ): readonly string[];
  /** The hosts that a program needs for a login of its own. */
  loginHosts(runner: AgentRunner): readonly string[];
  open(host: ProgramHost): Promise<AgentProgram>;
  /** Ends the program of a delegation; resolves when no process of it runs. Its session is kept. */
  release(delegationId: string): Promise<void>;
  /** Removes what a closed delegation's program kept. */
  forget(delegationId: string): Promise<void>;
}

/** What an agent program gets of its delegation. */
export interface ProgramHost {
  readonly delegationId: string;
  readonly contract: Contract;
  readonly runner: AgentRunner;
  readonly workspace: WorkspaceBinding | null;
  readonly requests: ProgramRequests;
  /** The session that an earlier process had in this attempt; null: a new one begins. */
  readonly session: string | null;
  /** Tools of ours that it may call. */
  readonly tools: readonly ToolDescription[];
  /** Calls a tool through the gate. */
  call(tool: string, input: unknown): Promise<ToolResult>;
  /** Something arrived from the program: it is not idle. */
  alive(): void;
  /** Receives a part of the program's answer while it is written. */
  said(part: string): void;
  report(report: ProgramReport): void;
}

/** A program that runs, with one session. */
export interface AgentProgram {
  /** Name and version, as the program says. */
  readonly name: string;
  readonly session: string;
  /** The program continues the session that the host named. */
  readonly isResumed: boolean;
  /** Takes one turn of the program. Rejects with a `ProgramFault`. */
  prompt(text: string): Promise<{ readonly stop: ProgramStop; readonly text: string }>;
  /** Asks the program to end its turn; what does not end within a grace is killed. */
  cancel(): void;
  close(): Promise<void>;
}

/** A program that could not be started or understood, or that ended. */
export class ProgramFault extends Error {
  /** Another attempt may help. */
  readonly isPassing: boolean;
  /** The program's exit code or signal; undefined: it did not exit by itself. */
  readonly exit: number | string | undefined;

  constructor(
    message: string,
    about: { readonly isPassing?: boolean; readonly exit?: number | string } = {},
  ) {
    super(message);
    this.name = "ProgramFault";
    this.isPassing = about.isPassing ?? false;
    this.exit = about.exit;
  }
}
