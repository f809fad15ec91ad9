import { headOf, oneLine } from "../../text.ts";
import { blockNames, droppedNames } from "./html-names.ts";

export interface HtmlElement {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: HtmlNode[];
  /** How many characters of text are in it, without what is never shown. */
  textLength: number;
  /** Whether something in it starts a line of its own. */
  hasBlocks: boolean;
}

export type HtmlNode = HtmlElement | string;

export interface HtmlTree {
  readonly root: HtmlElement;
  readonly title: string;
  /** The address that the page says its links start from. */
  readonly base: string | undefined;
}

/** Browsers stop nesting here as well; what is deeper becomes a neighbour. */
const deepest = 512;
/** Beyond this the page is an attack on its reader: what came before is kept. */
const deepestAtAll = 10_000;
const mostNodes = 1_000_000;
const keptAttributes = new Set(
  "href src alt title class style hidden aria-hidden role colspan type start alttext".split(" "),
);

const stopped = Symbol("enough was parsed");

export async function parseHtml(source: string): Promise<HtmlTree> {
  const { Parser } = await import("htmlparser2");
  const root = makeElement("html", new Map());
  const open: HtmlElement[] = [root];
  let depth = 0;
  let nodes = 0;
  let title = "";
  let base: string | undefined;
  const parser = new Parser({
    onopentag(name, attributes) {
      nodes += 1;
      depth += 1;
      if (nodes > mostNodes || depth > deepestAtAll) throw stopped;
      if (name === "base") base ??= attributes["href"];
      const element = makeElement(name, keep(attributes));
      if (depth > deepest) leave(open.pop(), open.at(-1));
      open.at(-1)?.children.push(element);
      open.push(element);
    },
    onclosetag() {
      // Those beyond the deepest were left when their neighbour came.
      if (depth <= deepest) leave(open.pop(), open.at(-1));
      depth -= 1;
    },
    ontext(text) {
      const inside = open.at(-1) ?? root;
      if (inside.name === "title" && title.length < 500) title += text;
      inside.children.push(text);
      inside.textLength += text.length;
    },
  });
  try {
    parser.end(source);
  } catch (error) {
    if (error !== stopped) throw error;
  }
  while (open.length > 1) leave(open.pop(), open.at(-1));
  return { root, title: headOf(oneLine(title), 300), base };
}

export function isElement(node: HtmlNode): node is HtmlElement {
  return typeof node !== "string";
}

function makeElement(name: string, attributes: ReadonlyMap<string, string>): HtmlElement {
  return { name, attributes, children: [], textLength: 0, hasBlocks: false };
}

/** Counts what an element holds towards the one around it, once, when it is complete. */
function leave(element: HtmlElement | undefined, parent: HtmlElement | undefined): void {
  if (element === undefined || parent === undefined || droppedNames.has(element.name)) return;
  parent.textLength += element.textLength;
  if (element.hasBlocks || blockNames.has(element.name)) parent.hasBlocks = true;
}

function keep(attributes: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  const kept = new Map<string, string>();
  for (const name of Object.keys(attributes)) {
    if (keptAttributes.has(name)) kept.set(name, attributes[name] ?? "");
  }
  return kept;
}
