import { MandateError } from "../../ports/mandate-error.ts";
import type { UnifiedDiff } from "../../workspaces/git/copies/diff-of.ts";
import type { LiveDelegation } from "../live-delegation.ts";

/** What an agent changed, or what lies in a range of its repository: a diff to look at. */
export async function changesOf(
  { contract, copy, run, workspace }: LiveDelegation,
  range: string | undefined,
): Promise<UnifiedDiff | { readonly problem: string }> {
  const root = workspace?.root ?? contract.workspace.root;
  if (root === null) return { problem: "there is no workspace, so there are no changes" };
  const copies = await run.parts.copies();
  try {
    if (copy === null || range !== undefined) return await copies.diffOfFolder(root, range);
    return await copies.diff(copy, await copies.collect(copy, contract.step.title));
  } catch (error) {
    if (error instanceof MandateError) return { problem: error.message };
    throw error;
  }
}
