import { type HtmlElement, type HtmlNode, isElement, type Leaves } from "./html-tree.ts";

interface TableTools {
  readonly blocks: (nodes: readonly HtmlNode[]) => readonly string[];
  readonly leaves: Leaves;
  readonly isPlain: boolean;
}

const mostColumns = 100;
const groups = new Set(["thead", "tbody", "tfoot"]);
/** A table that holds one of these arranges a page; it says nothing as a table. */
const layoutNames = new Set(["table", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "article"]);

export function renderTable(table: HtmlElement, tools: TableTools): readonly string[] {
  const captions: string[] = [];
  const rows: HtmlElement[] = [];
  const collect = (nodes: readonly HtmlNode[]) => {
    for (const node of nodes) {
      if (!isElement(node) || tools.leaves(node)) continue;
      if (groups.has(node.name)) collect(node.children);
      else if (node.name === "tr") {
        const strays = node.children.flatMap(takeStrays);
        rows.push(node);
        collect(strays);
      } else if (node.name === "caption") {
        const strays = takeStrays(node);
        captions.push(...tools.blocks(node.children));
        collect(strays);
      }
    }
  };
  collect(table.children);
  const cells = rows.map((row) => cellsOf(row, tools.leaves));
  if (isLayout(table, cells)) return tools.blocks(table.children.flatMap(unwrap));
  const columns = cells.reduce(
    (most, row) => Math.max(most, Math.min(mostColumns, countColumns(row))),
    1,
  );
  // The first row says how many columns there are; padding the others could multiply a page.
  const lines = cells.map((row, index) => renderRow(row, index === 0 ? columns : 0, tools));
  if (!tools.isPlain) lines.splice(1, 0, `|${" --- |".repeat(columns)}`);
  return [...captions, lines.join("\n")];
}

/** Closing tags of cells may be left out; the parser then takes what follows as their content. */
function takeStrays(cell: HtmlNode): readonly HtmlNode[] {
  if (!isElement(cell)) return [];
  const first = cell.children.findIndex(
    (child) => isElement(child) && (groups.has(child.name) || child.name === "tr"),
  );
  return first < 0 ? [] : cell.children.splice(first);
}

function cellsOf(row: HtmlElement, leaves: Leaves): readonly HtmlElement[] {
  return row.children.filter(
    (node): node is HtmlElement =>
      isElement(node) && (node.name === "td" || node.name === "th") && !leaves(node),
  );
}

function isLayout(table: HtmlElement, rows: readonly (readonly HtmlElement[])[]): boolean {
  const role = table.attributes.get("role");
  if (role === "presentation" || role === "none") return true;
  if (!rows.some((row) => row.length > 1)) return true;
  return rows.some((row) => row.some((cell) => cell.hasBlocks && holdsLayout(cell)));
}

function holdsLayout(cell: HtmlElement): boolean {
  const waiting: HtmlElement[] = [cell];
  for (let element = waiting.pop(); element !== undefined; element = waiting.pop()) {
    for (const child of element.children) {
      if (!isElement(child)) continue;
      if (layoutNames.has(child.name)) return true;
      if (child.hasBlocks) waiting.push(child);
    }
  }
  return false;
}

/** The rows' cells as plain blocks, in order. */
function unwrap(node: HtmlNode): readonly HtmlNode[] {
  if (!isElement(node)) return [];
  return groups.has(node.name) || node.name === "tr" ? node.children.flatMap(unwrap) : [node];
}

function spanOf(cell: HtmlElement): number {
  const span = Number(cell.attributes.get("colspan") ?? 1);
  return Number.isSafeInteger(span) && span > 1 ? Math.min(span, mostColumns) : 1;
}

function countColumns(row: readonly HtmlElement[]): number {
  return row.reduce((sum, cell) => sum + spanOf(cell), 0);
}

function renderRow(row: readonly HtmlElement[], columns: number, tools: TableTools): string {
  const texts: string[] = [];
  for (const cell of row) {
    const text = tools.blocks(cell.children).join(" ").replaceAll(/\s+/g, " ").trim();
    texts.push(tools.isPlain ? text : text.replaceAll("|", "\\|"));
    for (let span = spanOf(cell); span > 1; span--) texts.push("");
  }
  while (texts.length < columns) texts.push("");
  return tools.isPlain ? texts.join("\t").trimEnd() : `| ${texts.join(" | ")} |`;
}
