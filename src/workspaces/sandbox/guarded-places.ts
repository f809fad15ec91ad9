import { lstatSync, rmdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import { makeFolder } from "../../files.ts";
import { CallDenied } from "../../ports/mandate-error.ts";
import { foldedName, standInsOf } from "../protected/protection.ts";
import type { SandboxPolicy } from "./sandbox.ts";

/** How places inside the workspace are kept from being written, or from being seen at all. */
interface GuardPlan {
  /** Mounted onto themselves, outermost first: a folder above a guarded place cannot be moved. */
  readonly pinned: readonly string[];
  readonly readOnly: readonly string[];
  /** Shown as empty. */
  readonly covered: readonly Cover[];
  /** To be created first, as empty folders: git does not see those. */
  readonly missing: readonly string[];
}

export interface Cover {
  readonly place: string;
  readonly kind: "file" | "folder";
}

/**
 * A mount protects what exists and the name it has: whoever may write the folder above could move
 * that away and put another in its place, or create what is missing. So the folders above are
 * pinned, and what is missing gets a placeholder.
 */
export function planGuards(policy: SandboxPolicy): GuardPlan {
  const pinned = new Set<string>();
  const readOnly: string[] = [];
  const covered: Cover[] = [];
  const missing: string[] = [];
  const writeRoots = policy.allowWrites ? policy.writeRoots : [];
  for (const { place, isHidden } of placesOf(policy)) {
    if (covered.some((above) => isBelow(place, above.place))) continue;
    if (!isHidden && readOnly.some((above) => isBelow(place, above))) continue;
    // A guarded folder around a write root leaves nothing to write in it.
    if (!isHidden) readOnly.push(...writeRoots.filter((root) => isBelow(root, place)));
    const root = writeRoots.find((folder) => place !== folder && isBelow(place, folder));
    if (root === undefined) {
      const kind = isHidden ? kindOfExisting(place) : undefined;
      if (kind !== undefined) covered.push({ place, kind });
      continue;
    }
    const way = walkDown(root, place);
    for (const folder of way.folders) pinned.add(folder);
    if (way.missing !== undefined) {
      covered.push({ place: way.missing, kind: "folder" });
      missing.push(way.missing);
    } else if (isHidden) covered.push({ place, kind: kindOfExisting(place) ?? "folder" });
    else readOnly.push(way.file ?? place);
  }
  const byDepth = [...pinned].sort((left, right) => left.length - right.length);
  return { pinned: byDepth, readOnly: [...new Set(readOnly)], covered, missing };
}

interface GuardedPlace {
  readonly place: string;
  readonly isHidden: boolean;
}

/** Shortest first, so that what lies below another one is known to be covered. */
function placesOf(policy: SandboxPolicy): readonly GuardedPlace[] {
  const { root, guarded, forbidden, visible } = policy;
  const obeyed = policy.isThrowaway ? [] : obeyedPlaces(policy);
  const shown = [root, ...visible];
  return [
    ...[...guarded, ...obeyed].map((place) => ({ place, isHidden: false })),
    ...forbidden
      .filter((place) => shown.some((folder) => isBelow(place, folder)))
      .map((place) => ({ place, isHidden: true })),
  ].sort((left, right) => left.place.length - right.place.length);
}

/**
 * What programs would obey at the root, there or not. What lies deeper has to be looked for, and
 * comes as `guarded`.
 */
function obeyedPlaces({ root, ownsGit }: SandboxPolicy): readonly string[] {
  const git = join(root, ".git");
  const isFolder = lstatSync(git, { throwIfNoEntry: false })?.isDirectory() === true;
  const ofGit = ownsGit && isFolder ? gitSteering.map((name) => join(git, name)) : [git];
  const isLinked = (place: string) =>
    lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  // Links of other programs are guarded where they lead to, and looked at afterwards.
  const others = standInsOf(root).filter((place) => mustBeMounted(place) || !isLinked(place));
  return [...others, ...ofGit];
}

/** What makes git run programs or look for objects elsewhere. */
const gitSteering = ["config", "hooks", "info", "objects/info"];

interface Walk {
  /** Existing folders between the root and the place. */
  readonly folders: readonly string[];
  /** The first name on the way that does not exist. */
  readonly missing?: string;
  /** A file on the way, below which nothing can be for as long as it is there. */
  readonly file?: string;
}

function walkDown(root: string, place: string): Walk {
  const way: string[] = [];
  for (let at = place; at !== root; at = dirname(at)) way.unshift(at);
  const folders: string[] = [];
  for (const at of way) {
    const status = lstatSync(at, { throwIfNoEntry: false });
    if (status === undefined) return { folders, missing: at };
    if (status.isSymbolicLink()) throw linkDenied(at);
    if (at !== place && !status.isDirectory()) return { folders, file: at };
    if (at !== place) folders.push(at);
  }
  return { folders };
}

/** A link can be neither covered nor pinned: it could be replaced by anything. */
function linkDenied(place: string): CallDenied {
  return new CallDenied(
    "guard_is_link",
    `"${basename(place)}" steers git or Mandate and is a symbolic link, which cannot be protected ` +
      "from a command. Work without shell, or say that a person should replace the link.",
  );
}

export function kindOfExisting(place: string): Cover["kind"] | undefined {
  const status = statSync(place, { throwIfNoEntry: false });
  return status && (status.isDirectory() ? "folder" : "file");
}

/**
 * Empty folders that stand where nothing may be created, for as long as some delegation runs
 * commands there. Only what was made here and is still empty is removed again.
 */
export class Placeholders {
  readonly #holders = new Map<string, Set<string>>();

  /** Those that are missing, and from then on all that are there below the root. */
  hold(owner: string, root: string, missing: readonly string[]): void {
    for (const place of missing) {
      if (makeFolder(place, 0o755)) this.#holders.set(place, new Set());
    }
    // For whoever comes later they exist, and must go on to.
    for (const [place, holders] of this.#holders) if (isBelow(place, root)) holders.add(owner);
  }

  release(owner: string): void {
    // The last ones first: one may have been put into another.
    for (const [place, holders] of [...this.#holders].reverse()) {
      if (!holders.delete(owner) || holders.size > 0) continue;
      this.#holders.delete(place);
      try {
        rmdirSync(place);
      } catch {
        // Gone, or somebody has put something there: then it is no longer ours.
      }
    }
  }
}

const names = [".git", ".mandate", "mandate.yaml"];

/**
 * What git and Mandate obey is never left to a comparison afterwards: where a link is in its place,
 * the folder around it is closed. Other programs' files are links more often, and stay usable.
 */
export function mustBeMounted(place: string): boolean {
  return names.includes(foldedName(basename(place)));
}
