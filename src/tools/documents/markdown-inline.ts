import { blockNames } from "./html-names.ts";
import { type HtmlElement, type HtmlNode, isElement } from "./html-tree.ts";
import type { WriterOptions } from "./markdown-writer.ts";

const marks: Readonly<Record<string, string>> = {
  ...{ b: "**", strong: "**", em: "_", i: "_", cite: "_", del: "~~", s: "~~" },
  ...{ code: "`", kbd: "`", samp: "`", tt: "`" },
};

/** Text between blocks, on one line except where the page breaks it. */
export function inlineMarkdown(nodes: readonly HtmlNode[], options: WriterOptions): string {
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
