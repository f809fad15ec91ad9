import { type CallSubjects, judgeByRules } from "../../contracts/judge-by-rules.ts";
import type { ToolContext } from "../tool.ts";

/** Which paths the rules of a contract keep from one tool, and what its answers say of that. */
export interface DeniedPaths {
  has(path: string): boolean;
  /**
   * A line for the end of an answer; empty where no rule can deny. It is the same whether anything
   * was left out or not: otherwise patterns could be used to guess at names.
   */
  readonly note: string;
  /** Whether a person may have to be asked about a part of what a call is about. */
  readonly mayAsk: boolean;
}

/**
 * A call that looks at many files is not refused for those among them that are denied: it passes
 * over them, as if they were not there. So a rule about a folder holds as well for a search that
 * begins above it, and costs an agent nothing but that folder.
 */
export function deniedPaths(tool: string, { rules = [] }: ToolContext): DeniedPaths {
  const sets = rules
    .map((set) => set.filter((rule) => rule.tool === "*" || rule.tool === tool))
    .filter((set) => set.length > 0);
  const actions = sets.flat().map(({ action }) => action);
  const mayDeny = actions.includes("deny");
  return {
    has: (path) => mayDeny && judgeByRules(sets, tool, aboutPath(path)) === "deny",
    note: mayDeny ? "[What your rules deny was left out.]" : "",
    mayAsk: actions.includes("ask"),
  };
}

function aboutPath(path: string): CallSubjects {
  return { kind: "path", values: [path] };
}
