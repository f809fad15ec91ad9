import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { journalsOf, layoutOf } from "../copies/copy-layout.ts";
import { syncFolder, writeDurably } from "../write-durably.ts";

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
  writeDurably(layoutOf(home, journal.id).journal, JSON.stringify(journal));
}

export function removeJournal(home: string, id: string): void {
  rmSync(layoutOf(home, id).journal, { force: true });
  syncFolder(journalsOf(home));
}

/** Of integrations that did not come to their end. */
export function readJournals(home: string): readonly IntegrationJournal[] {
  const folder = journalsOf(home);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .sort()
    .map((name) => schema.parse(JSON.parse(readFileSync(join(folder, name), "utf8"))));
}

export function readJournal(home: string, id: string): IntegrationJournal | undefined {
  return readJournals(home).find((journal) => journal.id === id);
}
