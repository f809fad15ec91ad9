import { join } from "node:path";
import { MandateError } from "../../ports/mandate-error.ts";
import { collectChanges } from "../../workspaces/git/copies/collect-changes.ts";
import { discardWorkingCopy } from "../../workspaces/git/copies/discard-working-copy.ts";
import { copiesOf } from "../../workspaces/git/copies/list-working-copies.ts";
import type { WorkingCopy } from "../../workspaces/git/copies/working-copy.ts";
import { type IntegrationRequest, integrate } from "../../workspaces/git/integration/integrate.ts";
import type { IntegrationResult } from "../../workspaces/git/integration/integration-result.ts";
import { namesOf } from "../../workspaces/git/repository-refusal.ts";
import type { EngineParts } from "../engine-parts.ts";
import { holdUnused, requireTargetAtRest } from "./copy-users.ts";
import { changesOutside, guardedChanges } from "./guarded-changes.ts";
import {
  findWork,
  type KeptWorkParts,
  requireCopy,
  type Work,
  type WorkWithCopy,
} from "./kept-work.ts";
import { longestCheckMs } from "./take-over.ts";

export interface MergeOptions {
  /** Take over paths as well that do not belong to its step, or that it was not to write. */
  readonly anyPath?: boolean;
  /** Take it over without the checks that its contract asks for. */
  readonly skipChecks?: boolean;
  /** Take over changes as well of what programs obey without being asked: the list, and profiles. */
  readonly withConfiguration?: boolean;
  readonly signal?: AbortSignal;
}

/** What the place where it is merged asks for, besides the contract. */
export interface MergeParts extends KeptWorkParts, Pick<EngineParts, "checksFor" | "guarded"> {}

export type MergedWork = IntegrationResult & {
  readonly delegationId: string;
  /** The folder that it was merged into, or was to be. */
  readonly into: string;
  readonly copy: "removed" | "kept";
};

/**
 * Takes over the work that a failed delegation left in its copy, by the rules that it had: what it
 * may own, what checks it has to pass, and that nobody's edits are overwritten. The person who
 * asks for it is the one whose approval it may have needed. What was merged needs no copy any more.
 */
export async function mergeKept(
  parts: MergeParts,
  id: string,
  options: MergeOptions = {},
): Promise<MergedWork> {
  const found = await requireCopy(parts, await findWork(parts, id, isKept));
  return holdUnused(parts, found, async (work) => {
    const { copy, delegation } = work;
    if (!isKept(work)) {
      const sentence = `Delegation ${delegation.id} is completed, and its changes were merged then.`;
      throw new MandateError("conflict", sentence);
    }
    await requireTargetAtRest(parts, work);
    const signal = options.signal ?? new AbortController().signal;
    const rules = rulesFor(parts, work, options, signal);
    const changes = await collectChanges(copy, { signal });
    const objection = objectionTo(
      parts,
      work,
      options,
      changes.files.map(({ path }) => path),
    );
    if (objection !== undefined) throw new MandateError("refused-by-policy", objection);
    const result = await integrate({ copy, changes, signal, ...rules });
    const isRemoved = result.status === "merged" && (await removeMerged(copy));
    const into = join(copy.source.toplevel, copy.source.prefix);
    return { ...result, delegationId: delegation.id, into, copy: isRemoved ? "removed" : "kept" };
  });
}

function rulesFor(
  parts: MergeParts,
  work: WorkWithCopy,
  options: MergeOptions,
  signal: AbortSignal,
): Pick<IntegrationRequest, "owns" | "check" | "objectTo"> {
  const { contract, copy, delegation } = work;
  const { anyPath, skipChecks } = options;
  const { owns, checks = [] } = contract.workspace;
  const owned = {
    objectTo: (paths: readonly string[]) => objectionTo(parts, work, options, paths),
    ...(owns.length > 0 && anyPath !== true && { owns }),
  };
  if (checks.length === 0 || skipChecks === true) return owned;
  const about = { delegationId: delegation.id, objects: copy.objects, signal };
  const timeoutMs = Math.min(contract.deadlines.total, longestCheckMs);
  return { ...owned, check: parts.checksFor(checks, { ...about, timeoutMs }) };
}

/** What a person has to say before it is merged all the same. */
function objectionTo(
  { guarded }: MergeParts,
  { contract, copy, delegation }: WorkWithCopy,
  { anyPath, withConfiguration }: MergeOptions,
  paths: readonly string[],
): string | undefined {
  const { write_roots: writeRoots } = contract.permissions;
  const outside = anyPath === true ? [] : changesOutside(copy, paths, writeRoots);
  if (outside.length > 0) {
    return `Delegation ${delegation.id} changed ${namesOf(outside)}, where its contract did not let it write. Merge that only if you have looked at it and say that any path will do.`;
  }
  const touched = withConfiguration === true ? [] : guardedChanges(copy, paths, guarded);
  if (touched.length === 0) return undefined;
  return `Delegation ${delegation.id} changed ${namesOf(touched)}, which git, Mandate or another program obeys without being asked. Merge that only if you have looked at it and say so.`;
}

/** Closed, failed, and with a copy: what `merge` is for. */
function isKept({ copy, delegation }: Work): boolean {
  return (
    copy !== undefined && delegation.status === "closed" && delegation.finalStatus === "failed"
  );
}

async function removeMerged(copy: WorkingCopy): Promise<boolean> {
  if (copiesOf(copy).length > 0) return false;
  // First as somebody who keeps what was not merged: a person may have edited in the copy just now.
  const { status } = await discardWorkingCopy(copy, { unmerged: "keep" });
  // Then for the ref that an earlier, failed integration left in the person's repository.
  if (status === "removed") await discardWorkingCopy(copy, { unmerged: "delete" });
  return status === "removed";
}
