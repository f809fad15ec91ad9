import { type AskWorkers, askWorkersOnce } from "../events/is-worked-on.ts";
import { addSpent, type Spent } from "../events/spent.ts";
import type { RunRow, Store } from "../ports/store.ts";
import { spentInRow } from "./listed-run.ts";
import { RunRows } from "./run-rows.ts";
import { readChain } from "./session-chain.ts";
import { readHead, type SessionHead } from "./session-head.ts";
import { latestOf, type SessionRow, titleLine, unreadableRow } from "./session-row.ts";
import { readTitles, titleOf } from "./session-title.ts";

export type { SessionRow };

export interface SessionQuery {
  /** Only those whose work was in this folder. */
  readonly workspace?: string | undefined;
  /** Twenty, unless it is said; a thousand at most. */
  readonly limit?: number | undefined;
  /** Those after this one in the list: its `id`. */
  readonly before?: string | undefined;
  /** When the reader last looked; what happened since is unread. */
  readonly readUntil?: number | undefined;
}

/**
 * The sessions that people have, the one they spoke in last first. A session that was continued
 * twice from one point is listed twice. Reads the logs of those that it shows; of newer runs, and
 * of the earlier ones of a session, just the beginning.
 */
export async function listSessions(
  store: Store,
  query: SessionQuery = {},
): Promise<readonly SessionRow[]> {
  const { before, readUntil, workspace } = query;
  const limit = Math.min(Math.max(query.limit ?? 20, 1), 1000);
  const titles = await readTitles(store);
  const rows = new RunRows(store);
  const workers = askWorkersOnce(store);
  /** Who is not the end of a session: a newer run continues from there. */
  const continued = new Set<string>();
  const found: SessionRow[] = [];
  let isPast = before === undefined;
  for await (const row of rows.newestFirst()) {
    if (workspace !== undefined && row.workspace !== workspace) continue;
    const { head, problem } = await beginning(store, row);
    const id = head?.id ?? row.id;
    // An unfinished session has an end of its own.
    if (head?.resumedFrom && head.resumedAt === null) continued.add(head.resumedFrom);
    if (isPast && !continued.has(id)) {
      const session = head ? await describe(store, row, head, { rows, titles, workers }) : problem;
      const isNew = readUntil !== undefined && { unread: session.updatedAt > readUntil };
      found.push({ ...session, ...isNew });
      if (found.length === limit) break;
    }
    if (id === before || row.id === before) isPast = true;
  }
  return found;
}

type Beginning =
  | { readonly head: SessionHead; readonly problem?: never }
  | { readonly head?: never; readonly problem: SessionRow };

async function beginning(store: Store, row: RunRow): Promise<Beginning> {
  try {
    const head = await readHead(store, row.id);
    return head ? { head } : { problem: unreadableRow(row, "it has no agent") };
  } catch (error) {
    return { problem: unreadableRow(row, error) };
  }
}

/** What one list reads once, for all that it shows. */
interface Surroundings {
  readonly rows: RunRows;
  readonly titles: ReadonlyMap<string, string>;
  readonly workers: AskWorkers;
}

async function describe(
  store: Store,
  row: RunRow,
  head: SessionHead,
  { rows, titles, workers }: Surroundings,
): Promise<SessionRow> {
  const { links } = await readChain(store, head);
  const now = await latestOf(store, row, workers);
  let spent: Spent = now;
  for (const { isRoot, runId } of links.slice(0, -1)) {
    // What a child cost is in the run that it was a child in.
    const earlier = isRoot ? await rows.of(runId) : undefined;
    if (earlier !== undefined) spent = addSpent(spent, await spentInRow(store, earlier));
  }
  const title = titleLine(titleOf(links, titles));
  const { cost, estimated, tokens } = spent;
  const amounts = { tokens, cost, ...(estimated && { estimated }) };
  const { client, id, profile } = head;
  const who = client === undefined ? { profile } : { profile, client };
  return { ...now, id, ...who, title, ...amounts, runs: links.length };
}
