import { blockNames } from "./html-names.ts";
import { type HtmlElement, type HtmlNode, isElement } from "./html-tree.ts";
import type { Leaves } from "./main-content.ts";
import { inlineMarkdown } from "./markdown-inline.ts";
import { renderTable } from "./markdown-table.ts";

export interface WriterOptions {
  readonly leaves: Leaves;
  readonly isPlain: boolean;
  readonly base: string | undefined;
}

type BlockRenderer = (element: HtmlElement) => readonly string[];

/**
 * Writes blocks, one blank line between them. Recursion is as deep as the tree, which the parser
 * bounds; every piece of text is copied once per list or quotation around it.
 */
export class MarkdownWriter {
  readonly #options: WriterOptions;
  readonly #renderers: Readonly<Record<string, BlockRenderer>>;

  constructor(options: WriterOptions) {
    this.#options = options;
    const heading: BlockRenderer = (element) => this.#heading(element);
    this.#renderers = {
      ...{ h1: heading, h2: heading, h3: heading, h4: heading, h5: heading, h6: heading },
      pre: (element) => this.#code(element),
      ul: (element) => this.#list(element),
      ol: (element) => this.#list(element),
      menu: (element) => this.#list(element),
      blockquote: (element) => this.#quotation(element),
      table: (element) =>
        renderTable(element, {
          blocks: (nodes) => this.#blocks(nodes),
          leaves: options.leaves,
          isPlain: options.isPlain,
        }),
      hr: () => (options.isPlain ? [] : ["---"]),
    };
  }

  write(element: HtmlElement): string {
    return this.#blocks([element]).join("\n\n");
  }

  #blocks(nodes: readonly HtmlNode[]): string[] {
    const blocks: string[] = [];
    let run: HtmlNode[] = [];
    const flush = () => {
      const text = run.length === 0 ? "" : this.#inline(run);
      if (text !== "") blocks.push(text);
      run = [];
    };
    for (const node of nodes) {
      if (!isElement(node)) run.push(node);
      else if (this.#options.leaves(node)) continue;
      else if (!this.#isBlock(node)) run.push(node);
      else {
        flush();
        const renderer = Object.hasOwn(this.#renderers, node.name)
          ? this.#renderers[node.name]
          : undefined;
        for (const block of renderer?.(node) ?? this.#blocks(node.children)) blocks.push(block);
      }
    }
    flush();
    return blocks;
  }

  /** A link around blocks (a card) stays one link; anything else around blocks is transparent. */
  #isBlock(element: HtmlElement): boolean {
    return blockNames.has(element.name) || (element.hasBlocks && element.name !== "a");
  }

  #inline(nodes: readonly HtmlNode[]): string {
    return inlineMarkdown(nodes, this.#options);
  }

  #heading(element: HtmlElement): readonly string[] {
    const text = this.#inline(element.children).replaceAll("\n", " ");
    if (text === "") return [];
    return [this.#options.isPlain ? text : `${"#".repeat(Number(element.name[1]))} ${text}`];
  }

  #code(element: HtmlElement): readonly string[] {
    const text = rawText(element)
      .replace(/^\r?\n/, "")
      .trimEnd();
    if (text === "" || this.#options.isPlain) return text === "" ? [] : [text];
    const longest = (text.match(/`{3,}/g) ?? []).reduce(
      (most, run) => Math.max(most, run.length),
      2,
    );
    const fence = "`".repeat(longest + 1);
    return [`${fence}${languageOf(element)}\n${text}\n${fence}`];
  }

  #list(element: HtmlElement): readonly string[] {
    const first = Number(element.attributes.get("start") ?? 1);
    let number = Number.isSafeInteger(first) ? first : 1;
    const items: string[] = [];
    for (const child of element.children) {
      const blocks = this.#blocks(
        isElement(child) && child.name === "li" ? child.children : [child],
      );
      if (blocks.length === 0) continue;
      const mark = element.name === "ol" ? `${number++}. ` : "- ";
      const body = blocks.join("\n").replaceAll("\n", `\n${" ".repeat(mark.length)}`);
      items.push(`${mark}${body}`);
    }
    return items.length === 0 ? [] : [items.join("\n")];
  }

  #quotation(element: HtmlElement): readonly string[] {
    const text = this.#blocks(element.children).join("\n\n");
    if (text === "" || this.#options.isPlain) return text === "" ? [] : [text];
    return [`> ${text.replaceAll(/\n(?!\n)/g, "\n> ").replaceAll("\n\n", "\n>\n")}`];
  }
}

/** All characters as they are: in code, blanks and line ends mean something. */
function rawText(element: HtmlElement): string {
  const pieces: string[] = [];
  const waiting: HtmlNode[] = [element];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (!isElement(node)) pieces.push(node);
    else if (node.name === "br") pieces.push("\n");
    else
      for (let at = node.children.length - 1; at >= 0; at--) waiting.push(node.children[at] ?? "");
  }
  return pieces.join("");
}

function languageOf(element: HtmlElement): string {
  const inner = element.children.find(isElement);
  const classes = [element, inner].map((each) => each?.attributes.get("class") ?? "").join(" ");
  return /(?:^|\s)(?:lang(?:uage)?-|highlight-source-)([\w+#-]{1,20})/.exec(classes)?.[1] ?? "";
}
