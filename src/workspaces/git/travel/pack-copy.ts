import { mkdirSync, readFileSync, realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import { writeDurablySync } from "../../../files.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { messageOf } from "../../../ports/message-of.ts";
import type { CollectedChanges } from "../copies/collect-changes.ts";
import { sweepCopy } from "../copies/create-working-copy.ts";
import { checkOutCopy, createVault } from "../copies/vault.ts";
import {
  beginCopy,
  type CopyRecord,
  layoutOf,
  readCopyRecord,
  refOf,
  type WorkingCopy,
  workingCopyOf,
} from "../copies/working-copy.ts";
import { explainGitFailure, GitFailure, RepositoryRefused } from "../git-failure.ts";
import { askGit, requireGit, runGit } from "../run-git.ts";
import {
  bundleFailure,
  damagedBundle,
  maximumBundleBytes,
  openStart,
  type StartHeader,
  sealBundle,
} from "./git-bundle.ts";
import { receivePack } from "./receive-changes.ts";

export interface PackLimits {
  readonly maximumBytes: number;
  /** If the history takes more, it is left out; the files of the base are always included. */
  readonly historyBytes: number;
}

const packLimits: PackLimits = {
  maximumBytes: maximumBundleBytes,
  historyBytes: 64 * 1024 * 1024,
};

/**
 * The state of a copy when it was created, as one text from which another machine can create the
 * same copy: its base commit, including uncommitted and untracked files of the caller, and the
 * history unless that is too large. Only reads the copy.
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

/** Copies with the same key have the same pack. */
export function contentKeyOf({ base, head, home, id, omitted, source }: WorkingCopy): string {
  const record = readCopyRecord(home, id);
  const rules = readFileSync(join(layoutOf(home, id).vault, "info", "exclude"), "utf8");
  return JSON.stringify([base, head, source.prefix, omitted, record?.shallow, rules]);
}

/** Without new deltas and with one thread: fast, and the same objects give the same pack. */
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

/** The changes of a child: its commit on top of its base, without objects of the base. */
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
  const sentence = `The working copy "${id}" of "${source.toplevel}" is too large to send to other workers: packed, it has more than ${megabytes} MB. Ignore what is not needed in .gitignore, choose a smaller folder, or let all workers share one MANDATE_HOME (engine.workspaces: shared).`;
  return new RepositoryRefused({ code: "too-large", sentence }, { cause: error });
}

export interface UnpackRequest {
  readonly home: string;
  readonly id: string;
  /** The text made by `packCopy`, possibly on another machine. */
  readonly text: string;
  /** The expected base commit, and the path of the workspace in it. */
  readonly base: string;
  readonly prefix: string;
  /** The folder on another machine that was copied. A name only: no path on this machine. */
  readonly standsFor: string;
  readonly signal?: AbortSignal;
}

/**
 * Creates a copy again from its bundle, in this home and under the same id, byte for byte as it was
 * when it was first created. All or nothing, like `createWorkingCopy`.
 */
export async function unpackCopy(request: UnpackRequest): Promise<WorkingCopy> {
  mkdirSync(resolve(request.home), { recursive: true, mode: 0o700 });
  const home = realpathSync.native(resolve(request.home));
  const layout = layoutOf(home, request.id);
  const opened = openStart(request.text);
  if (opened.header.base !== request.base || opened.header.prefix !== request.prefix) {
    throw damagedBundle("it has another base than expected");
  }
  await sweepCopy(home, request.id);
  beginCopy(home, request.id);
  try {
    await requireGit();
    const record = await make(request, home, opened);
    writeDurablySync(layout.record, JSON.stringify(record));
    return workingCopyOf(home, record);
  } catch (error) {
    await sweepCopy(home, request.id);
    if (error instanceof MandateError) throw error;
    if (error instanceof GitFailure && error.kind === "exit") {
      throw bundleFailure("its files cannot be laid out", error);
    }
    // For example a full disk, or no git on this machine: retrying does not help.
    const sentence = `The working copy "${request.id}" cannot be made in "${home}": ${messageOf(error)}`;
    throw new RepositoryRefused({ code: "unreadable", sentence }, { cause: error });
  }
}

async function make(
  { id, signal, standsFor }: UnpackRequest,
  home: string,
  { bundle, header }: ReturnType<typeof openStart>,
): Promise<CopyRecord> {
  const layout = layoutOf(home, id);
  const { objectFormat } = bundle;
  const { base, head, ignoreRules, omitted, prefix, shallow } = header;
  const options = signal === undefined ? {} : { signal };
  // Separate from the vault, so that copies of this copy can borrow these objects.
  const received = join(layout.own, "received.git");
  await receivePack({
    ...{ into: received, bundle, commit: base, known: null, objects: [], shallow, ...options },
  });
  const objects = [join(received, "objects")];
  const baseTree = await askGit(["rev-parse", `${base}^{tree}`], { gitDirectory: received });
  const place = { objectFormat, objects, prefix, shallow };
  createVault(layout.vault, place, ignoreRules);
  await checkOutCopy({ home, id, base, baseTree, place, ...options });
  return {
    version: 1,
    ...{ id, head, base, baseTree, omitted, dirty: base !== head },
    source: { kind: "elsewhere", toplevel: standsFor, prefix },
    ...{ borrowed: objects, objectFormat, shallow },
  };
}
