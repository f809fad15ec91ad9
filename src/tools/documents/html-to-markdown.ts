import {
  blockNames,
  findMainContent,
  type HtmlElement,
  type HtmlNode,
  isElement,
  type Leaves,
  parseHtml,
} from "./html-tree.ts";
import { renderTable } from "./markdown-table.ts";

interface HtmlOptions {
  /** Plain text instead: no marks, links by their words alone. */
  readonly isPlain: boolean;
  /** Where the page came from; without it links stay as they are. */
  readonly base?: string | undefined;
}

interface ConvertedHtml {
  readonly title: string;
  readonly text: string;
}

/** The content of a page as Markdown, for readers that are not browsers. */
export async function htmlToMarkdown(source: string, options: HtmlOptions): Promise<ConvertedHtml> {
  const { root, title, base } = await parseHtml(source);
  const { element, leaves } = findMainContent(root);
  const { isPlain } = options;
  const writer = new MarkdownWriter({ leaves, isPlain, base: startOfLinks(options.base, base) });
  const text = writer.write(element);
  const needsTitle = title !== "" && !isPlain && !/^# \S/m.test(text.slice(0, 5000));
  return { title, text: needsTitle ? `# ${title}\n\n${text}` : text };
}

function startOfLinks(address: string | undefined, declared: string | undefined) {
  if (declared === undefined) return address;
  return URL.parse(declared, address)?.href ?? address;
}

interface WriterOptions {
  readonly leaves: Leaves;
  readonly isPlain: boolean;
  readonly base: string | undefined;
}

type BlockRenderer = (element: HtmlElement) => readonly string[];

/**
 * Writes blocks, one blank line between them. Recursion is as deep as the tree, which the parser
 * bounds; every piece of text is copied once per list or quotation around it.
 */
class MarkdownWriter {
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

const marks: Readonly<Record<string, string>> = {
  ...{ b: "**", strong: "**", em: "_", i: "_", cite: "_", del: "~~", s: "~~" },
  ...{ code: "`", kbd: "`", samp: "`", tt: "`" },
};

/** Text between blocks, on one line except where the page breaks it. */
function inlineMarkdown(nodes: readonly HtmlNode[], options: WriterOptions): string {
  const lines = join(nodes, options).split("\n");
  return lines
    .map((line) => line.replaceAll(/ {2,}/g, " ").trim())
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
}

function join(nodes: readonly HtmlNode[], options: WriterOptions): string {
  return nodes.map((node) => renderNode(node, options)).join("");
}

function renderNode(node: HtmlNode, options: WriterOptions): string {
  if (!isElement(node)) return node.replaceAll(/[\t\n\f\r ]+/g, " ");
  if (options.leaves(node)) return "";
  if (node.name === "br") return "\n";
  if (node.name === "img") return options.isPlain ? "" : renderPicture(node, options);
  if (node.name === "math" && node.attributes.has("alttext")) {
    return node.attributes.get("alttext") ?? "";
  }
  const inside = join(node.children, options);
  if (node.name === "a" && !options.isPlain) return renderLink(node, inside, options);
  // A block that got into a line is at least not glued to what stands beside it.
  if (blockNames.has(node.name)) return ` ${inside} `;
  const mark = options.isPlain || !Object.hasOwn(marks, node.name) ? "" : marks[node.name];
  return mark === undefined || mark === "" ? inside : surround(inside, mark);
}

/** Marks hold only around words: blanks inside them go outside. */
function surround(text: string, mark: string): string {
  const words = text.trim();
  if (words === "" || words.startsWith(mark)) return text;
  const start = text.indexOf(words);
  return `${text.slice(0, start)}${mark}${words}${mark}${text.slice(start + words.length)}`;
}

function renderLink(element: HtmlElement, inside: string, { base }: WriterOptions): string {
  const text = inside.replaceAll(/\s+/g, " ");
  const words = text.trim();
  const target = element.attributes.get("href")?.trim() ?? "";
  if (words === "" || target === "" || target.startsWith("#")) return text;
  const address = absolute(target, base);
  if (address === undefined) return text;
  const link = words === address ? address : `[${words}](${address})`;
  return `${text.startsWith(" ") ? " " : ""}${link}${text.endsWith(" ") ? " " : ""}`;
}

function renderPicture(element: HtmlElement, { base }: WriterOptions): string {
  const words = (element.attributes.get("alt") ?? "").replaceAll(/\s+/g, " ").trim();
  if (words === "") return "";
  const address = absolute(element.attributes.get("src")?.trim() ?? "", base);
  return address === undefined ? words : `![${words}](${address})`;
}

/** Only what can be fetched or written to; scripts and embedded data are no places to go. */
function absolute(target: string, base: string | undefined): string | undefined {
  if (target === "" || target.length > 4000) return undefined;
  const url = URL.parse(target, base);
  if (url === null) {
    const isRelative = base === undefined && !/^[a-z][a-z0-9+.-]*:|[\s<>()]/i.test(target);
    return isRelative ? target : undefined;
  }
  if (!["http:", "https:", "mailto:"].includes(url.protocol)) return undefined;
  return url.href.replaceAll("(", "%28").replaceAll(")", "%29");
}
