/**
 * Whether a text is what a pattern describes: `*` is any run of characters, `?` is one. With
 * `bySegment` neither crosses a `/`, and `**` does. A `**` with the slash after it stands for whole
 * folders, or for none. Patterns come from untrusted files: the time is at most that
 * of one by the other.
 */
export function matchGlob(pattern: string, text: string, bySegment = false): boolean {
  if (!hasEdges(pattern, text)) return false;
  // Where in the text the pattern may have got to, part by part.
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

/** Whether a text begins and ends as the pattern does; most texts fail by that already. */
function hasEdges(pattern: string, text: string): boolean {
  const first = pattern.search(/[*?]/);
  if (first < 0) return pattern === text;
  if (!text.startsWith(pattern.slice(0, first))) return false;
  const last = Math.max(pattern.lastIndexOf("*"), pattern.lastIndexOf("?"));
  // The slash after two stars belongs to them, and they can stand for nothing.
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
      // `src/**/a` also means `src/a`: the slash after the stars belongs to them.
      const isFolders = isDouble && pattern[index + 1] === "/";
      if (isFolders) index++;
      const run = isFolders ? anyFolders : isDouble || !bySegment ? anyRun : segmentRun;
      if (parts.at(-1) !== run) parts.push(run);
    }
  }
  return parts;
}
