import { headOf, oneLine } from "../../text.ts";

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

interface HtmlTree {
  readonly root: HtmlElement;
  readonly title: string;
  /** The address that the page says its links start from. */
  readonly base: string | undefined;
}

/** Browsers stop nesting here as well; deeper elements become siblings. */
const deepest = 512;
/** Deeper pages are hostile: parsing stops, and the part before is kept. */
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
      // Elements beyond the limit were closed when their sibling was opened.
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

/** Adds an element's counts to its parent, once, when the element is complete. */
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

/** Never text for a reader: code, controls, and what other programs draw. */
const droppedNames: ReadonlySet<string> = new Set(
  (
    "script style noscript template iframe object embed svg canvas video audio map head title " +
    "link meta base input select textarea button datalist progress meter dialog annotation"
  ).split(" "),
);

export const blockNames: ReadonlySet<string> = new Set(
  (
    "html body main article section nav aside header footer address div p pre blockquote ul ol " +
    "li dl dt dd table thead tbody tfoot tr td th caption figure figcaption details summary form " +
    "fieldset legend h1 h2 h3 h4 h5 h6 hr center menu hgroup search"
  ).split(" "),
);

/** Elements around the content, the same on every page of a site. */
const surroundingNames: ReadonlySet<string> = new Set(["nav", "header", "footer", "aside"]);

const surroundingRoles: ReadonlySet<string> = new Set(
  "navigation banner contentinfo complementary search".split(" "),
);

export type Leaves = (element: HtmlElement) => boolean;

interface MainContent {
  readonly element: HtmlElement;
  /** The parts of the page that are not shown. */
  readonly leaves: Leaves;
}

/** A page whose marked content is shorter than this has its content elsewhere. */
const leastText = 200;

/** The content of a page: the element that is marked as such, else the page without navigation, header and footer. */
export function findMainContent(root: HtmlElement): MainContent {
  const marked = findMarked(root);
  if (marked !== undefined) return { element: marked, leaves: isNavigation };
  const rest = countWithout(root, isSurrounding);
  const isWorthIt = rest >= leastText || rest * 3 >= root.textLength;
  return { element: root, leaves: isWorthIt ? isSurrounding : isUnseen };
}

function findMarked(root: HtmlElement): HtmlElement | undefined {
  const mains: HtmlElement[] = [];
  const articles: HtmlElement[] = [];
  for (const element of walk(root)) {
    if (element.name === "main" || element.attributes.get("role") === "main") mains.push(element);
    else if (element.name === "article") articles.push(element);
  }
  const candidates = mains.length > 0 ? mains : articles.length === 1 ? articles : [];
  const longest = candidates.reduce<HtmlElement | undefined>(
    (best, next) => (best === undefined || next.textLength > best.textLength ? next : best),
    undefined,
  );
  return longest !== undefined && longest.textLength >= leastText ? longest : undefined;
}

function* walk(root: HtmlElement): Generator<HtmlElement> {
  const waiting = [root];
  for (let element = waiting.pop(); element !== undefined; element = waiting.pop()) {
    yield element;
    for (const child of element.children) {
      if (isElement(child) && !isUnseen(child)) waiting.push(child);
    }
  }
}

function countWithout(root: HtmlElement, leaves: Leaves): number {
  let length = 0;
  const waiting: HtmlElement[] = [root];
  for (let element = waiting.pop(); element !== undefined; element = waiting.pop()) {
    for (const child of element.children) {
      if (!isElement(child)) length += child.trim().length;
      else if (!leaves(child)) waiting.push(child);
    }
  }
  return length;
}

/** Elements that browsers do not show: prompt injections are often in hidden text. */
function isUnseen({ name, attributes }: HtmlElement): boolean {
  if (droppedNames.has(name) || attributes.has("hidden")) return true;
  if (attributes.get("aria-hidden") === "true") return true;
  const style = attributes.get("style");
  return style !== undefined && /display\s*:\s*none|visibility\s*:\s*hidden/i.test(style);
}

function isNavigation(element: HtmlElement): boolean {
  if (isUnseen(element) || element.name === "nav") return true;
  return element.attributes.get("role") === "navigation";
}

function isSurrounding(element: HtmlElement): boolean {
  if (isNavigation(element) || surroundingNames.has(element.name)) return true;
  return surroundingRoles.has(element.attributes.get("role") ?? "");
}
