import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { z } from "zod";
import { syncFolderSync, writeDurablySync } from "../../../files.ts";
import { isCopyId, journalsOf, layoutOf } from "../copies/copy-layout.ts";
import { RepositoryRefused } from "../repository-refusal.ts";

const entry = z.strictObject({ mode: z.string(), object: z.string() }).nullable();

const schema = z.strictObject({
  version: z.literal(1),
  id: z.string(),
  toplevel: z.string(),
  /** Folders above it are not removed when they become empty. */
  prefix: z.string(),
  objectFormat: z.enum(["sha1", "sha256"]),
  /** On the file system of the target: new contents wait in it, old ones are kept in it. */
  staging: z.strictObject({ parent: z.string(), name: z.string() }),
  /**
   * `staging`: nothing of the target was touched. `applying`: everything is ready, and is carried
   * on with. `reverting`: something stood in the way, and all of it is taken back.
   */
  state: z.enum(["staging", "applying", "reverting"]),
  steps: z.array(z.strictObject({ path: z.string(), before: entry, after: entry })),
  /** Folders that the target does not have yet. */
  newFolders: z.array(z.string()),
  branch: z
    .strictObject({
      gitDirectory: z.string(),
      name: z.string(),
      before: z.string(),
      after: z.string(),
    })
    .nullable(),
  /** What is recorded as the outcome once it is done. */
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

/** The copies whose integrations did not come to their end. */
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

/** Undefined: there is none, or none any more. One that cannot be understood is refused. */
export function readJournal(home: string, id: string): IntegrationJournal | undefined {
  const { journal, own } = layoutOf(home, id);
  try {
    return schema.parse(JSON.parse(readFileSync(journal, "utf8")));
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    const sentence = `A merge of the working copy "${id}" was cut off, and its journal "${journal}" cannot be read. Some of its files may be in place already; those that it took away are in "${own}/staging/old", or in ".mandate-${id}/old" of the folder that it went into. Put that folder in order by hand, remove what is left of both, then the journal, and try again.`;
    throw new RepositoryRefused({ code: "journal-damaged", sentence }, { cause });
  }
}
