/**
 * A list of names someone may use. `"*"` is all, `[]` is none. «Not said» is `undefined` and is
 * resolved before a selection exists: there is no third value that could be taken for «all».
 *
 * A name that ends in `__*` stands for all that begin like it: the tools of an MCP server are not
 * known before it runs, and a contract has to speak of them all the same.
 */
export type Selection = "*" | readonly string[];

export const everything: Selection = "*";

export function includes(selection: Selection, name: string): boolean {
  return (
    selection === "*" || selection.includes(name) || selection.some((each) => covers(each, name))
  );
}

/** What both allow. Order follows the narrower list, so that receipts read as they were asked. */
export function intersect(left: Selection, right: Selection): Selection {
  if (left === "*") return right;
  if (right === "*") return left;
  if (left === right) return left;
  const kept = left.filter((name) => includes(right, name));
  // The same list where nothing is lost: a thousand siblings share it.
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

/** What of `requested` did not survive in `granted`. */
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
