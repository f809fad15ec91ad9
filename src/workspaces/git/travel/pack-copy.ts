import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { CollectedChanges } from "../copies/collect-changes.ts";
import { layoutOf, refOf } from "../copies/copy-layout.ts";
import { readCopyRecord, type WorkingCopy } from "../copies/working-copy.ts";
import { explainGitFailure } from "../explain-git-failure.ts";
import { GitFailure } from "../git-failure.ts";
import { RepositoryRefused } from "../repository-refusal.ts";
import { askGit, runGit } from "../run-git.ts";
import { maximumBundleBytes, type StartHeader, sealBundle } from "./sealed-bundle.ts";

export interface PackLimits {
  readonly maximumBytes: number;
  /** History that takes more than this stays behind; the files of the base never do. */
  readonly historyBytes: number;
}

const packLimits: PackLimits = {
  maximumBytes: maximumBundleBytes,
  historyBytes: 64 * 1024 * 1024,
};

/**
 * What a copy was when it was made, as one text that another machine can make the same copy of:
 * the commit that it starts from, uncommitted and untracked files of its caller included, and the
 * history below where that is not too much. The copy itself is only read.
 */
export async function packCopy(
  copy: WorkingCopy,
  limits: Partial<PackLimits> = {},
): Promise<string> {
  const { maximumBytes, historyBytes } = { ...packLimits, ...limits };
  const layout = layoutOf(copy.home, copy.id);
  const record = readCopyRecord(copy.home, copy.id);
  if (record === undefined) throw new Error(`there is no copy ${copy.id}`);
  const context = { gitDirectory: layout.vault };
  try {
    const used = await askGit(["rev-list", "--objects", "--disk-usage", copy.base], context);
    const hasHistory = Number(used) <= historyBytes;
    const pack = await packObjects(layout.vault, copy.base, hasHistory, maximumBytes);
    const header: StartHeader = {
      mandate: "copy",
      version: 1,
      base: copy.base,
      head: hasHistory ? copy.head : null,
      prefix: copy.source.prefix,
      shallow: hasHistory ? record.shallow : copy.base,
      ignoreRules: readFileSync(join(layout.vault, "info", "exclude"), "utf8"),
      omitted: [...record.omitted],
    };
    return sealBundle(header, {
      ...{ objectFormat: record.objectFormat, prerequisites: [], pack },
      refs: [{ name: "refs/mandate/base", commit: copy.base }],
    });
  } catch (error) {
    throw explain(error, copy, maximumBytes);
  }
}

/** No new deltas and one thread: quick, and the same objects give the same pack. */
const packing = ["pack-objects", "--stdout", "-q", "--window=0", "--threads=1"];

async function packObjects(
  gitDirectory: string,
  base: string,
  hasHistory: boolean,
  maximumBytes: number,
): Promise<Uint8Array> {
  if (hasHistory) {
    const options = { gitDirectory, maximumBytes, input: `${base}\n` };
    return (await runGit([...packing, "--revs"], options)).stdout;
  }
  const listing = ["rev-list", "--objects", "--no-object-names", "--no-walk", base];
  const { stdout: input } = await runGit(listing, { gitDirectory });
  return (await runGit(packing, { gitDirectory, maximumBytes, input })).stdout;
}

/** What a child changed in its copy: its commit on top of its base, and nothing that the base has. */
export async function packChanges(
  copy: WorkingCopy,
  { commit, problems }: Pick<CollectedChanges, "commit" | "problems">,
  limits: Partial<Pick<PackLimits, "maximumBytes">> = {},
): Promise<string> {
  const { maximumBytes } = { ...packLimits, ...limits };
  const told = problems.map(({ kind, paths }) => ({ kind, paths: [...paths] }));
  const header = { mandate: "changes", version: 1, base: copy.base, problems: told } as const;
  if (commit === null) return sealBundle({ ...header, commit }, null);
  const record = readCopyRecord(copy.home, copy.id);
  try {
    const { stdout: pack } = await runGit([...packing, "--revs"], {
      gitDirectory: layoutOf(copy.home, copy.id).vault,
      input: `${commit}\n^${copy.base}\n`,
      maximumBytes,
    });
    const refs = [{ name: refOf(copy.id), commit }];
    const objectFormat = record?.objectFormat ?? "sha1";
    return sealBundle(
      { ...header, commit },
      { objectFormat, prerequisites: [copy.base], refs, pack },
    );
  } catch (error) {
    throw explain(error, copy, maximumBytes);
  }
}

function explain(error: unknown, { id, source }: WorkingCopy, maximumBytes: number): unknown {
  if (!(error instanceof GitFailure) || error.kind !== "output-too-large") {
    return explainGitFailure(error, source.toplevel);
  }
  const megabytes = Math.round(maximumBytes / 1024 / 1024);
  const sentence = `The working copy "${id}" of "${source.toplevel}" is too large to be sent to other workers: packed, it has more than ${megabytes} MB. Ignore what is not needed in .gitignore, choose a smaller folder, or let all workers share one MANDATE_HOME (engine.workspaces: shared).`;
  return new RepositoryRefused({ code: "too-large", sentence }, { cause: error });
}
