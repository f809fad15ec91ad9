import type { GitContext } from "../git-environment.ts";
import { joinRaw, type RawPath } from "../raw-path.ts";
import { askGit, runGit } from "../run-git.ts";

/**
 * Brings an index up to date and writes its tree. `packed` says which paths are probably not
 * stored yet: their contents go into one pack instead of a file each, which is several times
 * faster when there are many.
 */
export async function recordDifferences(
  context: GitContext & { readonly signal?: AbortSignal },
  paths: {
    readonly removed: readonly RawPath[];
    readonly loose: readonly RawPath[];
    readonly packed: readonly RawPath[];
  },
): Promise<string> {
  const update = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
  if (paths.removed.length > 0) {
    const input = joinRaw(paths.removed);
    await runGit(["update-index", "--force-remove", "-z", "--stdin"], { ...context, input });
  }
  if (paths.loose.length > 0) {
    await runGit(update, { ...context, input: joinRaw(paths.loose) });
  }
  if (paths.packed.length > 0) {
    const settings = ["core.bigFileThreshold=1"];
    await runGit(update, { ...context, input: joinRaw(paths.packed), settings });
  }
  return askGit(["write-tree"], context);
}
