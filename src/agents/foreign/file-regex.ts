const maximumGlobs = 40;

/**
 * The globs that allow what a regular expression over paths allows, or undefined where they would
 * allow more or the expression uses what globs do not have.
 */
export function regexToGlobs(source: string): readonly string[] | undefined {
  if (source.length > 500) return undefined;
  const alternatives = expand(source);
  if (alternatives === undefined) return undefined;
  const globs = alternatives.map(toGlob);
  return globs.every((glob) => glob !== undefined) ? globs : undefined;
}

/** Groups with alternatives written out, so that each result has none. */
function expand(source: string): string[] | undefined {
  const { parts, isValid } = splitTop(source);
  if (!isValid) return undefined;
  const results: string[] = [];
  for (const part of parts) {
    const group = findGroup(part);
    if (group === undefined) {
      results.push(part);
      continue;
    }
    const [before, inside, after] = group;
    const isPlain = !/^[*+?{]/.test(after) && /^(?:\?:|[^?])/.test(inside);
    const choices = isPlain ? expand(inside.replace(/^\?:/, "")) : undefined;
    if (choices === undefined) return undefined;
    for (const choice of choices) {
      const more = expand(`${before}${choice}${after}`);
      if (more === undefined) return undefined;
      results.push(...more);
    }
    if (results.length > maximumGlobs) return undefined;
  }
  return results;
}

function splitTop(source: string): { readonly parts: string[]; readonly isValid: boolean } {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index < source.length; index += 1) {
    const character = source[index];
    if (character === "\\") index += 1;
    else if (character === "(") depth += 1;
    else if (character === ")") depth -= 1;
    else if (character === "|" && depth === 0) {
      parts.push(source.slice(start, index));
      start = index + 1;
    }
    if (depth < 0) return { parts, isValid: false };
  }
  parts.push(source.slice(start));
  return { parts, isValid: depth === 0 };
}

function findGroup(source: string): readonly [string, string, string] | undefined {
  let depth = 0;
  let start = -1;
  for (let index = 0; index < source.length; index += 1) {
    const character = source[index];
    if (character === "\\") index += 1;
    else if (character === "(") {
      if (depth === 0) start = index;
      depth += 1;
    } else if (character === ")") {
      depth -= 1;
      if (depth === 0) {
        return [source.slice(0, start), source.slice(start + 1, index), source.slice(index + 1)];
      }
    }
  }
  return undefined;
}

/** One alternative: plain characters, escaped ones, `.*`, `.+`, `[^/]*`, and the anchors. */
function toGlob(source: string): string | undefined {
  const isStart = source.startsWith("^");
  const isEnd = /(?:^|[^\\])\$$/.test(source);
  const inside = source.slice(isStart ? 1 : 0, isEnd ? -1 : undefined);
  let glob = isStart ? "" : "**/*";
  // A dot that stands for any character is taken as a dot: that allows less.
  const piece =
    /\.(?:[*+]\??|(?![*+?{]))|\[\^\/\][*+]|\\[^A-Za-z0-9]|[\w\-/ @,:;=~#%&!<>"']|[^\0-\x7f]/uy;
  while (piece.lastIndex < inside.length) {
    const at = piece.lastIndex;
    const found = piece.exec(inside)?.[0];
    if (found === undefined) return undefined;
    if (/^(?:\.|\[\^\/\])[*+]/.test(found)) {
      const isAnyPath = found.startsWith(".") && /(?:^|\/)$/.test(glob);
      glob += (isAnyPath ? "**/*" : star(glob)) + (found.includes("+") ? "?" : "");
    } else {
      const character = found.startsWith("\\") ? found.slice(1) : found;
      if (/[*?{}[\]!]/.test(character)) return undefined;
      glob += character;
    }
    if (piece.lastIndex === at) return undefined;
  }
  if (!isEnd && !glob.endsWith("*")) glob += glob.endsWith("/") ? "**" : "*";
  // `docs/**/*` is everything below; the shorter form says so.
  return glob === "" ? undefined : glob.replace(/\*\*\/\*$/, "**");
}

function star(glob: string): string {
  return glob.endsWith("*") ? "" : "*";
}
