import { PatternRefused } from "./pattern-node.ts";

const mostPatterns = 256;

/**
 * `a.{ts,js}` as `a.ts` and `a.js`; braces may stand inside braces. One that is not closed, or
 * holds no comma, is a character like any other.
 */
export function expandBraces(pattern: string): readonly string[] {
  const group = findGroup(pattern);
  if (group === undefined) return [pattern];
  const before = pattern.slice(0, group.start);
  const after = pattern.slice(group.end + 1);
  const expanded: string[] = [];
  for (const option of group.options) {
    for (const rest of expandBraces(option + after)) {
      expanded.push(before + rest);
      if (expanded.length > mostPatterns) {
        throw new PatternRefused(
          `The braces of this glob stand for more than ${mostPatterns} patterns. Use fewer, or *.`,
        );
      }
    }
  }
  return expanded;
}

interface BraceGroup {
  readonly start: number;
  readonly end: number;
  readonly options: readonly string[];
}

/** The first group that is one. */
function findGroup(pattern: string): BraceGroup | undefined {
  for (let start = 0; start < pattern.length; start += 1) {
    const character = pattern[start];
    if (character === "\\") start += 1;
    else if (character === "[") start = classEnd(pattern, start);
    else if (character === "{") {
      const group = closeGroup(pattern, start);
      if (group !== undefined) return group;
    }
  }
  return undefined;
}

function closeGroup(pattern: string, start: number): BraceGroup | undefined {
  const options: string[] = [];
  let optionStart = start + 1;
  let depth = 0;
  for (let at = start; at < pattern.length; at += 1) {
    const character = pattern[at];
    if (character === "\\") at += 1;
    else if (character === "[") at = classEnd(pattern, at);
    else if (character === "{") depth += 1;
    else if (character === "}") depth -= 1;
    const isOwnComma = character === "," && depth === 1;
    if (!isOwnComma && depth > 0) continue;
    options.push(pattern.slice(optionStart, at));
    optionStart = at + 1;
    if (depth === 0) return options.length > 1 ? { start, end: at, options } : undefined;
  }
  return undefined;
}

/** Where a class ends, or the bracket itself when it is none. */
export function classEnd(pattern: string, start: number): number {
  // A ] that stands first is a member.
  const first = /[!^]/.test(pattern[start + 1] ?? "") ? start + 2 : start + 1;
  for (let at = first; at < pattern.length; at += 1) {
    if (pattern[at] === "\\") at += 1;
    else if (pattern.startsWith("[:", at)) {
      const end = pattern.indexOf(":]", at);
      if (end > 0) at = end + 1;
    } else if (pattern[at] === "]" && at > first) return at;
  }
  return start;
}
