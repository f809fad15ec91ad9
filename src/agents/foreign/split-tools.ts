import type { ToolsPlace } from "./agent-file.ts";
import { recordOf } from "./plain-data.ts";

/** The value of a list of tools, before its names are interpreted. */
type ToolsValue =
  | { readonly kind: "all" }
  /** `reason` explains a value that may be empty by mistake. */
  | { readonly kind: "none"; readonly reason?: string }
  | { readonly kind: "items"; readonly items: readonly string[]; readonly dropped: number }
  | { readonly kind: "map"; readonly entries: readonly (readonly [string, unknown])[] };

const nothing = /^(?:|none|null|undefined|false|~|\[\])$/i;
const everything = /^(?:\*|all|true|\[\s*["']?\*["']?\s*\])$/i;

/**
 * Splits a list of tools. Only `*`, `all` and `true` mean all; an empty or unknown value means
 * none.
 */
export function splitTools(value: unknown): ToolsValue {
  if (value === true) return { kind: "all" };
  if (value === false) return { kind: "none" };
  if (value === null || value === undefined) return { kind: "none", reason: "it has no value" };
  if (typeof value === "string") return splitText(value);
  if (Array.isArray(value)) return splitList(value);
  if (typeof value !== "object") {
    return { kind: "none", reason: `${String(value)} is not a list of tools` };
  }
  const entries = Object.entries(value);
  if (entries.length === 0) return { kind: "none", reason: "it names no tool" };
  return { kind: "map", entries };
}

function splitText(value: string): ToolsValue {
  const text = value.trim();
  if (everything.test(text)) return { kind: "all" };
  if (nothing.test(text)) {
    return text === "[]" ? { kind: "none" } : { kind: "none", reason: `it says "${text}"` };
  }
  const inside = text.replace(/^\[/, "").replace(/\]$/, "");
  let items = splitOutsideParentheses(inside, /[,\n]/);
  if (items.length === 1) items = splitOutsideParentheses(inside, /\s/);
  return { kind: "items", items: items.map(cleanItem).filter((item) => item !== ""), dropped: 0 };
}

function splitList(list: readonly unknown[]): ToolsValue {
  const items: string[] = [];
  let dropped = 0;
  for (const item of list) {
    const name = typeof item === "string" ? item : nameOf(item);
    const pieces = splitOutsideParentheses(name ?? "", /[,\n]/).map(cleanItem);
    const named = pieces.filter((piece) => piece !== "");
    if (named.length === 0) dropped += 1;
    items.push(...named);
  }
  if (items.includes("*")) return { kind: "all" };
  if (list.length > 0 && items.length === 0) return { kind: "none", reason: "it names no tool" };
  return list.length === 0 ? { kind: "none" } : { kind: "items", items, dropped };
}

function nameOf(item: unknown): string | undefined {
  const { name } = recordOf(item);
  return typeof name === "string" ? name : undefined;
}

function cleanItem(item: string): string {
  return item
    .trim()
    .replace(/^-\s+/, "")
    .replace(/^["'`]+|["'`]+$/g, "")
    .trim();
}

/** Splits a text outside of parentheses: `Bash(git diff, git log)` is one item. */
function splitOutsideParentheses(text: string, separator: RegExp): string[] {
  const items: string[] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index] ?? "";
    if (character === "(") depth += 1;
    else if (character === ")") depth = Math.max(0, depth - 1);
    else if (depth === 0 && separator.test(character)) {
      items.push(text.slice(start, index));
      start = index + 1;
    }
  }
  items.push(text.slice(start));
  return items.filter((item) => item.trim() !== "");
}

/** Reads a list of names in any of the forms of tool lists. An empty value means none. */
export function readNames(value: unknown, { field, findings, line }: ToolsPlace) {
  const split = splitTools(value);
  switch (split.kind) {
    case "all":
      return "*" as const;
    case "none":
      if (split.reason !== undefined) findings.warn(`"${field}" names none: ${split.reason}`, line);
      return [];
    case "map":
      return split.entries.filter(([, isIn]) => isIn !== false).map(([name]) => name);
    case "items":
      return split.items;
  }
}
