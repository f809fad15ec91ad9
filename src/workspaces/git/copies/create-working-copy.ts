import { existsSync, mkdirSync, realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import { writeDurablySync } from "../../../files.ts";
import { explainGitFailure, RepositoryRefused } from "../git-failure.ts";
import { findToplevel, type Inspection, inspectRepository } from "../inspect-repository.ts";
import { IntegrationQueue } from "../integration/integration-queue.ts";
import { recoverPlace } from "../integration/recover-integration.ts";
import type { Place } from "../read-git.ts";
import { removeFolder } from "../remove-folder.ts";
import { askGit, requireGit } from "../run-git.ts";
import { captureTree } from "./capture-tree.ts";
import { checkOutCopy, createVault, linkObjects } from "./vault.ts";
import {
  beginCopy,
  type CopyLimits,
  type CopyRecord,
  copyIndex,
  copyLimits,
  layoutOf,
  type WorkingCopy,
  workingCopyOf,
  worktreesOf,
} from "./working-copy.ts";

export interface WorkingCopyRequest {
  /** The workspace: a repository, a folder of one, a plain folder, or a place in another copy. */
  readonly source: string;
  readonly id: string;
  readonly home: string;
  readonly limits?: Partial<CopyLimits>;
  readonly signal?: AbortSignal;
}

/**
 * Creates a child's own copy of a workspace, outside of that workspace. The source is only read.
 * All or nothing: the record is written last, and a copy without record is swept away.
 */
export async function createWorkingCopy(request: WorkingCopyRequest): Promise<WorkingCopy> {
  await requireGit();
  mkdirSync(resolve(request.home), { recursive: true, mode: 0o700 });
  const home = realpathSync.native(resolve(request.home));
  const layout = layoutOf(home, request.id);
  if (existsSync(layout.record)) {
    const sentence = `The working copy "${request.id}" exists already. Discard it first, or use another id.`;
    throw new RepositoryRefused({ code: "copy-exists", sentence });
  }
  const toplevel = await findToplevel(request.source, home);
  await sweepCopy(home, request.id);
  beginCopy(home, request.id);
  try {
    const record = await make(request, home, toplevel);
    writeDurablySync(layout.record, JSON.stringify(record));
    return workingCopyOf(home, record);
  } catch (error) {
    await sweepCopy(home, request.id);
    throw explainGitFailure(error, toplevel);
  }
}

async function make(
  request: WorkingCopyRequest,
  home: string,
  toplevel: string,
): Promise<CopyRecord> {
  const options = request.signal === undefined ? {} : { signal: request.signal };
  const { base, omitted, place, tree: baseTree } = await captureShared(request, home, toplevel);
  await checkOutCopy({ home, id: request.id, base, baseTree, place, ...options });
  return {
    version: 1,
    ...{ id: request.id, head: place.head, base, baseTree, omitted: [...omitted] },
    dirty: base !== place.head,
    source: { kind: place.kind, toplevel: place.toplevel, prefix: place.prefix },
    ...{ borrowed: [...place.objects], objectFormat: place.objectFormat, shallow: place.shallow },
  };
}

interface Captured {
  readonly place: Place;
  readonly ignoreRules: string;
  readonly tree: string;
  readonly omitted: CopyRecord["omitted"];
  readonly base: string;
}

/** A capture that has not begun, and what the copies that share it do when it is there. */
type Joining = ((captured: Captured | null, from: ReturnType<typeof layoutOf>) => void)[];

/** By place. Shared by all of this process, because the lock of a place is as well. */
const joinable = new Map<string, Joining>();

/**
 * Captures that wait for the lock of one place would all find the same state: the first one captures
 * it, and the others take its objects over. A request never gets a state from before it was made.
 */
async function captureShared(
  request: WorkingCopyRequest,
  home: string,
  toplevel: string,
): Promise<Captured> {
  const key = JSON.stringify([home, toplevel, request.source, request.limits]);
  const joining = joinable.get(key);
  if (joining === undefined) return captureFirst(request, home, { key, toplevel });
  const { promise, reject, resolve: succeed } = Promise.withResolvers<Captured | null>();
  joining.push((captured, from) => {
    try {
      succeed(captured && takeCapture(layoutOf(home, request.id), captured, from));
    } catch (error) {
      reject(error);
    }
  });
  const captured = await promise;
  request.signal?.throwIfAborted();
  // The first one failed, perhaps only because it was cancelled.
  return captured ?? captureShared(request, home, toplevel);
}

async function captureFirst(
  request: WorkingCopyRequest,
  home: string,
  { key, toplevel }: { readonly key: string; readonly toplevel: string },
): Promise<Captured> {
  const layout = layoutOf(home, request.id);
  const joining: Joining = [];
  joinable.set(key, joining);
  const close = (): void => {
    if (joinable.get(key) === joining) joinable.delete(key);
  };
  const options = request.signal === undefined ? {} : { signal: request.signal };
  let captured: Captured | null = null;
  try {
    // Under the lock: a copy has the state before or after an integration, never in between.
    const { inspection, ...capture } = await new IntegrationQueue(home).run(
      toplevel,
      async () => {
        close();
        await recoverPlace(home, toplevel);
        const found = await inspectOrRefuse(request.source, home);
        createVault(layout.vault, found.place, found.ignoreRules);
        const taken = await captureTree({
          vault: layout.vault,
          place: found.place,
          tracked: found.tracked,
          hidden: found.hidden,
          indexFile: layout.sourceIndex,
          limits: { ...copyLimits, ...request.limits },
          ...options,
        });
        return { ...taken, inspection: found };
      },
      { purpose: "files", ...options },
    );
    const { ignoreRules, place } = inspection;
    const base = await commitBase(layout.vault, place, capture.tree);
    captured = { ...capture, omitted: [...capture.omitted], base, ignoreRules, place };
    return captured;
  } finally {
    close();
    // At once: this copy may be removed at any time from here on.
    for (const take of joining) take(captured, layout);
  }
}

/** Makes the vault of a copy from that of another one with the same state. */
function takeCapture(
  { sourceIndex, vault }: ReturnType<typeof layoutOf>,
  captured: Captured,
  from: ReturnType<typeof layoutOf>,
): Captured {
  createVault(vault, captured.place, captured.ignoreRules);
  linkObjects(join(from.vault, "objects"), join(vault, "objects"));
  copyIndex(from.sourceIndex, sourceIndex);
  return captured;
}

/** Equal states give equal commits: the date is that of the parent commit. */
async function commitBase(vault: string, place: Place, tree: string): Promise<string> {
  const context = { gitDirectory: vault };
  const message = ["-m", "The workspace as it was, with uncommitted changes"];
  if (place.head === null) {
    return askGit(["commit-tree", tree, ...message], { ...context, date: 0 });
  }
  const shown = await askGit(["log", "-1", "--format=%T %ct", place.head, "--"], context);
  const [headTree = "", date = "0"] = shown.split(" ");
  if (headTree === tree) return place.head;
  const args = ["commit-tree", tree, "-p", place.head, ...message];
  return askGit(args, { ...context, date: Number(date) });
}

async function inspectOrRefuse(source: string, home: string): Promise<Inspection> {
  const inspection = await inspectRepository(source, home);
  const [refusal] = inspection.refusals;
  if (refusal !== undefined) throw new RepositoryRefused(refusal);
  return inspection;
}

/** Removes the remains of a copy whose creation failed. */
export async function sweepCopy(home: string, id: string): Promise<void> {
  for (const parent of [worktreesOf(home), join(home, "copies")]) {
    if (existsSync(parent)) await removeFolder(parent, id);
  }
}
