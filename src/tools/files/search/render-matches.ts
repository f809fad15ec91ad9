import { lineSafeName } from "../file-call.ts";
import { LineReader, type MatchedLine } from "./search-file.ts";

interface RenderedLine {
  readonly text: string;
  readonly isMatch: boolean;
}

/**
 * The lines as `path:number:text`, those around them as `path-number-text`, and `--` where lines are
 * left out: what grep and ripgrep print, and models have read most often.
 */
export function renderMatches(
  descriptor: number,
  path: string,
  matches: readonly MatchedLine[],
  context: number,
): readonly RenderedLine[] {
  const reader = new LineReader(descriptor);
  const name = lineSafeName(path);
  if (context === 0) {
    return matches.map(({ number, start, matchEnd }) => {
      return { text: `${name}:${number}:${reader.read(start, matchEnd).text}`, isMatch: true };
    });
  }
  const rendered: RenderedLine[] = [];
  const byNumber = new Map(matches.map((match) => [match.number, match]));
  let shown = 0;
  for (const match of matches) {
    if (match.number <= shown) continue;
    let { number, start } = match;
    for (let back = 0; back < context && number > shown + 1; back += 1) {
      const before = reader.before(start);
      if (before === null) break;
      start = before;
      number -= 1;
    }
    if (rendered.length > 0 && number > shown + 1) rendered.push({ text: "--", isMatch: false });
    let last = match.number + context;
    for (let place: number | null = start; place !== null && number <= last; number += 1) {
      const found = byNumber.get(number);
      // A match in the context of another one adds its own context.
      if (found !== undefined) last = number + context;
      const line = reader.read(place, found?.matchEnd);
      if (line.next === null && line.text === "" && found === undefined) break;
      const isMatch = found !== undefined;
      const mark = isMatch ? ":" : "-";
      rendered.push({ text: `${name}${mark}${number}${mark}${line.text}`, isMatch });
      shown = number;
      place = line.next;
    }
  }
  return rendered;
}

/** Below what the gate lets through, so that an answer ends with its own note. */
const longestBytes = 48 * 1024;

/** Gathers lines until there are enough of them, by number or by size. */
export class SearchAnswer {
  /** Lines that are results; other lines are context. */
  found = 0;
  /** Some matches were left out. */
  isCapped = false;
  readonly lines: string[] = [];
  readonly #limit: number;
  #size = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** How many more results there is room for. */
  get room(): number {
    return this.#limit - this.found;
  }

  /** Adds no line after one was left out, so that the answer has no hidden gaps. */
  add(line: string, isResult: boolean): void {
    const size = Buffer.byteLength(line) + 1;
    this.isCapped ||= (isResult && this.room === 0) || this.#size + size > longestBytes;
    if (this.isCapped) return;
    this.lines.push(line);
    this.#size += size;
    if (isResult) this.found += 1;
  }
}
