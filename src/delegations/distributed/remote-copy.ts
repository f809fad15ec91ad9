import { existsSync } from "node:fs";
import { join, sep } from "node:path";
import type { Contract } from "../../contracts/contract.ts";
import type { Delegation } from "../../events/delegation.ts";
import type { RunState } from "../../events/run-state.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { WorkingCopy } from "../../workspaces/git/copies/working-copy.ts";
import type { EngineParts } from "../engine-parts.ts";
import type { CopyTravel } from "../execution.ts";
import type { LiveRun } from "../live-run.ts";
import { surroundingsOf } from "../start/placement.ts";
import { bundlesIn, eventsOf, readBundle } from "./remote-copy-bundles.ts";
import { lastWritten } from "./remote-copy-writes.ts";

/**
 * The copy that a delegation works in, on this machine: where it was made, or made once more from
 * its bundle. Null: it works in none. Undefined: there is none here. Throws when there could only be
 * one that does not hold what its conversation speaks of.
 */
export async function copyFor(
  run: LiveRun,
  log: RunState | null,
  { contract, delegation, parent, role }: Parameters<CopyTravel["copyFor"]>[0],
): Promise<WorkingCopy | null | undefined> {
  const { base, copy: named } = contract.workspace;
  if (named === undefined) return null;
  const { store } = run.parts;
  const copies = await run.parts.copies();
  const { id } = named;
  const found = (): WorkingCopy | undefined => (copies.has(id) ? copies.take(id) : undefined);
  if (role === "none") return found();
  const events = await eventsOf(store, delegation.id);
  const { start } = bundlesIn(events);
  if (start === undefined) return found();
  const { at, root } = surroundingsOf({ caller: parent, run });
  const prefix = prefixOf(contract);
  const unpack = async (): Promise<WorkingCopy> => {
    const text = await readBundle(store, start);
    return copies.unpack({ id, text, base: base ?? "", prefix, standsFor: without(at, prefix) });
  };
  if (role === "caller") {
    try {
      const copy = found() ?? (await unpack());
      return copy.source.kind === "elsewhere" ? await copies.bringHome(copy, root) : copy;
    } catch (error) {
      // The child ends for it, not its caller.
      if (error instanceof MandateError) return undefined;
      throw error;
    }
  }
  const { fence } = run.settings.ownership;
  const written = await lastWritten(run.parts, log, delegation, events, fence);
  if (written > (copies.has(id) ? copies.claimOf(id) : 0)) throw lostWork(delegation.id);
  const copy = found() ?? (await unpack());
  // What is written from now on is written here.
  copies.noteClaim(id, fence);
  return copy;
}

/**
 * Whether a worker can see what a delegation works in, or can have it made here. One whose work lies
 * on another machine is for that machine, as long as it may come back.
 */
export async function canReachWorkspace(
  parts: EngineParts,
  run: RunState,
  delegation: Delegation,
  contract: Contract,
): Promise<boolean> {
  const { copy, root } = contract.workspace;
  if (root === null) return true;
  const owner = copy === undefined ? await copyAround(parts, run, delegation) : undefined;
  if (owner !== undefined) return (await parts.copies()).claimOf(owner.id) === owner.share?.fence;
  if (copy === undefined) return existsSync(root);
  const events = await eventsOf(parts.store, delegation.id);
  if (bundlesIn(events).start === undefined) return existsSync(root);
  const copies = await parts.copies();
  const claim = copies.has(copy.id) ? copies.claimOf(copy.id) : 0;
  return (await lastWritten(parts, run, delegation, events)) <= claim;
}

/** Who works in a copy that travels, and has the one who is asked about work in its folder. */
async function copyAround(
  { store }: EngineParts,
  run: RunState,
  delegation: Delegation,
): Promise<Delegation | undefined> {
  for (let one = above(run, delegation); one !== undefined; one = above(run, one)) {
    const { workspace } = await store.readContract(one.id);
    if (workspace.copy === undefined) continue;
    const { start } = bundlesIn(await eventsOf(store, one.id));
    return start === undefined ? undefined : one;
  }
  return undefined;
}

function above(run: RunState, { parentId }: Delegation): Delegation | undefined {
  return parentId === null ? undefined : run.delegations.get(parentId);
}

/** Which part of what was copied its workspace is: its contract says it, by the folder's name. */
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

function lostWork(id: string): MandateError {
  return new MandateError(
    "conflict",
    `What ${id} had written lies on a machine that does not work on it any more, and its conversation speaks of it. Delegate its task again.`,
  );
}
