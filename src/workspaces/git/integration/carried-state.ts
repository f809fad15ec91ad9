import { createHash } from "node:crypto";
import { existsSync, lstatSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { systemClock, type Timer } from "../../../ports/clock.ts";
import { identifyThisProcess, isProcessAlive } from "../../processes/process-start.ts";
import { linkObjects } from "../copies/vault.ts";
import { layoutOf, type WorkingCopy } from "../copies/working-copy.ts";
import type { Inspection } from "../inspect-repository.ts";
import { shownRaw, type TreeChange } from "../read-git.ts";

/** What a place contains, as it was captured or as a merge has left it. */
export interface PlaceState {
  readonly inspection: Inspection;
  readonly tree: string;
}

interface Carried extends PlaceState {
  readonly at: number;
  readonly signature: string;
  readonly forgetting: Timer;
}

/** How long a merge may build on the state that the merge before it has left. */
const longestMs = 5000;
/** A change of these decides what a capture contains. */
const rules: ReadonlySet<string> = new Set([".gitignore", ".gitattributes", ".gitmodules"]);

/** By folder of the kept objects. */
const carriedStates = new Map<string, Carried>();

/**
 * The state that the last merge of this process has left in the target of a copy, with its objects in
 * the copy's vault; undefined: the target has to be captured. The target may have changed since then in
 * files that the merge does not touch, which stay as they are. Each file that it does touch is compared
 * with this state when the merge is applied, and a merge that finds another content is prepared again
 * from a capture.
 */
export function takeCarried(copy: WorkingCopy): PlaceState | undefined {
  const folder = folderOf(copy);
  const carried = carriedStates.get(folder);
  if (carried === undefined) return undefined;
  const isRecent = systemClock.monotonic() - carried.at < longestMs;
  if (!isRecent || signatureOf(carried.inspection) !== carried.signature) {
    forgetCarried(copy);
    return undefined;
  }
  linkObjects(folder, join(layoutOf(copy.home, copy.id).vault, "objects"));
  return carried;
}

/** Keeps what a merge has left, for merges that follow at once. The caller holds the lock on the files. */
export function carryOn(
  copy: WorkingCopy,
  { inspection, tree }: PlaceState,
  changes: readonly TreeChange[],
): void {
  const folder = folderOf(copy);
  carriedStates.get(folder)?.forgetting.cancel();
  if (changes.some(({ path }) => rules.has(basename(shownRaw(path))))) {
    forget(folder);
    return;
  }
  linkObjects(join(layoutOf(copy.home, copy.id).vault, "objects"), folder);
  carriedStates.set(folder, {
    ...{ inspection, tree, at: systemClock.monotonic(), signature: signatureOf(inspection) },
    forgetting: systemClock.after(longestMs, () => forget(folder)).unref(),
  });
}

export function forgetCarried(copy: WorkingCopy): void {
  forget(folderOf(copy));
}

/** Removes what this process keeps in a home, and what dead processes have left there. */
export function sweepCarried(home: string): void {
  const parent = parentOf(home);
  if (!existsSync(parent)) return;
  for (const name of readdirSync(parent)) {
    const identity = name.slice(name.indexOf(".") + 1);
    if (identity === identifyThisProcess() || !isProcessAlive(identity)) forget(join(parent, name));
  }
  try {
    rmdirSync(parent);
  } catch {
    // Another process keeps something there.
  }
}

function forget(folder: string): void {
  carriedStates.get(folder)?.forgetting.cancel();
  carriedStates.delete(folder);
  rmSync(folder, { recursive: true, force: true });
}

function parentOf(home: string): string {
  return join(home, "merged");
}

function folderOf({ home, source: { prefix, toplevel } }: WorkingCopy): string {
  const place = createHash("sha256")
    .update(JSON.stringify([toplevel, prefix]))
    .digest("hex");
  return join(parentOf(home), `${place.slice(0, 16)}.${identifyThisProcess()}`);
}

/** Changes when the repository moves to another commit, stages something, or begins a merge or rebase. */
function signatureOf({ place }: Inspection): string {
  if (place.kind !== "git") return place.kind;
  const { gitDirectory } = place;
  const seen = ["HEAD", "index"].map((name) => {
    const stats = lstatSync(join(gitDirectory, name), { throwIfNoEntry: false, bigint: true });
    return stats === undefined ? null : [stats.ino, stats.size, stats.mtimeNs].map(String);
  });
  const names = readdirSync(gitDirectory).filter((name) => !/\.lock$|^packed-refs/.test(name));
  return JSON.stringify([seen, names.sort()]);
}
