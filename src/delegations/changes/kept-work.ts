import { existsSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import type { Contract } from "../../contracts/contract.ts";
import { type Delegation, isOpen } from "../../events/delegation.ts";
import type { StoredEvent } from "../../events/event.ts";
import { tellPruned } from "../../events/pruned-runs.ts";
import { controlRunId } from "../../ports/identity.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Store } from "../../ports/store.ts";
import { headOf, oneLine } from "../../text.ts";
import {
  readCopyRecord,
  type WorkingCopy,
  workingCopyOf,
} from "../../workspaces/git/copies/working-copy.ts";
import { NoKeptWork, type NoWorkReason } from "./no-kept-work.ts";

export interface KeptWorkParts {
  readonly store: Store;
  /** MANDATE_HOME. */
  readonly home: string;
}

/** A delegation, and what there is of its work outside of its caller's folder. */
export interface Work {
  readonly runId: string;
  readonly delegation: Delegation;
  readonly contract: Contract;
  /** Undefined: it had none, it is not made yet, or it is gone. */
  readonly copy: WorkingCopy | undefined;
  /** The last integration that was tried of it. */
  readonly merge: StoredEvent<"agent.worktree_merged"> | undefined;
}

export type WorkWithCopy = Work & { readonly copy: WorkingCopy };

/**
 * The work that an id is about. A run's id means its root; where that has none of what is asked
 * for, the one delegation below it that has. Several are named, and nothing is chosen.
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
  const merges = await readMerges(store, run.id);
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

async function readMerges(
  store: Store,
  runId: string,
): Promise<ReadonlyMap<string, StoredEvent<"agent.worktree_merged">>> {
  const merges = new Map<string, StoredEvent<"agent.worktree_merged">>();
  for await (const event of store.readEvents({ runId })) {
    if (event.type === "agent.worktree_merged") merges.set(event.sub_agent_id ?? "", event);
  }
  return merges;
}

/** The copy that a contract names, if it is still the same one. */
function openCopy(home: string, { workspace }: Contract): WorkingCopy | undefined {
  const { copy, base } = workspace;
  if (copy === undefined || !existsSync(home)) return undefined;
  const place = realpathSync.native(resolve(home));
  const record = readCopyRecord(place, copy.id);
  // Ids are unique in a database, and one home can have seen several: the base tells them apart.
  if (record === undefined || (base !== null && record.base !== base)) return undefined;
  return workingCopyOf(place, record);
}

/** Throws why there is no copy that could be decided about. */
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

/** What a person did with the work afterwards, by the control log. */
async function readDecision(
  store: Store,
  delegationId: string,
): Promise<"merged" | "discarded" | undefined> {
  let decided: "merged" | "discarded" | undefined;
  for await (const event of store.readEvents({ runId: controlRunId })) {
    if (event.type !== "command.executed") continue;
    const { command, outcome } = event.payload;
    const [word, id] = command.split(" ");
    if (id !== delegationId) continue;
    if (word === "merge" && outcome === "merged") decided = "merged";
    if (word === "discard" && outcome === "discarded") decided = "discarded";
  }
  return decided;
}
