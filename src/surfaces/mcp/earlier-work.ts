import { runOwnersOf } from "../../control/access/run-owners.ts";
import type { CloseReason } from "../../events/close-reason.ts";
import { type Delegation, isOpen } from "../../events/delegation.ts";
import { askWorkersOnce, isRunInterrupted } from "../../events/is-worked-on.ts";
import { type RunState, subtree } from "../../events/run-state.ts";
import type { DelegationInfo } from "../../ports/delegator.ts";
import { infoOf } from "../../sessions/delegation-result.ts";
import { unnamedClient } from "./client-abilities.ts";
import { isInside } from "./client-folders.ts";
import type { ClientSession } from "./client-session.ts";

/** A sub-agent of another session of the same client. */
export interface EarlierSubAgent extends Omit<DelegationInfo, "status"> {
  /** interrupted: it is open, and no process works on it. */
  readonly status: DelegationInfo["status"] | "interrupted";
  readonly runId: string;
  /** The command that resumes it; absent: it works, or it ended by itself. */
  readonly resume?: string;
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
  if (session.client === unnamedClient) return [];
  const { client, principal, runtime, sessions } = session;
  const { store } = runtime;
  const folders = await session.workspaces();
  const owners = runOwnersOf(store);
  const workers = askWorkersOnce(store);
  const own = new Set(sessions.map(({ runId }) => runId));
  const found: EarlierSubAgent[] = [];
  for (const { id, workspace } of await store.listRuns({ limit: mostRuns })) {
    const isThere =
      workspace === null
        ? folders.length === 0
        : folders.some((folder) => isInside(folder, workspace));
    if (own.has(id) || !isThere || (await owners.of(id)) !== principal.id) continue;
    // A damaged log must not hide the others.
    const run = await store.readRun(id).catch(() => undefined);
    const root = run && rootOf(run);
    if (run === undefined || root?.client !== client) continue;
    const isInterrupted = await isRunInterrupted(store, run, workers);
    const below = subtree(run, root.id).filter((one) => one !== root);
    found.unshift(...below.map((one) => describe(run, one, isInterrupted)));
    if (found.length >= mostShown) break;
  }
  return found.slice(-mostShown);
}

function rootOf({ delegations }: RunState): Delegation | undefined {
  return [...delegations.values()].find(({ depth, parentId }) => parentId === null && depth === 0);
}

function describe(run: RunState, one: Delegation, isInterrupted: boolean): EarlierSubAgent {
  const resume = resumeCommand(run, one, isInterrupted);
  const { isInterrupted: isCut, status, ...info } = infoOf(run, one, isInterrupted);
  return {
    ...info,
    status: isCut ? "interrupted" : status,
    runId: run.id,
    ...(resume !== undefined && { resume }),
  };
}

/** They say that a delegation ended because its caller or its process did. */
const endedFromOutside: readonly CloseReason[] = ["parent_closed", "parent_crash", "worker_lost"];

/** Undefined: it works, or it ended by itself. */
function resumeCommand(run: RunState, one: Delegation, isInterrupted: boolean): string | undefined {
  const wasCut = isOpen(one)
    ? isInterrupted
    : one.status === "closed" && endedFromOutside.includes(one.closeReason);
  return wasCut ? `mandate resume ${run.id}` : undefined;
}
