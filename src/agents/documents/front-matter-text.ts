/**
 * The value of an entry that YAML cannot read, as the text that was meant: line breaks stay,
 * quotes that were opened are taken off whether or not they were closed, common indentation goes.
 */
export function readEntryText(
  first: string,
  more: readonly string[],
  options: { readonly isProse: boolean },
): string {
  const block = /^[|>][-+0-9]*\s*(?:#.*)?$/.test(first);
  const lines = [...(block ? [] : [first]), ...withoutIndent(more)];
  let text = lines.join("\n").trim();
  if (block) return text;
  const quote = /^["']/.exec(text)?.[0];
  if (quote !== undefined) text = withoutQuotes(text, quote);
  // Two characters that a program wrote in place of a line break, in a value that does not parse.
  return options.isProse ? text.replaceAll("\\n", "\n").trim() : text;
}

function withoutQuotes(text: string, quote: string): string {
  const isClosed = text.length > 1 && text.endsWith(quote);
  const inside = text.slice(1, isClosed ? -1 : undefined).trim();
  if (quote === "'") return inside.replaceAll("''", "'");
  return inside.replaceAll('\\"', '"');
}

function withoutIndent(lines: readonly string[]): string[] {
  const filled = lines.filter((line) => line.trim() !== "");
  const indents = filled.map((line) => line.length - line.trimStart().length);
  const common = indents.reduce((least, indent) => Math.min(least, indent), 1024);
  return lines.map((line) => line.slice(Math.min(common, line.length)).trimEnd());
}
