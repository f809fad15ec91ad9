import { captureTree } from "../copies/capture-tree.ts";
import type { CollectedChanges } from "../copies/collect-changes.ts";
import { layoutOf } from "../copies/copy-layout.ts";
import { copyLimits } from "../copies/copy-limits.ts";
import { updateVault } from "../copies/vault.ts";
import type { WorkingCopy } from "../copies/working-copy.ts";
import { type Inspection, inspectRepository } from "../inspect-repository.ts";
import { readTreeChanges, type TreeChange } from "../tree-changes.ts";
import { mergeChanges } from "./merge-changes.ts";

/** Nothing stands against it, as far as trees can tell. */
export type ReadyMerge = Extract<PreparedMerge, { status: "ready" }>;

export type PreparedMerge =
  | {
      readonly status: "ready";
      readonly how: "fast-forward" | "three-way" | "already";
      readonly inspection: Inspection;
      readonly currentTree: string;
      readonly tree: string;
      readonly changes: readonly TreeChange[];
    }
  | {
      readonly status: "conflict";
      readonly inspection: Inspection;
      readonly files: readonly string[];
    }
  | { readonly status: "refused"; readonly inspection: Inspection; readonly sentence: string }
  | { readonly status: "source-changed"; readonly inspection: Inspection };

/** Looks at the target as it is now and works out what it would become. Changes nothing in it. */
export async function prepareMerge(
  copy: WorkingCopy,
  { commit, tree: childTree }: CollectedChanges & { readonly commit: string },
  signal: AbortSignal | undefined,
): Promise<PreparedMerge> {
  const layout = layoutOf(copy.home, copy.id);
  const { toplevel, kind, prefix } = copy.source;
  const inspection = await inspectRepository(`${toplevel}/${prefix}`, copy.home);
  const { place, refusals, ignoreRules } = inspection;
  if (place.kind !== kind || place.toplevel !== toplevel) {
    return { status: "source-changed", inspection };
  }
  const [refusal] = refusals;
  if (refusal !== undefined) return { status: "refused", inspection, sentence: refusal.sentence };
  updateVault(layout.vault, place, ignoreRules);
  const { tree: currentTree } = await captureTree({
    ...{ vault: layout.vault, place, tracked: inspection.tracked, hidden: inspection.hidden },
    ...{ indexFile: layout.sourceIndex, limits: copyLimits },
    ...(signal && { signal }),
  });
  const context = { gitDirectory: layout.vault };
  const merge = await mergeChanges(context, {
    ...{ base: copy.base, baseTree: copy.baseTree, currentTree, child: commit, childTree },
  });
  if (merge.status === "conflict") return { status: "conflict", inspection, files: merge.files };
  const changes = await readTreeChanges(context, currentTree, merge.tree);
  const how = changes.length === 0 ? "already" : merge.how;
  return { status: "ready", how, inspection, currentTree, tree: merge.tree, changes };
}
