import { sep } from "node:path";
import type { Contract } from "../../contracts/contract.ts";
import type { FileEvidence } from "../../events/event.ts";
import type { RunState } from "../../events/run-state.ts";
import { NoKeptWork } from "../../ports/mandate-error.ts";
import { type DiffedFile, diffOfDelegation } from "./diff-of-delegation.ts";
import type { KeptWorkParts } from "./find-work.ts";

/** What a run changed in the folder that it was started in. */
export interface ChangesOfRun {
  readonly files: readonly DiffedFile[];
  /** Commands ran in that folder, and may have changed other files. */
  readonly hasCommands: boolean;
}

/**
 * The files that the agents of a run changed in its own folder: by their tools, or by a merge into it.
 * What is only in a working copy is left out. A file that ended as it began is left out as well.
 */
export async function changesOfRun(parts: KeptWorkParts, run: RunState): Promise<ChangesOfRun> {
  const { store } = parts;
  const merged = new Set<string>();
  const types = ["agent.worktree_merged"] as const;
  for await (const event of store.readEvents({ runId: run.id, types })) {
    if (event.sub_agent_id !== undefined) merged.add(event.sub_agent_id);
  }
  const workspaceOf = async (id: string): Promise<Contract["workspace"] | undefined> =>
    (await store.readContract(id).catch(() => undefined))?.workspace;
  const isOwn = (workspace: Contract["workspace"] | undefined): boolean =>
    workspace !== undefined &&
    workspace.copy === undefined &&
    isInside(workspace.root, run.workspace);
  const changes = new Map<string, Change>();
  let hasCommands = false;
  for (const delegation of run.delegations.values()) {
    if (delegation.status !== "closed") continue;
    const { id, parentId, seal } = delegation;
    const { calls = {}, files = [] } = seal;
    const ranCommands = (calls["shell"] ?? 0) > 0;
    // Contracts are read only where there is something to tell.
    if (files.length === 0 && !ranCommands && !merged.has(id)) continue;
    const workspace = await workspaceOf(id);
    if (isOwn(workspace)) {
      hasCommands ||= ranCommands;
      for (const file of files) add(changes, changeOf(file));
    } else if (
      workspace?.copy !== undefined &&
      (parentId === null || isOwn(await workspaceOf(parentId)))
    ) {
      for (const file of await mergedFiles(parts, id)) add(changes, fromDiff(file));
    }
  }
  const files = [...changes.values()].filter(({ after, before }) => before !== after);
  return { files: files.map(asDiffed).sort(byPath), hasCommands };
}

interface Change {
  readonly path: string;
  /** A hash, or a sign that differs from every hash; null: the file did not exist. */
  readonly before: string | null;
  readonly after: string | null;
  readonly lines: DiffedFile["lines"];
}

function isInside(root: string | null, workspace: string | null): boolean {
  if (root === null || workspace === null) return false;
  return root === workspace || root.startsWith(workspace + sep);
}

/** The files of a delegation whose changes were merged; otherwise none. */
async function mergedFiles(parts: KeptWorkParts, id: string): Promise<readonly DiffedFile[]> {
  try {
    const { files, source } = await diffOfDelegation(parts, id, { maximumBytes: 1024 * 1024 });
    return source === "log" ? files : [];
  } catch (error) {
    if (error instanceof NoKeptWork) return [];
    throw error;
  }
}

function changeOf({ after, before, lines, path }: FileEvidence): Change {
  return { path, before, after, lines: lines ?? null };
}

function fromDiff({ change, lines, path }: DiffedFile): Change {
  const before = change === "added" ? null : "before the merge";
  return { path, before, after: change === "removed" ? null : "after the merge", lines };
}

function add(changes: Map<string, Change>, next: Change): void {
  const first = changes.get(next.path);
  if (first === undefined) {
    changes.set(next.path, next);
    return;
  }
  const lines =
    first.lines === null || next.lines === null
      ? null
      : {
          added: first.lines.added + next.lines.added,
          removed: first.lines.removed + next.lines.removed,
        };
  changes.set(next.path, { ...next, before: first.before, lines });
}

function asDiffed({ after, before, lines, path }: Change): DiffedFile {
  if (before !== null) return { path, change: after === null ? "removed" : "changed", lines };
  // Lines that came and went again while the file was new.
  const added = lines && { added: lines.added - lines.removed, removed: 0 };
  return { path, change: "added", lines: added };
}

function byPath(left: DiffedFile, right: DiffedFile): number {
  return left.path < right.path ? -1 : 1;
}
