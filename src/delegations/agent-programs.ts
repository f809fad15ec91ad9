import type { AgentRunner } from "../contracts/agent-runner.ts";
import type { Contract } from "../contracts/contract.ts";
import type { TokenPrice } from "../contracts/token-price.ts";
import type { Cause } from "../events/cause.ts";
import type { ProgramReport, ProgramStop } from "../events/program-payloads.ts";
import type { ModelUsage, ToolDescription } from "../ports/model.ts";
import type { NativeAct, ToolResult } from "../tools/tool.ts";
import type { WorkspaceBinding } from "../workspaces/bind-workspace.ts";

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
   * Throws "model-not-configured" if no such model is configured.
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
  /** Removes what the programs kept of all delegations that closed while no process could remove it. */
  tidy(): Promise<void>;
}

/** What an agent program gets of its delegation. */
export interface ProgramHost {
  readonly delegationId: string;
  readonly contract: Contract;
  readonly runner: AgentRunner;
  readonly workspace: WorkspaceBinding | null;
  readonly requests: ModelRequests;
  /** The session that an earlier process had in this attempt; null: a new one begins. */
  readonly session: string | null;
  /** Tools of ours that it may call, without those for what it does by itself. */
  readonly tools: readonly ToolDescription[];
  /** Calls a tool through the gate. */
  call(tool: string, input: unknown): Promise<ToolResult>;
  /**
   * Does what the program does by itself, and asks us to do, through the gate: see `Tool.native`. Of a
   * command, `signal` ends it.
   */
  callNative(what: NativeAct, input: unknown, signal?: AbortSignal): Promise<ToolResult>;
  /** Something arrived from the program: it is not idle. */
  alive(): void;
  /** Receives a part of the program's answer while it is written. */
  said(part: string): void;
  report(report: ProgramReport): void;
}

/** A request that another program makes, before anything of it is sent. */
export interface ProgramRequest {
  /** `provider/model`. */
  readonly model: string;
  /** Undefined: its tokens cost no dollars that are known. */
  readonly price: TokenPrice | undefined;
  /** No prompt of it can be more tokens than this. */
  readonly promptBound: number;
  /** The most output that it asks for. */
  readonly maxOutput: number;
  /** The output arrives as it is made: what has not arrived of a request that is cut was not made. */
  readonly isSeen: boolean;
  /** A better bound of its prompt; undefined: not known. */
  count?(): Promise<number | undefined>;
  /** Aborted when the program no longer waits for an answer. */
  readonly signal: AbortSignal;
}

/** How a request of another program was answered. */
export interface ProgramReply {
  readonly served: string | null;
  /** Null: the provider did not report it. */
  readonly usage: ModelUsage | null;
  readonly finish: string;
  readonly text: string;
}

/** A request that is reserved, and is settled exactly once: by one of its methods, or by the close. */
export interface ReservedRequest {
  readonly maxOutput: number;
  /** Bytes of the answer that have arrived: no output is more tokens. */
  received: number;
  /** The answer is complete. Resolves when its settlement is on disk. */
  complete(reply: ProgramReply): Promise<void>;
  /** The provider refused it before it answered, and charges nothing for that. */
  unanswered(): Promise<void>;
  /** Ends a request that was cut: what it used is estimated. */
  cut(): Promise<void>;
}

export type Reserved = { readonly request: ReservedRequest } | { readonly refused: Cause };

/** The requests to models that a program makes under the contract of a delegation. */
export interface ModelRequests {
  readonly contract: Contract;
  /** Why no further request is made; null: the delegation is open. */
  readonly stoppedBy: Cause | null;
  onStop(listener: (cause: Cause) => void): () => void;
  reserve(asked: ProgramRequest): Promise<Reserved>;
  refuse(cause: Cause, model: string | undefined): Promise<void>;
  clamp(requested: string, granted: string): void;
  /** What follows from a refusal, without its event: a replay has that from the recording. */
  noteRefusal(cause: Cause): void;
}

/** The program that works on one attempt at a delegation. */
export interface ProgramAtWork {
  readonly attempt: number;
  readonly program: AgentProgram;
  /** Why the budget, or the contract, refused its latest request; null: neither did. */
  readonly requests: {
    readonly exhaustedBy: Cause | null;
    readonly refusedBy: Cause | null;
    readonly answered: number;
    onExhausted(listener: () => void): () => void;
  };
  /** Resolves when no call of our tools is under way. */
  readonly host: { settled(): Promise<void> };
  /** How many messages of the conversation its session has; null: it had no prompt of ours. */
  heard: number | null;
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
