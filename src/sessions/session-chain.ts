import { tellPruned } from "../events/pruned-runs.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { messageOf } from "../ports/message-of.ts";
import type { Store } from "../ports/store.ts";
import { readHead, type SessionHead } from "./session-head.ts";

/**
 * The delegations that one session consists of, the oldest first: each opened with the conversation
 * of the one before it. What came before a place that cannot be read is missing, and `problem` says
 * so. A session that was continued twice from one point is two chains with the same beginning.
 */
export interface SessionChain {
  readonly links: readonly SessionHead[];
  readonly problem: string | null;
}

export async function readChain(store: Store, last: SessionHead): Promise<SessionChain> {
  const links = [last];
  const seen = new Set([last.id]);
  for (let next = last.resumedFrom; next !== null; ) {
    let head: SessionHead | undefined;
    let problem: string | undefined;
    try {
      head = seen.has(next) ? undefined : await readHead(store, next);
      if (seen.has(next)) problem = "the log leads back to it in a circle";
    } catch (error) {
      problem = messageOf(error);
    }
    if (head === undefined) {
      problem ??= (await tellPruned(store, next)) ?? "it is not in the log";
      return {
        links: links.reverse(),
        problem: `What was said before is missing: ${next} cannot be read (${problem}).`,
      };
    }
    seen.add(head.id);
    links.push(head);
    next = head.resumedFrom;
  }
  return { links: links.reverse(), problem: null };
}

/** The session of a delegation, or of a run's root. */
export async function requireHead(store: Store, id: string): Promise<SessionHead> {
  let head: SessionHead | undefined;
  try {
    head = await readHead(store, id);
  } catch (error) {
    if (error instanceof MandateError) throw error;
    throw new MandateError(
      "unknown-delegation",
      `The beginning of session ${id} cannot be read: ${messageOf(error)}. What is wrong with it: mandate verify`,
      { cause: error },
    );
  }
  if (head !== undefined) return head;
  const shown = JSON.stringify(id.slice(0, 40));
  throw new MandateError(
    "unknown-delegation",
    (await tellPruned(store, id)) ??
      `There is no session ${shown}. A session has the id of its delegation, or of its run.`,
  );
}
