import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  lchownSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { syncFolderSync, writeDurablySync } from "../../../files.ts";
import { entryAt } from "../compare-files.ts";
import { isCopyId, journalsOf, layoutOf } from "../copies/working-copy.ts";
import { RepositoryRefused } from "../git-failure.ts";
import { executableMode, joinRaw, linkMode, rawOf } from "../read-git.ts";
import { remainsOf, removeFolder } from "../remove-folder.ts";
import { runGit, withOwnIndex } from "../run-git.ts";

const entry = z.strictObject({ mode: z.string(), object: z.string() }).nullable();

const schema = z.strictObject({
  version: z.literal(1),
  id: z.string(),
  toplevel: z.string(),
  /** Folders above it are not removed when they become empty. */
  prefix: z.string(),
  objectFormat: z.enum(["sha1", "sha256"]),
  /**
   * On the file system of the target: holds the new contents before they are put in place, and the
   * old ones afterwards.
   */
  staging: z.strictObject({ parent: z.string(), name: z.string() }),
  /**
   * `staging`: nothing of the target was touched. `applying`: everything is staged, and is being
   * applied. `reverting`: something was in the way, and everything is being restored.
   */
  state: z.enum(["staging", "applying", "reverting"]),
  steps: z.array(z.strictObject({ path: z.string(), before: entry, after: entry })),
  /** Folders that the target does not have yet. */
  newFolders: z.array(z.string()),
  /** Always null: earlier versions wrote it. */
  branch: z.null().optional(),
  /** Recorded as the outcome when the integration is done. */
  outcome: z.record(z.string(), z.json()),
});

export type IntegrationJournal = z.infer<typeof schema>;
export type IntegrationStep = IntegrationJournal["steps"][number];

export function writeJournal(home: string, journal: IntegrationJournal): void {
  writeDurablySync(layoutOf(home, journal.id).journal, JSON.stringify(journal));
}

export function removeJournal(home: string, id: string): void {
  rmSync(layoutOf(home, id).journal, { force: true });
  syncFolderSync(journalsOf(home));
}

/** The copies whose integrations were not finished. */
export function listJournals(home: string): readonly string[] {
  const folder = journalsOf(home);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith(ending))
    .map((name) => name.slice(0, -ending.length))
    .filter(isCopyId)
    .sort();
}

const ending = ".json";

/** Undefined: the journal does not exist. Throws if it is damaged. */
export function readJournal(home: string, id: string): IntegrationJournal | undefined {
  const { journal, own } = layoutOf(home, id);
  try {
    return schema.parse(JSON.parse(readFileSync(journal, "utf8")));
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    const sentence = `A merge of the working copy "${id}" was interrupted, and its journal "${journal}" cannot be read. Some files may be merged already; the replaced ones are in "${own}/staging/old", or in ".mandate-${id}/old" of the folder that it went into. Put that folder in order by hand, remove what is left of both, then the journal, and try again.`;
    throw new RepositoryRefused({ code: "journal-damaged", sentence }, { cause });
  }
}

interface StagingFolders {
  /** New contents, under their future paths. */
  readonly fresh: string;
  /** The contents that were replaced, by step number. */
  readonly old: string;
  /** The contents that were put in place and removed again. */
  readonly undone: string;
}

export function stagingFolders({ staging }: IntegrationJournal): StagingFolders {
  const folder = join(staging.parent, staging.name);
  return { fresh: join(folder, "new"), old: join(folder, "old"), undone: join(folder, "undone") };
}

/** Writes all new contents durably beside the target, so that applying them only needs renames. */
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

/** Removes the staging folder, and the remains of a removal that was interrupted. */
export async function removeStaging({ staging }: IntegrationJournal): Promise<void> {
  const { name, parent } = staging;
  if (!existsSync(parent)) return;
  for (const each of [name, ...remainsOf(parent, name)]) await removeFolder(parent, each);
}

/** A file that replaces another one gets its owner and its permissions. */
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
