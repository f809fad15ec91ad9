import type { CallSubjects } from "../../contracts/judge-by-rules.ts";
import type { ToolContext } from "../tool.ts";
import type { DeniedPaths } from "./denied-paths.ts";
import { pathAbout } from "./path-about.ts";
import { Pace } from "./search/pace.ts";

/** So many are judged one by one; where there are more, rules that ask take the stricter reading. */
const mostPaths = 10_000;

/**
 * What a call is about that goes through a folder: whatever it would show or look into, without
 * what it passes over because it is denied. Where nothing is left, the folder itself is judged. A
 * null among the paths is where others can be let in.
 */
export async function pathsAbout(
  folder: string,
  paths: Iterable<string | null>,
  denied: DeniedPaths,
  context: ToolContext,
): Promise<CallSubjects> {
  const values: string[] = [];
  const pace = new Pace(context.signal);
  let count = 0;
  for (const path of paths) {
    if (pace.isOver) await pace.pause();
    if (path === null) continue;
    count += 1;
    if (count > mostPaths) {
      if (denied.mayAsk) throw new RangeError("too many files to be named");
      break;
    }
    if (!denied.has(path)) values.push(path);
  }
  return values.length === 0 ? pathAbout(folder, context) : { kind: "path", values };
}
