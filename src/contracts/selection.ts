/**
 * The names that an agent may use. `"*"` is all, `[]` is none. An absent field is resolved before a
 * selection exists, so that no third value can be mistaken for "all".
 *
 * A name that ends in `__*` matches every name with that prefix: the tools of an MCP server are not known
 * before it runs.
 */
export type Selection = "*" | readonly string[];

export const everything: Selection = "*";

export function includes(selection: Selection, name: string): boolean {
  return (
    selection === "*" || selection.includes(name) || selection.some((each) => covers(each, name))
  );
}

/** The intersection, in the order of `left`, so that receipts keep the order of the request. */
export function intersect(left: Selection, right: Selection): Selection {
  if (left === "*") return right;
  if (right === "*") return left;
  if (left === right) return left;
  const kept = left.filter((name) => includes(right, name));
  // Returns the same list where nothing is removed: a thousand siblings share it.
  const common = kept.length === left.length ? left : kept;
  if (!left.some(isPattern)) return common;
  const narrower = right.filter((name) => !common.includes(name) && includes(left, name));
  return narrower.length === 0 ? common : [...common, ...narrower];
}

export function isSubset(inner: Selection, outer: Selection): boolean {
  if (outer === "*") return true;
  if (inner === "*") return false;
  return inner.every((name) => includes(outer, name));
}

/** The names in `requested` that `granted` does not include. */
export function difference(requested: Selection, granted: Selection): readonly string[] {
  if (requested === "*" || granted === "*") return [];
  return requested.filter((name) => !includes(granted, name));
}

export function isPattern(name: string): boolean {
  return name.endsWith("__*");
}

function covers(pattern: string, name: string): boolean {
  return isPattern(pattern) && name.startsWith(pattern.slice(0, -1));
}
