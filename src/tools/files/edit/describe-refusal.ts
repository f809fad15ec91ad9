import { type EditOutcome, mostCounted } from "./apply-edit.ts";
import { nearestLines } from "./nearest-lines.ts";

const newline = 10;
const mostListed = 20;

/** Why an edit was not made, and what to do instead. */
export function describeRefusal(
  path: string,
  content: Buffer,
  oldText: string,
  outcome: Exclude<EditOutcome, { kind: "applied" }>,
): string {
  switch (outcome.kind) {
    case "unchanged":
      return "old_text and new_text are the same, so there is nothing to change.";
    case "too-many":
      return `old_text occurs more than 100000 times in ${path}. Write the file anew instead.`;
    case "too-large":
      return `${path} would grow to ${outcome.size} bytes, which is too large to edit.`;
    case "ambiguous":
      return describeAmbiguity(path, content, outcome.places);
    case "missing":
      return describeMissing(path, content, oldText);
    default:
      return outcome satisfies never;
  }
}

function describeAmbiguity(path: string, content: Buffer, places: readonly number[]): string {
  const lines = lineNumbers(content, places);
  const listed = [...new Set(lines)].slice(0, mostListed).join(", ");
  const often = places.length < mostCounted ? `${places.length}` : `${mostCounted} or more`;
  const rest = lines.length > mostListed ? ", …" : "";
  return (
    `old_text occurs ${often} times in ${path}, at lines ${listed}${rest}; nothing was changed. ` +
    "Add lines around the one you mean until it is the only one, or set replace_all."
  );
}

function describeMissing(path: string, content: Buffer, oldText: string): string {
  const nothing = `old_text does not occur in ${path}; nothing was changed.`;
  const text = content.toString();
  if (oldText.split("\n").every((line) => /^\s*\d+\t|^$/.test(line))) {
    return `${nothing} It begins its lines with numbers, which are not in the file: leave them out.`;
  }
  const withoutEnd = oldText.replace(/[\r\n]+$/, "");
  if (withoutEnd !== oldText && withoutEnd !== "" && text.endsWith(withoutEnd)) {
    return `${nothing} It ends in a line break, and the file ends without one: leave it out.`;
  }
  const nearest = nearestLines(text, oldText);
  if (nearest === null) {
    return `${nothing} Nothing in it is like that; read the file, or search for it with grep.`;
  }
  const what = nearest.differsInBlanks
    ? `The lines from ${nearest.line} on differ from it in blanks alone`
    : `The nearest is at line ${nearest.line}`;
  return `${nothing} ${what}; copy old_text from the file exactly:\n${nearest.shown}`;
}

function lineNumbers(content: Buffer, places: readonly number[]): readonly number[] {
  let line = 1;
  let next = content.indexOf(newline);
  return places.map((place) => {
    while (next >= 0 && next < place) {
      line += 1;
      next = content.indexOf(newline, next + 1);
    }
    return line;
  });
}
