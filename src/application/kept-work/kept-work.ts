import { join } from "node:path";
import { type Principal, requireRole } from "../../control/records/principal.ts";
import { longestCheckMs } from "../../delegations/changes/take-over.ts";
import type { EngineParts } from "../../delegations/engine-parts.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { collectChanges } from "../../workspaces/git/copies/collect-changes.ts";
import { discardWorkingCopy } from "../../workspaces/git/copies/discard-working-copy.ts";
import { changesOutside, guardedChanges } from "../../workspaces/git/copies/judge-changes.ts";
import { copiesOf } from "../../workspaces/git/copies/list-working-copies.ts";
import type { WorkingCopy } from "../../workspaces/git/copies/working-copy.ts";
import { GitFailure, namesOf, RepositoryRefused } from "../../workspaces/git/git-failure.ts";
import { integrate } from "../../workspaces/git/integration/integrate.ts";
import type { IntegrationResult } from "../../workspaces/git/integration/integration-result.ts";
import { type DelegationDiff, type DiffOptions, diffOfDelegation } from "./diff-of-delegation.ts";
import {
  findWork,
  holdUnused,
  isClosed,
  type KeptWorkParts,
  requireCopy,
  requireTargetAtRest,
  type Work,
  type WorkWithCopy,
} from "./find-work.ts";

/**
 * Changes that agents left in copies of their own, and what a person decides about them. Every
 * decision, refusals included, is in the control log before the answer is given.
 */
export class KeptWork {
  readonly #parts: KeptWorkParts;

  constructor(parts: KeptWorkParts) {
    this.#parts = parts;
  }

  diff(id: string, options: DiffOptions = {}): Promise<DelegationDiff> {
    return diffOfDelegation(this.#parts, id, options);
  }

  merge(
    id: string,
    by: Principal,
    { checksFor, guarded }: Omit<MergeParts, keyof KeptWorkParts>,
    options: MergeOptions = {},
  ): Promise<MergedWork> {
    const flags = [
      ...(options.anyPath === true ? ["--any-path"] : []),
      ...(options.skipChecks === true ? ["--skip-checks"] : []),
      ...(options.withConfiguration === true ? ["--with-configuration"] : []),
    ];
    return this.#decide("merge", id, flags, by, () => {
      requireRole("merge-work", by);
      return mergeKept({ ...this.#parts, checksFor, guarded }, id, options);
    });
  }

  discard(id: string, by: Principal, options: DiscardKeptOptions = {}): Promise<DiscardedWork> {
    const flags = options.deleteChanges === true ? ["--yes"] : [];
    return this.#decide("discard", id, flags, by, () => {
      requireRole("discard-work", by);
      return discardKept(this.#parts, id, options);
    });
  }

  async #decide<Result extends { readonly delegationId: string; readonly status: string }>(
    verb: string,
    id: string,
    flags: readonly string[],
    by: Principal,
    act: () => Promise<Result>,
  ): Promise<Result> {
    const { store } = this.#parts;
    try {
      const result = await act();
      const command = [verb, result.delegationId, ...flags].join(" ");
      await store.noteCommand(command, by.id, result.status);
      return result;
    } catch (error) {
      const code = error instanceof MandateError ? error.code : "failed";
      const outcome = code === "refused-by-policy" ? "refused" : code;
      await store.noteCommand([verb, JSON.stringify(id), ...flags].join(" "), by.id, outcome);
      throw error;
    }
  }
}

export interface MergeOptions {
  /** Merges also paths that the step does not own or that the contract did not let it write. */
  readonly anyPath?: boolean;
  /** Merge without the checks that the contract asks for. */
  readonly skipChecks?: boolean;
  /** Merges also changes of protected paths: configuration that programs obey, and profiles. */
  readonly withConfiguration?: boolean;
  readonly signal?: AbortSignal;
}

/** What a merge needs of the machine where it happens. */
export interface MergeParts extends KeptWorkParts, Pick<EngineParts, "checksFor" | "guarded"> {}

export type MergedWork = IntegrationResult & {
  readonly delegationId: string;
  /** The folder that is the target of the merge, whether it succeeded or not. */
  readonly into: string;
  readonly copy: "removed" | "kept";
};

/**
 * Merges the changes that a failed delegation left in its copy, under the rules of its contract:
 * ownership, checks, and no person's edits overwritten. The person who asks for the merge gives the
 * approval that the contract may want. A merged copy is removed.
 */
