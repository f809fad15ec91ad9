import { mkdirSync, realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import { writeDurablySync } from "../../../files.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { messageOf } from "../../../ports/message-of.ts";
import { headOf } from "../../../text.ts";
import { beginCopy } from "../copies/begin-copy.ts";
import { checkOutCopy } from "../copies/check-out-copy.ts";
import { layoutOf } from "../copies/copy-layout.ts";
import { sweepCopy } from "../copies/create-working-copy.ts";
import { createVault } from "../copies/vault.ts";
import { type CopyRecord, type WorkingCopy, workingCopyOf } from "../copies/working-copy.ts";
import { GitFailure } from "../git-failure.ts";
import { RepositoryRefused } from "../repository-refusal.ts";
import { requireGit } from "../require-git.ts";
import { askGit } from "../run-git.ts";
import { damagedBundle } from "./git-bundle.ts";
import { receivePack } from "./receive-pack.ts";
import { openStart } from "./sealed-bundle.ts";

export interface UnpackRequest {
  readonly home: string;
  readonly id: string;
  /** As `packCopy` made it, by whoever. */
  readonly text: string;
  /** What was agreed: the commit that the copy starts from, and which part of it is the workspace. */
  readonly base: string;
  readonly prefix: string;
  /** The folder on another machine that the copy stands for: a name, that nobody follows here. */
  readonly standsFor: string;
  readonly signal?: AbortSignal;
}

/**
 * Makes a copy once more, from its bundle, in this home and under the same id: byte for byte what
 * it was when it was made. All or nothing, like `createWorkingCopy`.
 */
export async function unpackCopy(request: UnpackRequest): Promise<WorkingCopy> {
  mkdirSync(resolve(request.home), { recursive: true, mode: 0o700 });
  const home = realpathSync.native(resolve(request.home));
  const layout = layoutOf(home, request.id);
  const opened = openStart(request.text);
  if (opened.header.base !== request.base || opened.header.prefix !== request.prefix) {
    throw damagedBundle("it is of another state than the one that was agreed");
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
      const said = error.stderr.trim().split("\n")[0] ?? "";
      throw damagedBundle(`its files cannot be laid out (${headOf(said, 200)})`, error);
    }
    // Nobody else is waited for: a full disk, or no git on this machine.
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
  // Apart from the vault, so that copies of this copy can borrow what it started from.
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
