import { describeMissing, findProgram, type Program } from "../../processes/find-program.ts";
import { GitFailure } from "./git-failure.ts";

/** Throws a `GitFailure` that says where git was found when it is not used. */
export function findGit(command: string): Program {
  const finding = findProgram("git");
  if (finding.isFound) return finding.program;
  const { refused } = finding;
  const said = refused === null ? {} : { stderr: describeMissing("git", refused) };
  throw new GitFailure("missing", command, said);
}