export async function mergeKept(
  parts: MergeParts,
  id: string,
  options: MergeOptions = {},
): Promise<MergedWork> {
  const found = await requireCopy(parts, await findWork(parts, id, isKept));
  return holdUnused(parts, found, async (work) => {
    const { contract, copy, delegation } = work;
    if (!isKept(work)) {
      const sentence = `Delegation ${delegation.id} is completed, and its changes were merged then.`;
      throw new MandateError("conflict", sentence);
    }
    await requireTargetAtRest(parts, work);
    const { anyPath = false, skipChecks = false, signal = new AbortController().signal } = options;
    const objectTo = (paths: readonly string[]) => objectionTo(parts, work, options, paths);
    const changes = await collectChanges(copy, { signal });
    const objection = objectTo(changes.files.map(({ path }) => path));
    if (objection !== undefined) throw new MandateError("refused-by-policy", objection);
    const { owns, checks = [] } = contract.workspace;
    const timeoutMs = Math.min(contract.deadlines.total, longestCheckMs);
    const about = { delegationId: delegation.id, objects: copy.objects, timeoutMs, signal };
    const result = await integrate({
      ...{ copy, changes, signal, objectTo },
      ...(owns.length > 0 && !anyPath && { owns }),
      ...(checks.length > 0 && !skipChecks && { check: parts.checksFor(checks, about) }),
    });
    const isRemoved = result.status === "merged" && (await removeMerged(copy));
    const into = join(copy.source.toplevel, copy.source.prefix);
    return { ...result, delegationId: delegation.id, into, copy: isRemoved ? "removed" : "kept" };
  });
}

/** Why the paths are merged only if the person says so explicitly. */
function objectionTo(
  { guarded }: MergeParts,
  { contract, copy, delegation }: WorkWithCopy,
  { anyPath, withConfiguration }: MergeOptions,
  paths: readonly string[],
): string | undefined {
  const { write_roots: writeRoots } = contract.permissions;
  const outside = anyPath === true ? [] : changesOutside(copy, paths, writeRoots);
  if (outside.length > 0) {
    return `Delegation ${delegation.id} changed ${namesOf(outside)}, where its contract did not let it write. Review the change, and repeat the merge with any path allowed.`;
  }
  const touched = withConfiguration === true ? [] : guardedChanges(copy, paths, guarded);
  if (touched.length === 0) return undefined;
  return `Delegation ${delegation.id} changed ${namesOf(touched)}, which git, Mandate or another program reads as configuration. Review the change, and repeat the merge with changes of configuration allowed.`;
}

/** Only work of a closed and failed delegation that still has its copy can be merged. */
function isKept({ copy, delegation }: Work): boolean {
  return (
    copy !== undefined && delegation.status === "closed" && delegation.finalStatus === "failed"
  );
}

async function removeMerged(copy: WorkingCopy): Promise<boolean> {
  if (copiesOf(copy).length > 0) return false;
  // "keep" first: a person may have edited the copy since its changes were collected.
  const { status } = await discardWorkingCopy(copy, { unmerged: "keep" });
  // "delete" then removes the ref that an earlier, failed integration left in the repository.
  if (status === "removed") await discardWorkingCopy(copy, { unmerged: "delete" });
  return status === "removed";
}

export interface DiscardKeptOptions {
  /** Deletes also changes that were not merged. */
  readonly deleteChanges?: boolean;
}

export type DiscardedWork = {
  readonly delegationId: string;
  /** The paths that were not merged, relative to the workspace. */
  readonly files: readonly string[];
} & (
  | { readonly status: "discarded" }
  /** The copy was not removed, because changes would be lost. */
  | { readonly status: "kept"; readonly sentence: string }
);

/** Removes the copy of a closed delegation. Changes are lost only with `deleteChanges`. */
export async function discardKept(
  parts: KeptWorkParts,
  id: string,
  { deleteChanges = false }: DiscardKeptOptions = {},
): Promise<DiscardedWork> {
  const isMeant = (work: Work): boolean => isClosed(work) && work.copy !== undefined;
  const found = await requireCopy(parts, await findWork(parts, id, isMeant));
  return holdUnused(parts, found, async ({ copy, delegation }) => {
    const delegationId = delegation.id;
    const copies = copiesOf(copy);
    if (copies.length > 0) {
      const sentence = `The work of ${copies.join(", ")} was made on top of that of ${delegationId}. Merge or discard that first.`;
      throw new MandateError("conflict", sentence);
    }
    if (deleteChanges) {
      const files = await filesOf(copy);
      await discardWorkingCopy(copy, { unmerged: "delete" });
      return { delegationId, status: "discarded", files };
    }
    const result = await discardWorkingCopy(copy, { unmerged: "keep" });
    if (result.status !== "kept") return { delegationId, status: "discarded", files: [] };
    const files = result.files.map(({ path }) => path);
    const lost = files.length === 0 ? "what cannot be listed" : namesOf(files);
    const sentence = `Delegation ${delegationId} changed ${lost}, and the change was not merged. Merge it, or confirm that its changes are to be deleted.`;
    return { delegationId, status: "kept", files, sentence };
  });
}

/** A damaged copy has no list of files, and can be discarded as well. */
async function filesOf(copy: WorkingCopy): Promise<readonly string[]> {
  try {
    return (await collectChanges(copy)).files.map(({ path }) => path);
  } catch (error) {
    if (error instanceof RepositoryRefused || error instanceof GitFailure) return [];
    throw error;
  }
}
