/** A line that opens or closes a front matter, written with more or less care. */
export const dashes = /^(?:-{2,}|[–—]{1,3})\s*$/;

/** The text without what was put around all of it: a code fence, an indentation. */
export function unwrap(
  lines: readonly string[],
  known: ReadonlySet<string>,
): { readonly text: readonly string[]; readonly warning?: string } {
  const start = nextText(lines, 0);
  if (start === undefined) return { text: lines };
  const first = lines[start] ?? "";
  const inside = nextText(lines, start + 1);
  const isFence = /^(?:`{3,}|~{3,})\s*[\w-]*\s*$/.test(first);
  if (isFence && inside !== undefined && opensAt(lines, inside, known)) {
    const warning = "the whole file is inside a code fence; the fence was removed";
    return { text: withoutFence(lines, start), warning };
  }
  const indent = /^([ \t]+)-{3,}\s*$/.exec(first)?.[1];
  if (indent === undefined) return { text: lines };
  const text = lines.map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line));
  return { text, warning: "the whole file is indented; the indentation was taken off" };
}

/** Whether a line of dashes at `index` is followed by a key. */
export function opensAt(
  text: readonly string[],
  index: number,
  known: ReadonlySet<string>,
): boolean {
  const next = nextText(text, index + 1);
  const line = (text[index] ?? "").trim();
  return dashes.test(line) && next !== undefined && isKnownKey(text[next]?.trim() ?? "", known);
}

export function isKnownKey(line: string, known: ReadonlySet<string>): boolean {
  const key = /^["']?([\w.-]+)["']?\s*:(?:\s|$)/.exec(line)?.[1];
  return key !== undefined && known.has(key);
}

function withoutFence(text: readonly string[], start: number): string[] {
  const fence = (text[start] ?? "").trim().slice(0, 3);
  const last = text.findLastIndex((line, index) => index > start && line.trim() === fence);
  return text.map((line, index) => (index === start || index === last ? "" : line));
}

/** The first line from `from` on that is not blank. */
export function nextText(text: readonly string[], from: number): number | undefined {
  for (let index = from; index < text.length; index += 1) {
    if ((text[index] ?? "").trim() !== "") return index;
  }
  return undefined;
}
