import { matchGlob } from "./match-glob.ts";
import { includes } from "./selection.ts";
import type { RuleSet, ToolRule } from "./tool-rule.ts";

/** What a call is about, in the words that rules match: paths below the workspace, or plain text. */
export interface CallSubjects {
  readonly kind: "path" | "text";
  readonly values: readonly string[];
}

export type Ruling = "allow" | "ask" | "deny";

/**
 * What the rules say about a call. Each list decides by its last rule that matches, for each thing
 * the call is about, and the strictest answer of all counts: a child is bound by its own rules and
 * by those of everybody above it.
 */
export function judgeByRules(
  sets: readonly RuleSet[],
  tool: string,
  subjects: CallSubjects | undefined,
): Ruling {
  let strictest: Ruling = "allow";
  for (const rules of sets) {
    const about = rules.filter((rule) => concerns(rule, tool));
    if (about.length === 0) continue;
    const values =
      subjects === undefined || subjects.values.length === 0 ? [null] : subjects.values;
    for (const value of values) {
      const ruling = rulingOf(about, value, subjects?.kind === "path");
      if (severity[ruling] > severity[strictest]) strictest = ruling;
    }
  }
  return strictest;
}

/** Whether no call of this tool can ever pass: then it is not offered at all. */
export function isDeniedOutright(sets: readonly RuleSet[], tool: string): boolean {
  return sets.some((rules) => {
    const about = rules.filter((rule) => concerns(rule, tool));
    const lastForAll = about.findLastIndex(({ match }) => match === undefined || match === "*");
    if (about[lastForAll]?.action !== "deny") return false;
    return !about.slice(lastForAll + 1).some(({ action }) => action !== "deny");
  });
}

const severity: Readonly<Record<Ruling, number>> = { allow: 0, ask: 1, deny: 2 };

function concerns(rule: ToolRule, tool: string): boolean {
  return rule.tool === "*" || includes([rule.tool], tool);
}

function rulingOf(rules: readonly ToolRule[], value: string | null, isPath: boolean): Ruling {
  return rules.findLast((rule) => matches(rule, value, isPath))?.action ?? "allow";
}

/** In doubt the stricter reading: an exception has to fit exactly, a prohibition only roughly. */
function matches({ action, match }: ToolRule, value: string | null, isPath: boolean): boolean {
  if (match === undefined || match === "*") return true;
  if (value === null) return action !== "allow";
  if (!isPath) return matchGlob(match, value);
  const path = match.replace(/^(?:\.?\/)+/, "");
  if (action === "allow") return matchGlob(path, value, true);
  // What forbids a folder's content forbids the folder, and what holds it when that is listed.
  const folder = path.replace(/\/\**$/, "");
  return matchGlob(path, value) || matchGlob(folder, value);
}
