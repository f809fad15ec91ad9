import type { z } from "zod";
import { requireKnownKeys } from "../../agents/documents/nearest-key.ts";
import type { Principal } from "../../control/records/principal.ts";
import type { Session } from "../../delegations/session.ts";
import type { DelegationResult, Resumed, ResumedRun, StartedRun } from "../../ports/delegator.ts";
import type { Runtime } from "../../runtime.ts";
import { exportSession, type SessionFormat } from "../../sessions/export-session.ts";
import { listSessions, type SessionQuery, type SessionRow } from "../../sessions/list-sessions.ts";
import { type AgentSession, readSession } from "../../sessions/read-session.ts";
import type { ContinueOptions } from "../../sessions/resumption.ts";
import { renameSession } from "../../sessions/session-records.ts";
import type { Toolbox } from "../../tools/toolbox.ts";
import type { ResumedRunHandle, ResumeHandle, RunHandle, RunResult } from "./mandate.ts";
import { continueKeys, sessionKeys } from "./option-keys.ts";

/**
 * The handle of a run. Its promises are created on access, so that an unused one cannot reject
 * unhandled.
 */
export function runHandle(started: StartedRun): RunHandle {
  const { behind, delegationId, runId } = started;
  let known: Promise<RunResult> | undefined;
  const result = (): Promise<RunResult> => {
    known ??= started.result.then(withOutcome);
    return known;
  };
  return {
    runId,
    delegationId,
    ...(behind !== undefined && { behind }),
    get answer() {
      return started.answer;
    },
    get result() {
      return result();
    },
    get outcome() {
      return result().then(({ outcome }) => outcome);
    },
  };
}

/** The handle of the first resumed run, with the handles of all. */
export function resumeHandle(resumed: Resumed): ResumeHandle {
  const { refused, runs } = resumed;
  return Object.assign(resumedHandle(resumed), { runs: runs.map(resumedHandle), refused });
}

function resumedHandle(run: ResumedRun): ResumedRunHandle {
  const { agents, as, from } = run;
  return Object.assign(runHandle(run), { as, from, agents });
}

/** A run whose end could not be written has no outcome in the log: it did not succeed. */
function withOutcome(result: DelegationResult): RunResult {
  const unwritten = result.status === "cancelled" ? "cancelled" : "failed";
  return { ...result, outcome: result.outcome ?? unwritten };
}

/** Conversations by session. A session has the id of its delegation, or of a run for its root. */
export interface MandateSessions {
  /** The most recently used first; pass the last `id` as `before` for the next page. */
  list(query?: SessionQuery): Promise<readonly SessionRow[]>;
  /** Throws "unknown-delegation". Damaged parts are listed in `problems`. */
  get(id: string): Promise<AgentSession>;
  /** Sets the title; an empty one removes it. */
  rename(id: string, title: string): Promise<void>;
  /** In pieces, to be written in order. */
  export(id: string, format?: SessionFormat): AsyncIterable<string>;
  /**
   * Sends the next message to an agent whose run has finished: a new run on the same conversation,
   * under the earlier grant. Continuing twice from the same point makes two sessions.
   */
  continue(id: string, message: string, options?: ContinueOptions): Promise<RunHandle>;
}

export function librarySessions({ engine, store }: Runtime, by: Principal): MandateSessions {
  return {
    list: async (query = {}) => {
      requireKnownKeys("sessions.list", query, sessionKeys);
      return listSessions(store, query);
    },
    get: (id) => readSession(store, id),
    rename: async (id, title) => void (await renameSession(store, id, title, by)),
    export: (id, format) => exportSession(store, id, format),
    continue: async (id, message, options = {}) => {
      requireKnownKeys("sessions.continue", options, continueKeys);
      return runHandle(await engine.continueSession(id, message, options));
    },
  };
}

/** A tool of the AI SDK, without a dependency on its package. */
export interface AiSdkTool {
  readonly description: string;
  readonly inputSchema: z.ZodType;
  execute(input: unknown): Promise<string>;
}

export interface DelegationTools {
  /** By name, ready for `tools:` of an AI SDK agent. */
  readonly tools: Readonly<Record<string, AiSdkTool>>;
  /** The run that holds their delegations. */
  readonly runId: string;
  close(): Promise<void>;
}

/** The delegation tools of a session; every call passes the gate of the session's contract. */
export function delegationTools(session: Session, toolbox: Toolbox): DelegationTools {
  const tools: Record<string, AiSdkTool> = {};
  for (const name of session.tools) {
    const tool = toolbox.get(name);
    if (tool?.effect !== "spawn") continue;
    tools[name] = {
      description: tool.description,
      inputSchema: tool.input,
      execute: async (input) => (await session.call(name, input)).text,
    };
  }
  return { tools, runId: session.runId, close: () => session.close() };
}
