import { requireKnownKeys } from "../../agents/documents/nearest-key.ts";
import type { Principal } from "../../control/records/principal.ts";
import type { Runtime } from "../../runtime.ts";
import { exportSession, type SessionFormat } from "../../sessions/export-session.ts";
import { listSessions, type SessionQuery } from "../../sessions/list-sessions.ts";
import { type AgentSession, readSession } from "../../sessions/read-session.ts";
import type { ContinueOptions } from "../../sessions/resumption.ts";
import type { SessionRow } from "../../sessions/session-row.ts";
import { renameSession } from "../../sessions/session-title.ts";
import { continueKeys, sessionKeys } from "./call-keys.ts";
import type { RunHandle } from "./mandate.ts";
import { runHandle } from "./run-handle.ts";

/** What was said, by session. An id is that of a delegation, or of a run for its root. */
export interface MandateSessions {
  /** The one somebody spoke in last first; give the last `id` as `before` for the next page. */
  list(query?: SessionQuery): Promise<readonly SessionRow[]>;
  /** Throws "unknown-delegation". What is damaged is in `problems`. */
  get(id: string): Promise<AgentSession>;
  /** From here on it is called this; an empty title takes the given one away. */
  rename(id: string, title: string): Promise<void>;
  /** In pieces, to be written one after the other. */
  export(id: string, format?: SessionFormat): AsyncIterable<string>;
  /**
   * The next message to an agent whose run has ended: a new run, under what it was granted before,
   * on the conversation so far. From the same point twice makes two sessions of one.
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
