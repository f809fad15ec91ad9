import { existsSync, realpathSync } from "node:fs";
import { basename, resolve } from "node:path";
import type { Contract } from "../../contracts/contract.ts";
import { usedCopies } from "../../delegations/changes/take-over.ts";
import { type Delegation, isOpen } from "../../events/delegation.ts";
import type { StoredEvent } from "../../events/event.ts";
import { tellPruned } from "../../events/pruned-runs.ts";
import { controlRunId } from "../../ports/identity.ts";
import { MandateError, NoKeptWork, type NoWorkReason } from "../../ports/mandate-error.ts";
import type { Store } from "../../ports/store.ts";
import { headOf, oneLine } from "../../text.ts";
import { WorkingCopies } from "../../workspaces/git/copies/working-copies.ts";
import {
  readCopyRecord,
  type WorkingCopy,
  workingCopyOf,
} from "../../workspaces/git/copies/working-copy.ts";

export interface KeptWorkParts {
  readonly store: Store;
  /** MANDATE_HOME. */
  readonly home: string;
}

/** A delegation, and its changes outside of its caller's folder. */
export interface Work {
  readonly runId: string;
  readonly delegation: Delegation;
  readonly contract: Contract;
  /** Undefined: the delegation had no copy, has not started yet, or its copy was removed. */
  readonly copy: WorkingCopy | undefined;
  /** The last integration that was attempted. */
  readonly merge: StoredEvent<"agent.worktree_merged"> | undefined;
}

export type WorkWithCopy = Work & { readonly copy: WorkingCopy };

/**
 * Finds the work of a delegation. A run's id means its root, or the only delegation for which
 * `isMeant` is true; if there are several, the error names them.
 */
export async function findWork(
  { store, home }: KeptWorkParts,
  id: string,
  isMeant: (work: Work) => boolean,
): Promise<Work> {
  const runId = await store.findRun(id);
  const run = runId === undefined ? undefined : await store.readRun(runId);
  if (run === undefined) {
    const shown = JSON.stringify(headOf(id, 40));
    const message = (await tellPruned(store, id)) ?? `There is no run or delegation ${shown} here.`;
    throw new MandateError("unknown-delegation", message);
  }
  const merges = new Map<string, StoredEvent<"agent.worktree_merged">>();
  for await (const event of store.readEvents({ runId: run.id })) {
    if (event.type === "agent.worktree_merged") merges.set(event.sub_agent_id ?? "", event);
  }
  const read = async (delegation: Delegation): Promise<Work> => {
    const contract = await store.readContract(delegation.id);
    const copy = openCopy(home, contract);
    return { runId: run.id, delegation, contract, copy, merge: merges.get(delegation.id) };
  };
  const named = run.delegations.get(id);
  if (named !== undefined) return read(named);
  const works: Work[] = [];
  for (const delegation of run.delegations.values()) works.push(await read(delegation));
  const root = works.find(({ delegation }) => delegation.parentId === null);
  if (root === undefined) {
    throw new MandateError("unknown-delegation", `Run ${run.id} has no delegations.`);
  }
  if (isMeant(root)) return root;
  const meant = works.filter(isMeant);
  if (meant.length > 1) throw severalMeant(run.id, meant);
  return meant[0] ?? root;
}

function severalMeant(runId: string, works: readonly Work[]): MandateError {
  const shown = works.slice(0, 20).map(({ delegation: { id, profile, title } }) => {
    return `\n  ${id}  ${profile}  ${headOf(oneLine(title), 60)}`;
  });
  const more = works.length - shown.length;
  const rest = more > 0 ? `\n  and ${more} more` : "";
  return new MandateError(
    "usage",
    `Run ${runId} has work of ${works.length} delegations. Name one of them:${shown.join("")}${rest}`,
  );
}

/** The copy that a contract names. */
function openCopy(home: string, { workspace }: Contract): WorkingCopy | undefined {
  const { copy, base } = workspace;
  if (copy === undefined || !existsSync(home)) return undefined;
  const place = realpathSync.native(resolve(home));
  const record = readCopyRecord(place, copy.id);
  // One home can serve several databases with the same ids; their bases differ.
  if (record === undefined || (base !== null && record.base !== base)) return undefined;
  return workingCopyOf(place, record);
}

/** Throws `NoKeptWork` with the reason when the copy does not exist. */
export async function requireCopy(parts: KeptWorkParts, work: Work): Promise<WorkWithCopy> {
  const { copy } = work;
  if (copy !== undefined) return { ...work, copy };
  throw new NoKeptWork(work.delegation.id, await reasonFor(parts, work));
}

export async function reasonFor({ store }: KeptWorkParts, work: Work): Promise<NoWorkReason> {
  const { contract, delegation, merge } = work;
  const { copy, allow_writes } = contract.workspace;
  if (copy === undefined) return allow_writes ? "in-place" : "read-only";
  if (isOpen(delegation)) return "not-started";
  const decided = await readDecision(store, delegation.id);
  if (decided !== undefined) return decided;
  const isMerged = delegation.status === "closed" && delegation.finalStatus === "completed";
  return isMerged && merge !== undefined && merge.payload.commit !== null ? "merged" : "unchanged";
}

/** The last decision of a person about the work, from the control log. */
async function readDecision(
  store: Store,
  delegationId: string,
): Promise<"merged" | "discarded" | undefined> {
  let decided: "merged" | "discarded" | undefined;
  for await (const event of store.readEvents({ runId: controlRunId })) {
    if (event.type !== "command.executed") continue;
    const { command, outcome } = event.payload;
    const [verb, id] = command.split(" ");
    if (id !== delegationId) continue;
    if (verb === "merge" && outcome === "merged") decided = "merged";
    if (verb === "discard" && outcome === "discarded") decided = "discarded";
  }
  return decided;
}

/**
 * Acts on a copy while no process can resume a delegation in it, because both use one lock. The
 * work is read again under the lock.
 */
export async function holdUnused<Result>(
  parts: KeptWorkParts,
  { copy, delegation }: WorkWithCopy,
  act: (work: WorkWithCopy) => Promise<Result>,
): Promise<Result> {
  return new WorkingCopies(parts.home).holding(copy.id, async () => {
    const work = await requireCopy(parts, await findWork(parts, delegation.id, isClosed));
    const user = (await usedCopies(parts.store)).get(copy.id);
    if (user === undefined) return act(work);
    const sentence =
      user === delegation.id
        ? `Delegation ${user} has not ended yet. Cancel it first, or wait.`
        : `Delegation ${user} continues the work of ${delegation.id}. Cancel it first, or wait.`;
    throw new MandateError("conflict", sentence);
  });
}

/**
 * Throws while the target is in use: changes on top of another agent's copy are merged into that
 * copy, after that agent is closed.
 */
export async function requireTargetAtRest(
  { store }: KeptWorkParts,
  { delegation, copy }: WorkWithCopy,
): Promise<void> {
  const { kind, toplevel } = copy.source;
  if (kind !== "copy") return;
  const target = basename(toplevel);
  const user = (await usedCopies(store)).get(target);
  const about = `Delegation ${delegation.id} worked on top of what ${user ?? target} has changed`;
  if (user !== undefined) {
    throw new MandateError("conflict", `${about}. Wait until ${user} has ended, or cancel it.`);
  }
  if (existsSync(toplevel)) return;
  const next = "Apply its diff by hand, with git apply.";
  throw new MandateError("conflict", `${about}, and the copy of ${target} is gone. ${next}`);
}

export function isClosed({ delegation }: Work): boolean {
  return delegation.status === "closed";
}
