import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  lchownSync,
  mkdirSync,
  openSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { syncFolderSync } from "../../../files.ts";
import { entryAt } from "../entry-at.ts";
import { executableMode, linkMode } from "../place.ts";
import { joinRaw, rawOf } from "../raw-path.ts";
import { remainsOf, removeFolder } from "../remove-folder.ts";
import { runGit } from "../run-git.ts";
import { withOwnIndex } from "../with-own-index.ts";
import type { IntegrationJournal } from "./integration-journal.ts";

export interface StagingFolders {
  /** New contents, under the paths that they will have. */
  readonly fresh: string;
  /** What was in their place, by number of the step. */
  readonly old: string;
  /** What was put there and taken back again. */
  readonly undone: string;
}

export function stagingFolders({ staging }: IntegrationJournal): StagingFolders {
  const folder = join(staging.parent, staging.name);
  return { fresh: join(folder, "new"), old: join(folder, "old"), undone: join(folder, "undone") };
}

/** Writes all new contents beside the target, durably, so that applying them is renames alone. */
export async function stageIntegration(
  journal: IntegrationJournal,
  vault: string,
  tree: string,
): Promise<void> {
  const folders = stagingFolders(journal);
  mkdirSync(join(journal.staging.parent, journal.staging.name), { mode: 0o700 });
  for (const folder of Object.values(folders)) mkdirSync(folder);
  const fresh = journal.steps.filter(({ after }) => after !== null);
  await withOwnIndex(join(vault, "staging.index"), async (indexFile) => {
    const context = { gitDirectory: vault, workTree: folders.fresh, indexFile };
    await runGit(["read-tree", tree], context);
    const input = joinRaw(fresh.map(({ path }) => rawOf(path)));
    await runGit(["checkout-index", "--force", "-z", "--stdin"], { ...context, input });
  });
  const synced = new Set<string>();
  for (const { path, after } of fresh) {
    const place = join(folders.fresh, path);
    adoptOwnership(place, join(journal.toplevel, path), journal.toplevel, after?.mode ?? "");
    if (after?.mode !== linkMode) syncFile(place);
    synced.add(dirname(place));
  }
  for (const folder of synced) syncFolderSync(folder);
}

/** Also what is left of it when somebody was killed while removing it. */
export async function removeStaging({ staging }: IntegrationJournal): Promise<void> {
  const { name, parent } = staging;
  if (!existsSync(parent)) return;
  for (const each of [name, ...remainsOf(parent, name)]) await removeFolder(parent, each);
}

/** A file that replaces another one belongs to the same person and opens to the same people. */
function adoptOwnership(place: string, target: string, toplevel: string, mode: string): void {
  const old = entryAt(target);
  if (process.geteuid?.() === 0) {
    const owner = old ?? statSync(toplevel);
    lchownSync(place, owner.uid, owner.gid);
  }
  if (mode === linkMode || old?.isFile() !== true) return;
  const plain = old.mode & 0o666;
  chmodSync(place, mode === executableMode ? plain | ((plain & 0o444) >> 2) : plain);
}

function syncFile(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
