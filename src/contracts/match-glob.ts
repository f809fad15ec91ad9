/**
 * Whether a text is what a pattern describes: `*` is any run of characters, `?` is one. With
 * `bySegment` neither crosses a `/`, and `**` does. A `**` and the slash after it also stand for no
 * folder at all. Patterns come from files that somebody else wrote: the time is at most that of
 * one by the other.
 */
export function matchGlob(pattern: string, text: string, bySegment = false): boolean {
  const parts = parse(pattern, bySegment);
  // The last star that may still take more, of each kind: one within a segment can only give way
  // to an earlier one that crosses segments.
  let wide: Star | undefined;
  let narrow: Star | undefined;
  let part = 0;
  let at = 0;
  for (;;) {
    const current = parts[part];
    if (current === anyRun) {
      wide = { part: part + 1, at };
      narrow = undefined;
      part++;
    } else if (current === segmentRun) {
      narrow = { part: part + 1, at };
      part++;
    } else if (current === undefined ? at === text.length : fits(current, text[at], bySegment)) {
      if (current === undefined) return true;
      part++;
      at++;
    } else if (narrow !== undefined && narrow.at < text.length && text[narrow.at] !== "/") {
      narrow = { part: narrow.part, at: narrow.at + 1 };
      ({ part, at } = narrow);
    } else if (wide !== undefined && wide.at < text.length) {
      wide = { part: wide.part, at: wide.at + 1 };
      narrow = undefined;
      ({ part, at } = wide);
    } else return false;
  }
}

/** Where to go on when what follows a star did not fit: the star takes one more. */
interface Star {
  readonly part: number;
  readonly at: number;
}

const anyRun = Symbol("any run");
const segmentRun = Symbol("a run within a segment");
const anyOne = Symbol("any character");

type Part = string | typeof anyRun | typeof segmentRun | typeof anyOne;

function fits(part: Part, character: string | undefined, bySegment: boolean): boolean {
  if (character === undefined) return false;
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
      if (isDouble && pattern[index + 1] === "/") index++;
      const run = isDouble || !bySegment ? anyRun : segmentRun;
      if (parts.at(-1) !== run) parts.push(run);
    }
  }
  return parts;
}
