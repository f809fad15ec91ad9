import { messageOf } from "../../../ports/message-of.ts";
import { layoutOf } from "../copies/copy-layout.ts";
import { describeFiles } from "../copies/describe-files.ts";
import { applyMerge, OtherFileSystem } from "./apply-merge.ts";
import type { IntegrationRequest } from "./integrate.ts";
import { readJournal } from "./integration-journal.ts";
import { writeOutcome } from "./integration-outcome.ts";
import type { IntegrationResult, MergedResult } from "./integration-result.ts";
import { refuse } from "./not-merged.ts";
import { planBranch } from "./plan-branch.ts";
import type { ReadyMerge } from "./prepare-merge.ts";

export type FinishedIntegration =
  | { readonly result: IntegrationResult }
  /** Something stood in the way, and everything is as it was. */
  | { readonly blocked: readonly string[] };

/** Changes the target's files, and its branch if that was asked for. */
export async function finishIntegration(
  request: IntegrationRequest,
  prepared: ReadyMerge,
  child: string,
): Promise<FinishedIntegration> {
  const { copy } = request;
  const { changes, tree, how, inspection } = prepared;
  const { vault } = layoutOf(copy.home, copy.id);
  const files = await describeFiles(vault, copy.source.prefix, changes);
  const plan = await planBranch(copy, prepared, request.commit);
  const merged = { status: "merged", how, child, files, commit: null } as const;
  const outcome: MergedResult = { ...merged, ...plan.outcome };
  if (changes.length === 0) {
    writeOutcome(copy, outcome);
    return { result: outcome };
  }
  const { objectFormat } = inspection.place;
  const merge = { changes, tree, outcome, branch: plan.branch, objectFormat };
  try {
    const done = await applyMerge(copy, merge, request.observe ?? (() => undefined));
    if (done.status === "reverted") return { blocked: done.blocked };
    return { result: done.outcome as unknown as MergedResult };
  } catch (error) {
    const result = await explain(request, prepared, error);
    if (result === undefined) throw error;
    return { result };
  }
}

const ofTheFileSystem = ["EACCES", "EPERM", "EROFS", "ENOSPC", "EDQUOT"];

/** What the target's disk does not allow. Undefined: something that nobody expected. */
async function explain(
  request: IntegrationRequest,
  { inspection }: ReadyMerge,
  error: unknown,
): Promise<IntegrationResult | undefined> {
  const { home, id, source } = request.copy;
  if (error instanceof OtherFileSystem) {
    const sentence = `The files of "${source.toplevel}" lie on several file systems, and cannot be changed as one. Look at the diff of "${id}", and take it over by hand.`;
    return refuse(request, inspection.place, "other-file-system", [], sentence);
  }
  // A journal that is still there has to be recovered from first.
  if (readJournal(home, id) !== undefined) return undefined;
  if (!ofTheFileSystem.includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
  const sentence = `The files of "${source.toplevel}" could not be changed (${messageOf(error)}). Everything was put back; check permissions and free space, then merge again.`;
  return refuse(request, inspection.place, "unwritable", [], sentence);
}
