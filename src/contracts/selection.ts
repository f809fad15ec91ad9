/**
 * A list of names someone may use. `"*"` is all, `[]` is none. «Not said» is `undefined` and is
 * resolved before a selection exists: there is no third value that could be taken for «all».
 */
export type Selection = "*" | readonly string[];

export const everything: Selection = "*";

export function includes(selection: Selection, name: string): boolean {
  return selection === "*" || selection.includes(name);
}

/** What both allow. Order follows the narrower list, so that receipts read as they were asked. */
export function intersect(left: Selection, right: Selection): Selection {
  if (left === "*") return right;
  if (right === "*") return left;
  if (left === right) return left;
  return left.filter((name) => right.includes(name));
}

export function isSubset(inner: Selection, outer: Selection): boolean {
  if (outer === "*") return true;
  if (inner === "*") return false;
  return inner.every((name) => outer.includes(name));
}

/** What of `requested` did not survive in `granted`. */
export function difference(requested: Selection, granted: Selection): readonly string[] {
  if (requested === "*" || granted === "*") return [];
  return requested.filter((name) => !granted.includes(name));
}
