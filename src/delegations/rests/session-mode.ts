import type { RunState } from "../../events/run-state.ts";
import type { Store } from "../../ports/store.ts";
import { isReadOnlySession } from "../../sessions/session-workspace.ts";
import type { Resumption } from "./resumption.ts";

/** What holds for the next run besides what was granted then. It only takes away. */
export interface SessionLimits {
  /** Nobody may write in the workspace from here on. */
  readonly readOnly?: boolean | undefined;
  /** Who speaks, by the surface's word: whether its workspace may be written. */
  readonly session?: string | undefined;
}

/**
 * A session that a person made read-only is so in all its runs, whoever goes on with one and
 * wherever: in which session a run was started is in its log. What only the session's mode took
 * away, a person's next message gets back when the mode is taken back.
 */
export async function keepSessionMode(
  store: Store,
  { session: before, workspace }: RunState,
  next: Resumption,
  { readOnly = false, session }: SessionLimits,
  mayGetBack = false,
): Promise<Resumption> {
  const all = [session, before?.id].filter((one) => one !== undefined);
  const modes = await Promise.all(all.map((one) => isReadOnlySession(store, one)));
  const closing = all[modes.indexOf(true)];
  // The one that closed it is remembered: it must not be lost on the way through another one.
  const request = { ...next.request, session: closing ?? all[0] };
  const wasClosed = mayGetBack && before?.read_only === true && workspace !== null;
  if (readOnly || closing !== undefined) {
    const couldWrite = wasClosed || next.held.write_roots.length > 0;
    const isClosedBySession = !readOnly && couldWrite;
    return { ...withoutWriting({ ...next, request }), isClosedBySession };
  }
  if (!wasClosed) return { ...next, request };
  const held = { ...next.held, write_roots: [workspace] };
  return { ...next, held, request: { ...request, readOnly: false } };
}

/** Who cannot write needs no copy to write in. */
export function withoutWriting({ held, request, ...rest }: Resumption): Resumption {
  return {
    ...rest,
    request: { ...request, readOnly: true },
    held: { ...held, write_roots: [] },
    copy: undefined,
  };
}
