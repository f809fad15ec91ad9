import type { GitContext } from "./git-environment.ts";
import { runGit } from "./run-git.ts";

/** Where stored links lead, by git's name for their contents. */
export async function readLinks(
  context: GitContext,
  objects: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const targets = new Map<string, string>();
  if (objects.length === 0) return targets;
  const input = [...new Set(objects)].map((object) => `${object}\n`).join("");
  const { stdout } = await runGit(["cat-file", "--batch"], { ...context, input });
  for (let at = 0; at < stdout.length; ) {
    const end = stdout.indexOf(10, at);
    const [object = "", , size = "0"] = stdout.toString("latin1", at, end).split(" ");
    const next = end + 1 + Number(size);
    targets.set(object, stdout.toString("utf8", end + 1, next));
    at = next + 1;
  }
  return targets;
}
