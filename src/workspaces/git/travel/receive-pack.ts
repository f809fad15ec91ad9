import { mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { headOf } from "../../../text.ts";
import { createVault } from "../copies/vault.ts";
import { GitFailure } from "../git-failure.ts";
import { askGit, runGit } from "../run-git.ts";
import { damagedBundle, type GitBundle } from "./git-bundle.ts";

export interface ReceivedPack {
  /** A bare repository that holds the pack; it must not exist yet, or be left from a crash. */
  readonly into: string;
  readonly bundle: GitBundle;
  readonly commit: string;
  /** What is there already, and where. */
  readonly known: string | null;
  readonly objects: readonly string[];
  readonly shallow: string;
  readonly signal?: AbortSignal;
}

/**
 * Takes the objects of a bundle into a repository of their own and looks at them there: everything
 * that its commit needs must have come, and nothing else. A pack names no file on disk and runs
 * nothing; what its trees are called is judged when they are checked out.
 */
export async function receivePack(request: ReceivedPack): Promise<void> {
  const { bundle, commit, into, known, objects, shallow } = request;
  const { objectFormat } = bundle;
  rmSync(into, { recursive: true, force: true });
  mkdirSync(into, { recursive: true, mode: 0o700 });
  createVault(into, { objectFormat, objects, shallow }, "");
  const context = { gitDirectory: into, ...(request.signal && { signal: request.signal }) };
  try {
    await runGit(["index-pack", "--stdin"], { ...context, input: bundle.pack });
    if ((await askGit(["cat-file", "-t", commit], context)) !== "commit") {
      throw damagedBundle("its commit is none");
    }
    const needed = await listNeeded(context, commit, known);
    const held = await listHeld(into);
    if (needed.size === held.size && [...held].every((object) => needed.has(object))) return;
    throw damagedBundle("it brings more or less than its commit is made of");
  } catch (error) {
    rmSync(into, { recursive: true, force: true });
    if (!(error instanceof GitFailure) || error.kind !== "exit") throw error;
    const said = error.stderr.trim().split("\n")[0] ?? "";
    throw damagedBundle(`git cannot read it (${headOf(said, 200)})`, error);
  }
}

async function listNeeded(
  context: { readonly gitDirectory: string },
  commit: string,
  known: string | null,
): Promise<ReadonlySet<string>> {
  const listing = ["rev-list", "--objects", "--no-object-names", commit];
  const args = known === null ? listing : [...listing, `^${known}`];
  const { stdout } = await runGit(args, { ...context, maximumBytes: longestList });
  return linesOf(stdout.toString("latin1"));
}

async function listHeld(into: string): Promise<ReadonlySet<string>> {
  const args = ["cat-file", "--batch-all-objects", "--batch-check=%(objectname)", "--unordered"];
  // Without what is borrowed: only what has come is asked for.
  const alternates = join(into, "objects", "info", "alternates");
  const aside = `${alternates}.aside`;
  const isBorrowing = readdirSync(join(into, "objects", "info")).includes("alternates");
  if (isBorrowing) renameSync(alternates, aside);
  try {
    const { stdout } = await runGit(args, { gitDirectory: into, maximumBytes: longestList });
    return linesOf(stdout.toString("latin1"));
  } finally {
    if (isBorrowing) renameSync(aside, alternates);
  }
}

function linesOf(text: string): ReadonlySet<string> {
  return new Set(text.split("\n").filter((line) => line !== ""));
}

const longestList = 512 * 1024 * 1024;

/** Moves what was received into another repository. May be repeated. */
export function keepPack(from: string, into: string): void {
  const folder = join(from, "objects", "pack");
  const names = readdirSync(folder);
  // Whoever finds an index looks for its pack: that one is there first.
  const isIndex = (name: string): boolean => name.endsWith(".idx");
  for (const name of [...names.filter((one) => !isIndex(one)), ...names.filter(isIndex)]) {
    renameSync(join(folder, name), join(into, "objects", "pack", name));
  }
}
