import { droppedNames, surroundingNames, surroundingRoles } from "./html-names.ts";
import { type HtmlElement, isElement } from "./html-tree.ts";

export type Leaves = (element: HtmlElement) => boolean;

export interface MainContent {
  readonly element: HtmlElement;
  /** What of it is not shown. */
  readonly leaves: Leaves;
}

/** A page whose marked content is shorter than this has its content elsewhere. */
const leastText = 200;

/**
 * The part of a page that is about something: what it marks as such, else all of it without what
 * stands around the content.
 */
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

/** What a person does not see, a model is not told: hidden text is where instructions are put. */
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
