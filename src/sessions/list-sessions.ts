import { type AskWorkers, askWorkersOnce, isRunInterrupted } from "../events/is-worked-on.ts";
import type { RunState } from "../events/run-state.ts";
import { addSpent, type Spent, spentIn } from "../events/spent.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { messageOf } from "../ports/message-of.ts";
import type { RunRow, Store } from "../ports/store.ts";
import { harmlessLine } from "./harmless-text.ts";
import { spentInRow } from "./listed-run.ts";
import { StoreMemory } from "./read-run.ts";
import { lastActivity, rootOf, type SessionStatus, sessionStatus } from "./session.ts";
import { readChain, readHead, type SessionHead } from "./session-chain.ts";
import { readTitles, titleOf } from "./session-records.ts";

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

/** A session in a list. */
export interface SessionRow {
  /** The delegation to continue from; the run where even that cannot be read. */
  readonly id: string;
  readonly runId: string;
  readonly title: string;
  readonly profile: string;
  /** Of an agent that another program runs: the name of that program. */
  readonly client?: string;
  /** One line, at most 120 characters: what the agent said last, or what it was last asked. */
  readonly lastMessage: string;
  /** `interrupted`: no process works on it any more. `unreadable`: its log is damaged. */
  readonly status: SessionStatus | "interrupted" | "unreadable";
  readonly workspace: string | null;
  readonly updatedAt: number;
  /** Of all its runs, with everybody below. */
  readonly tokens: number;
  readonly cost: number;
  /** Part of both was not reported by a provider: they are at most so much. */
  readonly estimated?: true;
  /** How many runs it has. */
  readonly runs: number;
  /** Something has happened since the reader last looked; absent when that time is not given. */
  readonly unread?: boolean;
}

const lastMessageLength = 120;
const titleLength = 120;

/** What a finished run came to does not change any more. */
const finished = new StoreMemory<SessionRow>(5000);

/** What one run says about the session that it is the latest of. */
export async function latestOf(
  store: Store,
  row: RunRow,
  workers: AskWorkers,
): Promise<SessionRow> {
  const known = finished.get(store, row.id);
  if (known !== undefined) return known;
  const now = await look(store, row, workers);
  if (row.outcome !== null && now.status !== "unreadable") finished.keep(store, row.id, now);
  return now;
}

async function look(store: Store, row: RunRow, workers: AskWorkers): Promise<SessionRow> {
  let run: RunState | undefined;
  try {
    run = await store.readRun(row.id);
  } catch (error) {
    return unreadableRow(row, error);
  }
  const root = run && rootOf(run);
  if (run === undefined || root === undefined) return unreadableRow(row, "it has no agent");
  const isGone = await isRunInterrupted(store, run, workers);
  return {
    ...bare(row),
    lastMessage: harmlessLine(lastSaid(run, root), lastMessageLength),
    status: isGone ? "interrupted" : sessionStatus(root),
    updatedAt: run.finishedAt ?? lastActivity(root),
    ...spentIn(run),
  };
}

function lastSaid({ task }: RunState, root: NonNullable<ReturnType<typeof rootOf>>): string {
  if (root.status !== "closed") return task;
  return (root.finalStatus === "completed" ? root.output?.text : root.failure?.error) ?? "";
}

export function unreadableRow(row: RunRow, cause: unknown): SessionRow {
  // A store that was closed under the list is no damage.
  if (cause instanceof MandateError && cause.code === "closed") throw cause;
  const reason = typeof cause === "string" ? cause : messageOf(cause);
  const lastMessage = harmlessLine(`The log cannot be read: ${reason}`, lastMessageLength);
  return { ...bare(row), lastMessage, status: "unreadable" };
}

export function titleLine(title: string): string {
  return harmlessLine(title, titleLength);
}

function bare(row: RunRow): Omit<SessionRow, "lastMessage" | "status"> {
  return {
    id: row.id,
    runId: row.id,
    title: titleLine(row.task),
    profile: "",
    workspace: row.workspace,
    updatedAt: row.finishedAt ?? row.startedAt,
    tokens: row.tokens,
    cost: row.cost,
    runs: 1,
  };
}

const firstPortion = 64;
const growth = 8;

/** Rows of runs, asked for in growing portions: most lists need the first one alone. */
export class RunRows {
  readonly #store: Store;
  readonly #byId = new Map<string, RunRow>();
  #size = firstPortion;
  #isComplete = false;

  constructor(store: Store) {
    this.#store = store;
  }

  /** A run that starts during the read may come late. */
  async *newestFirst(): AsyncGenerator<RunRow> {
    for (let given = 0; ; ) {
      if (given === this.#byId.size && !(await this.#grow())) return;
      for (const row of [...this.#byId.values()].slice(given)) {
        given++;
        yield row;
      }
    }
  }

  async of(runId: string): Promise<RunRow | undefined> {
    while (!this.#byId.has(runId)) if (!(await this.#grow())) return undefined;
    return this.#byId.get(runId);
  }

  async #grow(): Promise<boolean> {
    if (this.#isComplete) return false;
    const before = this.#byId.size;
    const rows = await this.#store.listRuns({ limit: this.#size });
    for (const row of rows) if (!this.#byId.has(row.id)) this.#byId.set(row.id, row);
    this.#isComplete = rows.length < this.#size;
    this.#size *= growth;
    return this.#byId.size > before;
  }
}
