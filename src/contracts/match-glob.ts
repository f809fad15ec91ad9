/**
 * Whether a text is what a pattern describes: `*` is any run of characters, `?` is one. With
 * `bySegment` neither crosses a `/`, and `**` does. Linear in pattern and text together up to a
 * product, never exponential: patterns come from files that somebody else wrote.
 */
export function matchGlob(pattern: string, text: string, bySegment = false): boolean {
  const parts = parse(pattern, bySegment);
  let positions = new Set([0]);
  for (const part of parts) {
    const next = new Set<number>();
    if (part === anyRun || part === segmentRun) {
      // Everything from the first position on, up to where the run may not go.
      for (const start of positions) {
        for (let end = start; end <= text.length; end++) {
          if (next.has(end)) break;
          next.add(end);
          if (part === segmentRun && text[end] === "/") break;
        }
      }
    } else {
      for (const position of positions) {
        const character = text[position];
        if (character === undefined) continue;
        const isOne = part === anyOne && !(bySegment && character === "/");
        if (isOne || part === character) next.add(position + 1);
      }
    }
    if (next.size === 0) return false;
    positions = next;
  }
  return positions.has(text.length);
}

const anyRun = Symbol("any run");
const segmentRun = Symbol("a run within a segment");
const anyOne = Symbol("any character");

type Part = string | typeof anyRun | typeof segmentRun | typeof anyOne;

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
      if (isDouble && bySegment && pattern[index + 1] === "/") index++;
      parts.push(isDouble || !bySegment ? anyRun : segmentRun);
    }
  }
  return parts;
}
