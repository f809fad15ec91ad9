/** What a unified diff, as git writes it, says of one file. */
export interface PatchSection {
  /** Relative to the repository or folder that was copied. */
  readonly path: string;
  readonly change: "added" | "changed" | "removed";
  /** Null: it is no text. */
  readonly lines: { readonly added: number; readonly removed: number } | null;
}

export interface PatchSections {
  readonly sections: readonly PatchSection[];
  /** The last hunk has all the lines that its head promises. */
  readonly isWhole: boolean;
}

interface Draft {
  path: string;
  change: PatchSection["change"];
  added: number;
  removed: number;
  isBinary: boolean;
  /** A file that became a link is two sections: one that goes, and one that comes. */
  isReplaced: boolean;
}

/** Lines of a hunk begin with one of `+- \`, so that no content can pass for a head. */
export function patchSections(text: string): PatchSections {
  const drafts: Draft[] = [];
  let draft: Draft | undefined;
  let left = { removed: 0, added: 0 };
  for (const line of text.split("\n")) {
    if (line.startsWith("diff --git ")) {
      const path = pathOf(line.slice("diff --git ".length));
      left = { removed: 0, added: 0 };
      if (draft?.path === path) draft.isReplaced = true;
      else {
        draft = {
          path,
          change: "changed",
          added: 0,
          removed: 0,
          isBinary: false,
          isReplaced: false,
        };
        drafts.push(draft);
      }
      continue;
    }
    if (draft === undefined) continue;
    const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
    if (hunk) left = { removed: Number(hunk[1] ?? 1), added: Number(hunk[2] ?? 1) };
    else if (left.removed > 0 || left.added > 0) count(draft, left, line);
    else if (line.startsWith("new file mode")) draft.change = "added";
    else if (line.startsWith("deleted file mode")) draft.change = "removed";
    else if (/^Binary files .* differ$/.test(line)) draft.isBinary = true;
  }
  return { sections: drafts.map(sectionOf), isWhole: left.removed === 0 && left.added === 0 };
}

function count(draft: Draft, left: { removed: number; added: number }, line: string): void {
  const sign = line[0];
  if (sign === "+") {
    draft.added += 1;
    left.added -= 1;
  } else if (sign === "-") {
    draft.removed += 1;
    left.removed -= 1;
  } else if (sign === " ") {
    left.added -= 1;
    left.removed -= 1;
  }
}

function sectionOf({ path, added, removed, ...draft }: Draft): PatchSection {
  const change = draft.isReplaced ? "changed" : draft.change;
  return { path, change, lines: draft.isBinary ? null : { added, removed } };
}

/** `a/NAME b/NAME`, both the same: no renames are looked for. Unusual names are in quotes. */
function pathOf(names: string): string {
  const half = names.slice(0, (names.length - 1) / 2);
  return half.startsWith('"') ? unquote(half.slice(3, -1)) : half.slice(2);
}

const escapes: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  t: 9,
  n: 10,
  v: 11,
  f: 12,
  r: 13,
};

function unquote(quoted: string): string {
  const bytes: number[] = [];
  for (const part of quoted.match(/\\[0-7]{3}|\\.|[^\\]+/gs) ?? []) {
    if (/^\\[0-7]{3}$/.test(part)) bytes.push(Number.parseInt(part.slice(1), 8));
    else if (part.startsWith("\\")) bytes.push(escapes[part[1] ?? ""] ?? part.charCodeAt(1));
    else bytes.push(...Buffer.from(part, "utf8"));
  }
  return Buffer.from(bytes).toString("utf8");
}
