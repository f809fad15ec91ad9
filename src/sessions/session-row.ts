import { type AskWorkers, isRunInterrupted } from "../events/is-worked-on.ts";
import type { RunState } from "../events/run-state.ts";
import { spentIn } from "../events/spent.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { messageOf } from "../ports/message-of.ts";
import type { RunRow, Store } from "../ports/store.ts";
import { harmlessLine } from "./harmless-text.ts";
import { lastActivity, rootOf, type SessionStatus, sessionStatus } from "./session.ts";
import { StoreMemory } from "./store-memory.ts";

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
