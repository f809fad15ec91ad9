/**
 * The parser of models' Markdown, for terminals and for the page. Loads `markdown-it`, which an installation
 * may leave out. Nothing of a text is hidden, and the time is linear in its length.
 */
import MarkdownIt, { type Token } from "markdown-it";

export type Tokens = readonly Token[];

// A definition of a link or a tag of HTML would hide text from the reader: both stay as written.
const parser = new MarkdownIt({ html: false, linkify: false }).disable(["reference", "html_block"]);

/** markdown-it leaves out what is nested deeper than 100 levels. */
const deepest = 90;

/** The blocks of a text, or null where it is nested too deeply to be more than plain text. */
export function parseMarkdown(text: string): Tokens | null {
  const tokens = parser.parse(text, {});
  markTasks(tokens);
  return tokens.some(({ level }) => level >= deepest) ? null : tokens;
}

/** The tokens of each block at the level of the first one. */
export function blocksOf(tokens: Tokens): readonly Tokens[] {
  const blocks: Tokens[] = [];
  let depth = 0;
  let from = 0;
  for (const [at, { nesting }] of tokens.entries()) {
    depth += nesting;
    if (depth > 0) continue;
    blocks.push(tokens.slice(from, at + 1));
    from = at + 1;
  }
  return blocks;
}

/** Whether a list has no blank lines between its items. */
export function isTightList({ level }: Token, inner: Tokens): boolean {
  const paragraph = inner.find(
    (each) => each.type === "paragraph_open" && each.level === level + 2,
  );
  return paragraph?.hidden ?? true;
}

/** Whether the box of a task is checked; null: the list item has no box. */
export function checkOf([item]: Tokens): boolean | null {
  const isChecked = item?.meta?.["isChecked"];
  return typeof isChecked === "boolean" ? isChecked : null;
}

const task = /^\[(?<mark>[ xX])\] /;

/** Moves the boxes of tasks from their texts to their list items. */
function markTasks(tokens: Tokens): void {
  for (const [at, item] of tokens.entries()) {
    if (item.type !== "list_item_open" || tokens[at + 1]?.type !== "paragraph_open") continue;
    const text = tokens[at + 2];
    const mark = task.exec(text?.content ?? "")?.groups?.["mark"];
    const first = text?.children?.[0];
    if (mark === undefined || first === undefined) continue;
    item.meta = { isChecked: mark !== " " };
    first.content = first.content.replace(task, "");
  }
}
