import { existsSync } from "node:fs";
import { join, sep } from "node:path";
import type { Contract } from "../../contracts/contract.ts";
import type { Delegation } from "../../events/delegation.ts";
import type { ArtifactReference } from "../../events/event.ts";
import { sha256 } from "../../events/hash-chain.ts";
import { childrenOf, type RunState } from "../../events/run-state.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Store } from "../../ports/store.ts";
import type { WorkingCopy } from "../../workspaces/git/copies/working-copy.ts";
import type { ReceivedChanges } from "../../workspaces/git/travel/receive-changes.ts";
import type { EngineParts } from "../engine-parts.ts";
import type { LiveDelegation } from "../live-delegation.ts";
import type { FreshCopy, LiveRun } from "../live-run.ts";
import { surroundingsOf } from "../start/placement.ts";

export async function packStart({
  caller,
  copies,
  copy,
  run: { execution, parts },
}: FreshCopy): Promise<ArtifactReference | undefined> {
  // The work of a root is merged into the person's folder, so its copy does not travel.
  if (caller === null || execution.log === null || parts.sendsCopies !== true) return undefined;
  return parts.store.keepArtifact(await copies.pack(copy));
}

export async function packWork({
  contract,
  copy,
  run,
  state,
}: LiveDelegation): Promise<ArtifactReference | undefined> {
  if (copy === null || state.share?.start === undefined) return undefined;
  const copies = await run.parts.copies();
  const packed = await copies.packChanges(copy, contract.step.title);
  const kept = await run.parts.store.keepArtifact(packed.text);
  // From here on this copy holds nothing that is not in the store.
  copies.noteSent(copy, packed);
  return kept;
}

export async function receiveWork(
  { run, state }: LiveDelegation,
  copy: WorkingCopy,
): Promise<ReceivedChanges | undefined> {
  const { changes } = state.share ?? {};
  if (changes === undefined) return undefined;
  const text = await readBundle(run.parts.store, changes);
  return (await run.parts.copies()).receive(copy, text);
}

async function readBundle(store: Store, { hash }: ArtifactReference): Promise<string> {
  const text = await store.readArtifact(hash);
  if (text === undefined) {
    throw new MandateError("conflict", `The bundle ${hash} is missing from the store.`);
  }
  if (sha256(text) === hash) return text;
  throw new MandateError("conflict", `The bundle ${hash} is not the one that the log names.`);
}

/**
 * The copy that a delegation works in, on this machine: where it was made, or made again from its
 * bundle. Null: it works in none. Undefined: it is not here. Throws when the only copy that could be
 * made does not hold what its conversation speaks of.
 */
export async function copyFor(
  run: LiveRun,
  delegation: Delegation,
  {
    contract,
    parent,
    role,
  }: {
    readonly contract: Contract;
    readonly parent: LiveDelegation | null;
    readonly role: CopyRole;
  },
): Promise<WorkingCopy | null | undefined> {
  const { base, copy: named } = contract.workspace;
  if (named === undefined) return null;
  const { parts } = run;
  const copies = await parts.copies();
  const { id } = named;
  const take = (): WorkingCopy | undefined => (copies.has(id) ? copies.take(id) : undefined);
  const { start } = delegation.share ?? {};
  if (role === "none" || start === undefined) return take();
  const { at, root } = surroundingsOf({ caller: parent, run });
  const prefix = prefixOf(contract);
  const unpack = async (): Promise<WorkingCopy> => {
    const text = await readBundle(parts.store, start);
    return copies.unpack({ id, text, base: base ?? "", prefix, standsFor: without(at, prefix) });
  };
  if (role === "caller") {
    try {
      const copy = take() ?? (await unpack());
      return copy.source.kind === "elsewhere" ? await copies.bringHome(copy, root) : copy;
    } catch (error) {
      // The child closes because of it, not its caller.
      if (error instanceof MandateError) return undefined;
      throw error;
    }
  }
  const { fence } = run.settings.ownership;
  const written = await lastWritten(parts, run.execution.log, delegation, fence);
  if (written > (copies.has(id) ? copies.claimOf(id) : 0)) {
    throw new MandateError(
      "conflict",
      `The files that ${delegation.id} had written are on a machine that no longer works on it, and its conversation speaks of them. Delegate its task again.`,
    );
  }
  const copy = take() ?? (await unpack());
  // From this moment on, this worker writes the files of the copy.
  copies.noteClaim(id, fence);
  return copy;
}

