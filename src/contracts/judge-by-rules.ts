import { includes } from "./selection.ts";
import type { RuleSet, ToolRule } from "./tool-rule.ts";

/** The values of a call that rules match: paths below the workspace, or plain text. */
export interface CallSubjects {
  readonly kind: "path" | "text";
  readonly values: readonly string[];
}

export type Ruling = "allow" | "ask" | "deny";

/**
 * The ruling on a call. In each list the last matching rule decides, separately for each value of the
 * call. The strictest ruling over all lists and values counts: a child must obey its own rules and
 * those of all its ancestors.
 * @example judgeByRules([[{ tool: "shell", match: "rm *", action: "deny" }]], "shell", { kind: "text", values: ["rm -r x"] }) // "deny"
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

/** Whether every call of this tool is denied: then the tool is not offered. */
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

/** When in doubt, the stricter reading: `allow` must match exactly, `deny` and `ask` only roughly. */
function matches({ action, match }: ToolRule, value: string | null, isPath: boolean): boolean {
  if (match === undefined || match === "*") return true;
  if (value === null) return action !== "allow";
  if (!isPath) return matchGlob(match, value);
  const path = match.replace(/^(?:\.?\/)+/, "");
  if (action === "allow") return matchPathGlob(path, value);
  // A rule about a folder's content also applies to the folder itself.
  const folder = path.replace(/\/\**$/, "");
  return matchGlob(path, value) || matchGlob(folder, value);
}

/**
 * Whether a text matches a glob pattern: `*` is any run of characters, `?` is one character. Patterns come from untrusted files: the time is at most proportional to both lengths multiplied.
 */
export function matchGlob(pattern: string, text: string): boolean {
  return globMatches(pattern, text, false);
}

/** Like `matchGlob`, but `*` and `?` do not match a `/`. `**` followed by a slash is any number of folders. */
export function matchPathGlob(pattern: string, path: string): boolean {
  return globMatches(pattern, path, true);
}

function globMatches(pattern: string, text: string, bySegment: boolean): boolean {
  if (!hasEdges(pattern, text)) return false;
  // The positions in the text that the parts so far can reach.
  let reached = new Uint8Array(text.length + 1);
  reached[0] = 1;
  for (const part of parse(pattern, bySegment)) {
    const next = new Uint8Array(text.length + 1);
    let isAnywhere = false;
    let wasReached = false;
    for (let at = 0; at <= text.length; at++) {
      const isHere = reached[at] === 1;
      const before = text[at - 1];
      const fits =
        part === anyRun
          ? wasReached || isHere
          : part === anyFolders
            ? isHere || (wasReached && before === "/")
            : part === segmentRun
              ? isHere || (at > 0 && next[at - 1] === 1 && before !== "/")
              : at > 0 && reached[at - 1] === 1 && isOne(part, before, bySegment);
      if (fits) {
        next[at] = 1;
        isAnywhere = true;
      }
      wasReached ||= isHere;
    }
    if (!isAnywhere) return false;
    reached = next;
  }
  return reached[text.length] === 1;
}

/** Whether a text has the literal start and end of the pattern: a quick test that most texts fail. */
function hasEdges(pattern: string, text: string): boolean {
  const first = pattern.search(/[*?]/);
  if (first < 0) return pattern === text;
  if (!text.startsWith(pattern.slice(0, first))) return false;
  const last = Math.max(pattern.lastIndexOf("*"), pattern.lastIndexOf("?"));
  // `**/` can stand for nothing, so its slash is not part of the literal end.
  const end = pattern[last + 1] === "/" ? last + 2 : last + 1;
  return text.endsWith(pattern.slice(end));
}

const anyRun = Symbol("any run");
const anyFolders = Symbol("whole folders");
const segmentRun = Symbol("a run within a segment");
const anyOne = Symbol("any character");

type Part = string | typeof anyRun | typeof anyFolders | typeof segmentRun | typeof anyOne;

function isOne(part: Part, character: string | undefined, bySegment: boolean): boolean {
  return part === character || (part === anyOne && !(bySegment && character === "/"));
}

function parse(pattern: string, bySegment: boolean): readonly Part[] {
  const parts: Part[] = [];
  for (let index = 0; index < pattern.length; index++) {
    const character = pattern[index] ?? "";
    if (character === "?") parts.push(anyOne);
    else if (character !== "*") parts.push(character);
    else {
      const isDouble = pattern[index + 1] === "*";
      while (pattern[index + 1] === "*") index++;
      // `src/**/a` also matches `src/a`: the slash belongs to the stars.
      const isFolders = isDouble && pattern[index + 1] === "/";
      if (isFolders) index++;
      const run = isFolders ? anyFolders : isDouble || !bySegment ? anyRun : segmentRun;
      if (parts.at(-1) !== run) parts.push(run);
    }
  }
  return parts;
}
