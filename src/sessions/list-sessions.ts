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
  /** Lists only sessions whose work was in this folder. */
  readonly workspace?: string | undefined;
  /** The most sessions: 20 by default, 1000 at most. */
  readonly limit?: number | undefined;
  /** The `id` of a session: lists those after it. */
  readonly before?: string | undefined;
  /** When the reader last looked; later activity is unread. */
  readonly readUntil?: number | undefined;
}

/**
 * The sessions of people, latest first. A session that was continued twice from one point is listed twice.
 * Reads the whole logs of the listed sessions only, and the beginning of the other runs.
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
  /** Delegations that a newer run continues, and so are not the end of a session. */
  const continued = new Set<string>();
  const found: SessionRow[] = [];
  let isPast = before === undefined;
  for await (const row of rows.newestFirst()) {
    if (workspace !== undefined && row.workspace !== workspace) continue;
    const { head, problem } = await beginning(store, row);
    const id = head?.id ?? row.id;
    // A fork does not continue the end of a session.
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

/** Data that is read once for the whole list. */
interface ListContext {
  readonly rows: RunRows;
  readonly titles: ReadonlyMap<string, string>;
  readonly workers: AskWorkers;
}

async function describe(
  store: Store,
  row: RunRow,
  head: SessionHead,
  { rows, titles, workers }: ListContext,
): Promise<SessionRow> {
  const { links } = await readChain(store, head);
  const now = await latestOf(store, row, workers);
  let spent: Spent = now;
  for (const { isRoot, runId } of links.slice(0, -1)) {
    // The cost of a child is part of its own run.
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
  /** The delegation to continue from; the run's id, where it cannot be read. */
  readonly id: string;
  readonly runId: string;
  readonly title: string;
  readonly profile: string;
  /** The name of the program that runs this agent; absent: the agent is ours. */
  readonly client?: string;
  /** One line of at most 120 characters: the agent's last answer, or its task. */
  readonly lastMessage: string;
  /** `interrupted`: no process works on it. `unreadable`: its log is damaged. */
  readonly status: SessionStatus | "interrupted" | "unreadable";
  readonly workspace: string | null;
  readonly updatedAt: number;
  /** The tokens of all its runs, including descendants. */
  readonly tokens: number;
  readonly cost: number;
  /** Part of both is an estimate: the real amounts are at most these. */
  readonly estimated?: true;
  /** The number of the session's runs. */
  readonly runs: number;
  /** Whether there is activity since `readUntil`; absent without `readUntil`. */
  readonly unread?: boolean;
}

const lastMessageLength = 120;
const titleLength = 120;

/** Rows of finished runs, which do not change. */
const finished = new StoreMemory<SessionRow>(5000);

/** The row of a session, from its latest run alone. */
async function latestOf(store: Store, row: RunRow, workers: AskWorkers): Promise<SessionRow> {
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

function unreadableRow(row: RunRow, cause: unknown): SessionRow {
  // A closed store is not a damaged log.
  if (cause instanceof MandateError && cause.code === "closed") throw cause;
  const reason = typeof cause === "string" ? cause : messageOf(cause);
  const lastMessage = harmlessLine(`The log cannot be read: ${reason}`, lastMessageLength);
  return { ...bare(row), lastMessage, status: "unreadable" };
}

function titleLine(title: string): string {
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

/** Rows of runs, read in growing portions, because most lists need only the first. */
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
