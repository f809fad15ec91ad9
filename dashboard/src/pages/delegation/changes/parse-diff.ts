export type DiffLineKind = "added" | "removed" | "same" | "hunk" | "note";

export interface DiffLine {
  readonly kind: DiffLineKind;
  /** The line without its sign. */
  readonly text: string;
  /** The number of the line in the old file and in the new file. */
  readonly before: number | null;
  readonly after: number | null;
}

export interface DiffSection {
  /** The head of the file, as git writes it after `diff --git`; sections come in the order of the files. */
  readonly head: string;
  readonly lines: readonly DiffLine[];
}

/**
 * A patch as git writes it. How many lines a hunk has is said by its head, so that no content of a
 * file can pass for the head of another one.
 */
export function parseDiff(text: string): readonly DiffSection[] {
  const sections: { head: string; lines: DiffLine[] }[] = [];
  let lines: DiffLine[] = [];
  let [before, after, leftBefore, leftAfter] = [0, 0, 0, 0];
  const note = (kind: "hunk" | "note", line: string): void => {
    lines.push({ kind, text: line, before: null, after: null });
  };
  for (const line of text.split("\n")) {
    const isInside = leftBefore > 0 || leftAfter > 0;
    if (isInside) {
      const sign = line[0];
      const content = line.slice(1);
      if (sign === "+") {
        lines.push({ kind: "added", text: content, before: null, after });
        after += 1;
        leftAfter -= 1;
        continue;
      }
      if (sign === "-") {
        lines.push({ kind: "removed", text: content, before, after: null });
        before += 1;
        leftBefore -= 1;
        continue;
      }
      if (sign === " ") {
        lines.push({ kind: "same", text: content, before, after });
        before += 1;
        after += 1;
        leftBefore -= 1;
        leftAfter -= 1;
        continue;
      }
    }
    if (line.startsWith("\\")) {
      note("note", line.slice(1).trim());
      continue;
    }
    if (line.startsWith("diff --git ")) {
      lines = [];
      sections.push({ head: line.slice("diff --git ".length), lines });
      [leftBefore, leftAfter] = [0, 0];
      continue;
    }
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$/.exec(line);
    if (hunk) {
      before = Number(hunk[1]);
      leftBefore = Number(hunk[2] ?? 1);
      after = Number(hunk[3]);
      leftAfter = Number(hunk[4] ?? 1);
      note("hunk", line);
      continue;
    }
    if (/^(?:new file mode|deleted file mode|old mode|new mode|Binary files) ?/.test(line)) {
      note("note", line);
    }
  }
  return sections;
}
