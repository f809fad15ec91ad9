export interface TextPassage {
  readonly offset: number;
  readonly line: number;
  /** The nearest heading above, in documents that mark theirs. */
  readonly heading: string;
  readonly text: string;
}

const longest = 1200;
const shortest = 200;

/** Paragraphs, the short ones together with what follows, the long ones in pieces at line ends. */
export function* splitPassages(text: string): Generator<TextPassage> {
  let heading = "";
  let start = 0;
  let line = 1;
  let lineAtStart = 1;
  let at = 0;
  const take = (end: number): TextPassage => {
    const passage = { offset: start, line: lineAtStart, heading, text: text.slice(start, end) };
    start = end;
    lineAtStart = line;
    return passage;
  };
  while (at < text.length) {
    const found = text.indexOf("\n", at);
    const end = found === -1 ? text.length : found + 1;
    const title = /^#{1,6} +(\S.{0,200})/.exec(text.slice(at, Math.min(end, at + 300)))?.[1];
    if (title !== undefined) {
      if (at > start) yield take(at);
      heading = title.trim();
    } else if (end - start > longest && at > start) yield take(at);
    at = end;
    line += 1;
    // A line can be a whole book.
    while (at - start > longest * 2) yield take(start + longest);
    const isBlank = text[at] === "\n" || text[at] === "\r";
    if (isBlank && at - start >= shortest) yield take(at);
  }
  if (start < text.length) yield take(text.length);
}
