import type { LineCounts } from "../../../events/event.ts";
import { clip } from "../../../text.ts";
import type { ReplacedRegion } from "./apply-edit.ts";

const newline = 10;
const contextLines = 3;
const mostLines = 200;
const longestLine = 300;
/** The longest text that an edit touches at one place; a longer one is not compared line by line. */
const largestHunk = 64 * 1024;
const noLineEnd = "\n\\ No newline at end of file";

/** Lines that an edit touched, in the old content and in the new one, with those around them. */
interface Hunk {
  start: number;
  end: number;
  /** How much longer the new content is before the hunk, and after it. */
  readonly shiftBefore: number;
  shiftAfter: number;
}

/** What an edit changed, as a unified diff; cut where it gets long, and then without counts. */
export async function renderDiff(
  path: string,
  before: Buffer,
  after: Buffer,
  regions: readonly ReplacedRegion[],
): Promise<{ readonly text: string; readonly counts?: LineCounts }> {
  const lines = [`--- ${path}`, `+++ ${path}`];
  const counts = { added: 0, removed: 0 };
  let isWhole = true;
  let counted = 0;
  let lineNumber = 1;
  let shift = 0;
  const hunks = gatherHunks(before, regions);
  for (const [index, hunk] of hunks.entries()) {
    if (lines.length >= mostLines) {
      lines.push(`[${hunks.length - index} more places changed]`);
      isWhole = false;
      break;
    }
    lineNumber += countLines(before, counted, hunk.start);
    counted = hunk.start;
    const rendered = await renderHunk(before, after, hunk);
    const removed = rendered.filter(({ mark }) => mark !== "+").length;
    const added = rendered.filter(({ mark }) => mark !== "-").length;
    lines.push(`@@ -${lineNumber},${removed} +${lineNumber + shift},${added} @@`);
    shift += added - removed;
    const same = rendered.filter(({ mark }) => mark === " ").length;
    counts.added += added - same;
    counts.removed += removed - same;
    const room = Math.max(mostLines - lines.length, 20);
    lines.push(...rendered.slice(0, room).map(({ mark, text }) => mark + shown(text)));
    if (rendered.length > room) lines.push(`[${rendered.length - room} more lines here]`);
  }
  return { text: lines.join("\n"), ...(isWhole && { counts }) };
}

/** The lines that a new content adds to a whole file and removes from it. */
export async function countLineChanges(before: string, after: string): Promise<LineCounts> {
  const changed = await diffLines(wholeLines(before), wholeLines(after));
  const count = (wanted: DiffLine["mark"]) => changed.filter(({ mark }) => mark === wanted).length;
  return { added: count("+"), removed: count("-") };
}

function wholeLines(text: string): readonly string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** Lines are looked for once, however many regions lie in them: a minified file is one line. */
function gatherHunks(before: Buffer, regions: readonly ReplacedRegion[]): readonly Hunk[] {
  const hunks: Hunk[] = [];
  let shift = 0;
  let lineEnd = -1;
  let to = 0;
  for (const { start, end, newLength } of regions) {
    // What ends with its line has not touched the next one.
    const last = end > 0 && before[end - 1] === newline ? end - 1 : end;
    if (last > lineEnd) {
      const found = before.indexOf(newline, last);
      lineEnd = found < 0 ? before.length : found;
      to = linesOn(before, lineEnd);
    }
    const grown = shift + newLength - (end - start);
    const open = hunks.at(-1);
    const from = open !== undefined && start <= open.end ? open.start : linesBack(before, start);
    if (open !== undefined && from <= open.end) {
      open.end = to;
      open.shiftAfter = grown;
    } else hunks.push({ start: from, end: to, shiftBefore: shift, shiftAfter: grown });
    shift = grown;
  }
  return hunks;
}

function renderHunk(before: Buffer, after: Buffer, hunk: Hunk): Promise<DiffLine[]> {
  const { start, end, shiftBefore, shiftAfter } = hunk;
  return diffLines(
    linesOf(before, start, end),
    linesOf(after, start + shiftBefore, end + shiftAfter),
  );
}

function linesOf(content: Buffer, from: number, to: number): readonly string[] {
  if (to <= from) return [];
  const end = Math.min(to, from + largestHunk);
  const lines = content.toString("utf8", from, end).split("\n");
  const last = lines.pop() ?? "";
  // Part of the line, so that the missing end is a difference like any other.
  if (last !== "") lines.push(end === content.length ? `${last}${noLineEnd}` : last);
  if (end < to) lines.push("[…]");
  return lines;
}

/** The beginning of the line that lies so many lines before the one with this place. */
function linesBack(content: Buffer, place: number): number {
  let start = place;
  for (let count = 0; count <= contextLines; count += 1) {
    if (start === 0) return 0;
    const from = count === 0 ? start : start - 1;
    start = from === 0 ? 0 : content.lastIndexOf(newline, from - 1) + 1;
  }
  return start;
}

/** The end of the line so many lines after the one that ends here. */
function linesOn(content: Buffer, lineEnd: number): number {
  let end = Math.min(lineEnd + 1, content.length);
  for (let count = 0; count < contextLines && end < content.length; count += 1) {
    const found = content.indexOf(newline, end);
    end = found < 0 ? content.length : found + 1;
  }
  return end;
}

function countLines(content: Buffer, from: number, to: number): number {
  let count = 0;
  for (let at = content.indexOf(newline, from); at >= 0 && at < to; ) {
    count += 1;
    at = content.indexOf(newline, at + 1);
  }
  return count;
}

function shown(line: string): string {
  return clip(line.endsWith("\r") ? line.slice(0, -1) : line, longestLine + 1);
}

interface DiffLine {
  readonly mark: " " | "-" | "+";
  readonly text: string;
}

/** Lines removed and added in one hunk; more of them are shown as all removed and all added. */
const maxEditLength = 500;

/**
 * The shortest way from some lines to others. Lines that both end with are kept: a diff that ends
 * with a change says that the file ends there.
 */
async function diffLines(before: readonly string[], after: readonly string[]): Promise<DiffLine[]> {
  let same = 0;
  const most = Math.min(before.length, after.length);
  while (same < most && before.at(-1 - same) === after.at(-1 - same)) same += 1;
  const removed = before.slice(0, before.length - same);
  const added = after.slice(0, after.length - same);
  // Loaded by the first edit. Bounded by a count and not by a time, so that a replay shows the same.
  const { diffArrays } = await import("diff");
  const changes = diffArrays(removed, added, { maxEditLength });
  const end = marked(" ", before.slice(before.length - same));
  if (changes === undefined) return [...marked("-", removed), ...marked("+", added), ...end];
  const changed = changes.flatMap(({ added: isAdded, removed: isRemoved, value }) =>
    marked(isAdded ? "+" : isRemoved ? "-" : " ", value),
  );
  return [...changed, ...end];
}

function marked(mark: DiffLine["mark"], lines: readonly string[]): DiffLine[] {
  return lines.map((text) => ({ mark, text }));
}
