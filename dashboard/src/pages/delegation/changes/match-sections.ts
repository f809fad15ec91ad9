import type { Operations } from "../../../../../src/surfaces/client/mandate-client.ts";
import { type DiffLine, parseDiff } from "./parse-diff.ts";

type Diff = Operations["diffDelegation"]["reply"];

export interface ChangedFile {
  readonly path: string;
  readonly change: "added" | "removed" | "changed";
  readonly counts: { readonly added: number; readonly removed: number } | null;
  /** Empty: it is no text, or beyond where the text was cut. */
  readonly lines: readonly DiffLine[];
}

/** A file that became a link has two sections, one after the other, and is one file. */
export function changedFiles({
  files,
  text,
}: Pick<Diff, "files" | "text">): readonly ChangedFile[] {
  const sections = [...parseDiff(text)];
  return files.map(({ change, lines: counts, path }) => {
    const lines: DiffLine[] = [];
    const head = sections[0]?.head;
    while (sections.length > 0 && sections[0]?.head === head) {
      lines.push(...(sections.shift()?.lines ?? []));
    }
    return { path, change, counts, lines };
  });
}