/**
 * Whether this worker sees the folder that a delegation works in, or can make it. Work on another
 * machine is left to that machine for as long as it may come back.
 */
export async function canReachWorkspace(
  parts: EngineParts,
  run: RunState,
  delegation: Delegation,
  { workspace: { copy, root } }: Contract,
): Promise<boolean> {
  if (root === null) return true;
  const around = copy === undefined ? await copyAround(parts.store, run, delegation) : undefined;
  if (around !== undefined) {
    return (await parts.copies()).claimOf(around.id) === around.share?.fence;
  }
  if (copy === undefined || delegation.share?.start === undefined) return existsSync(root);
  const copies = await parts.copies();
  const claim = copies.has(copy.id) ? copies.claimOf(copy.id) : 0;
  return (await lastWritten(parts, run, delegation)) <= claim;
}

/** The delegation whose copy, if it travels, is the folder that this one works in. */
async function copyAround(
  store: Store,
  run: RunState,
  delegation: Delegation,
): Promise<Delegation | undefined> {
  const above = ({ parentId }: Delegation) => run.delegations.get(parentId ?? "");
  for (let one = above(delegation); one !== undefined; one = above(one)) {
    const { workspace } = await store.readContract(one.id);
    if (workspace.copy !== undefined) return one.share?.start && one;
  }
  return undefined;
}

/**
 * The fence of the last claim under which files of a delegation's copy may have been written; 0:
 * they are as they were made. Every call that began counts, and so does everything that was merged
 * or written into the folder by children. `until`: the claim of this worker, which has not begun.
 */
async function lastWritten(
  { store, toolbox }: Pick<EngineParts, "store" | "toolbox">,
  run: RunState | null,
  { id }: Delegation,
  until = Number.POSITIVE_INFINITY,
): Promise<number> {
  let claim = 0;
  let written = 0;
  for await (const { payload, type } of store.readEvents({ delegationId: id })) {
    if (type === "agent.claimed" && payload.fence < until) claim = payload.fence;
    else if (type === "agent.tool_started") {
      const effect = toolbox.get(payload.tool)?.effect ?? "exec";
      if (effect === "write" || effect === "exec") written = claim;
    }
  }
  if (written === claim || run === null) return written;
  for (const child of childrenOf(run, id)) {
    if (child.status !== "created" && (await writesAbove(store, child))) return claim;
  }
  return written;
}

/** Whether a child may have written into the folder of its caller. */
async function writesAbove(store: Store, child: Delegation): Promise<boolean> {
  try {
    const { workspace } = await store.readContract(child.id);
    if (workspace.copy === undefined) return workspace.allow_writes;
    return child.status === "closed" && child.finalStatus === "completed";
  } catch (error) {
    // The contract of the child cannot be read any more.
    if (error instanceof MandateError) return true;
    throw error;
  }
}

/** The part of the copied folder that is the workspace: its contract says it, by the folder's name. */
function prefixOf({ workspace }: Contract): string {
  const folder = `${sep}${join("worktrees", workspace.copy?.id ?? "")}`;
  const root = workspace.root ?? "";
  const inside = root.slice(root.lastIndexOf(folder) + folder.length);
  return inside.split(sep).filter(Boolean).join("/");
}

function without(path: string, prefix: string): string {
  const end = prefix === "" ? "" : `/${prefix}`;
  return path.endsWith(end) ? path.slice(0, path.length - end.length) : path;
}

/**
 * What a process is to a delegation that works in a copy. `worker`: it works on it. `caller`: it
 * merges what is made in it. `none`: neither.
 */
export type CopyRole = "worker" | "caller" | "none";
