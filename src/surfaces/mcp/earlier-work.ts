import { runOwnersOf } from "../../control/access/run-owners.ts";
import type { CloseReason } from "../../events/close-reason.ts";
import { type Delegation, isOpen } from "../../events/delegation.ts";
import { type AskWorkers, askWorkersOnce, isRunInterrupted } from "../../events/is-worked-on.ts";
import { isPaused, type RunState, subtree } from "../../events/run-state.ts";
import type { DelegationInfo } from "../../ports/delegator.ts";
import type { RunRow, Store } from "../../ports/store.ts";
import { infoOf } from "../../sessions/delegation-result.ts";
import { readHead, type SessionHead } from "../../sessions/session-chain.ts";
import { unnamedClient } from "./client-abilities.ts";
import { isInside } from "./client-folders.ts";
import type { ClientSession } from "./client-session.ts";

/** A sub-agent of another session of the same client. */
export interface EarlierSubAgent extends Omit<DelegationInfo, "status"> {
  /** interrupted: it is open, and no process works on it. */
  readonly status: DelegationInfo["status"] | "interrupted";
  readonly runId: string;
  /** The command that resumes it; absent: it works, it ended by itself, or it was resumed. */
  readonly resume?: string;
  /** The delegation that continued its work last. */
  readonly continuedBy?: string;
}

/** How many runs are looked at, and how many sub-agents are shown. */
const mostRuns = 200;
const mostShown = 50;

/**
 * What the client delegated in other sessions, the latest last: in runs of the same principal, of a
 * client with the same name, in the folders of this session. The log says all of that, so a client
 * finds its work again after its server was killed. A client without a name has no other sessions.
 */
export async function earlierWork(session: ClientSession): Promise<readonly EarlierSubAgent[]> {
  if (session.client === unnamedClient && session.runsElsewhere.length === 0) return [];
  const { store } = session.runtime;
  const folders = await session.workspaces();
  const workers = askWorkersOnce(store);
  const resumed = new Map<string, SessionHead>();
  const found: EarlierSubAgent[] = [];
  for (const row of await store.listRuns({ limit: mostRuns })) {
    // A damaged log must not hide the others.
    const head = await readHead(store, row.id).catch(() => undefined);
    // Newest first; a fork is work of its own.
    const isNewest = head?.resumedFrom && head.resumedAt === null && !resumed.has(head.resumedFrom);
    if (isNewest) resumed.set(head.resumedFrom, head);
    if (!head || !(await isEarlierSession(row, head, session, folders))) continue;
    const run = await store.readRun(row.id).catch(() => undefined);
    if (run === undefined) continue;
    const isInterrupted = await isRunInterrupted(store, run, workers);
    const below = subtree(run, head.id).filter(({ id }) => id !== head.id);
    const listed = below.map((one) => withContinuation(run, one, isInterrupted, resumed));
    const own = await Promise.all(listed.map((one) => describeAll(store, one, workers)));
    found.unshift(...own.flat());
    if (found.length >= mostShown) break;
  }
  return found.slice(-mostShown);
}

async function isEarlierSession(
  { id, workspace }: RunRow,
  head: SessionHead,
  { client, principal, runsElsewhere, runtime, sessions }: ClientSession,
  folders: readonly string[],
): Promise<boolean> {
  if (runsElsewhere.includes(id)) return true;
  const isThere =
    workspace === null
      ? folders.length === 0
      : folders.some((folder) => isInside(folder, workspace));
  if (
    client === unnamedClient ||
    head.client !== client ||
    !isThere ||
    sessions.some(({ runId }) => runId === id)
  )
    return false;
  return (await runOwnersOf(runtime.store).of(id)) === principal.id;
}

/** Close reasons of a delegation that ended because its caller or its process did. */
const endedFromOutside: readonly CloseReason[] = ["parent_closed", "parent_crash", "worker_lost"];

function withContinuation(
  run: RunState,
  one: Delegation,
  isInterrupted: boolean,
  resumed: ReadonlyMap<string, SessionHead>,
): readonly [EarlierSubAgent, SessionHead?] {
  let last: SessionHead | undefined;
  for (let next = resumed.get(one.id); next !== undefined; next = resumed.get(next.id)) last = next;
  const wasCut = isOpen(one)
    ? isInterrupted
    : one.status === "closed" && endedFromOutside.includes(one.closeReason);
  const info = describe(run, one, isInterrupted);
  if (last !== undefined) return [{ ...info, continuedBy: last.id }, last];
  return [wasCut ? { ...info, resume: `mandate resume ${run.id}` } : info];
}

/** A sub-agent, and the delegation that continued its work. */
async function describeAll(
  store: Store,
  [info, last]: readonly [EarlierSubAgent, SessionHead?],
  workers: AskWorkers,
): Promise<readonly EarlierSubAgent[]> {
  const run = last && (await store.readRun(last.runId).catch(() => undefined));
  const one = last && run?.delegations.get(last.id);
  if (run === undefined || one === undefined) return [info];
  return [info, describe(run, one, await isRunInterrupted(store, run, workers))];
}

function describe(run: RunState, one: Delegation, isInterrupted: boolean): EarlierSubAgent {
  const { isInterrupted: isCut, status, ...info } = infoOf(run, one, isInterrupted);
  return { ...info, status: isCut ? "interrupted" : status, runId: run.id };
}

/** The message about an open delegation on which no process works; undefined: it closed, or works. */
export async function interruptionOf(
  store: Store,
  id: string,
  run: RunState,
): Promise<string | undefined> {
  const delegation = run.delegations.get(id);
  if (delegation === undefined || !isOpen(delegation)) return undefined;
  if (!(await isRunInterrupted(store, run))) return undefined;
  const why = isPaused(run)
    ? "was paused"
    : "was interrupted: the process that worked on it is gone";
  return `${id} ${why}, and no process works on it now. To resume its work: mandate resume ${run.id}. To close it: mandate cancel ${run.id}. Then delegate the task again.`;
}
