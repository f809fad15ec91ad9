import { matchGlob } from "../../../contracts/judge-by-rules.ts";

/**
 * Whether a path matches one of the patterns: `*` and `?` match within a name, `**` matches any
 * number of folders. A pattern without any of them, or with a `/` at its end, includes everything
 * below. No patterns match nothing.
 */
export function isOwned(patterns: readonly string[], path: string): boolean {
  const names = path.split("/");
  return patterns.some((pattern) => matches(segmentsOf(pattern), names));
}

/**
 * Whether two steps could own the same path. True in case of doubt: steps that only seem to overlap
 * wait for each other, but steps that really overlap would destroy each other's work.
 */
export function ownershipOverlaps(left: readonly string[], right: readonly string[]): boolean {
  return overlaps(ownershipOf(left), ownershipOf(right));
}

/** Prepared patterns, for comparing them with many others. */
export type Ownership = readonly (readonly string[])[];

export function ownershipOf(patterns: readonly string[]): Ownership {
  return patterns.map(segmentsOf);
}

export function overlaps(left: Ownership, right: Ownership): boolean {
  return left.some((one) => right.some((other) => mayMeet(one, other)));
}

function segmentsOf(pattern: string): readonly string[] {
  const segments = pattern.split("/").filter((segment) => segment !== "" && segment !== ".");
  const isFolder = pattern.endsWith("/") || !/[*?]/.test(pattern);
  return isFolder && segments.at(-1) !== "**" ? [...segments, "**"] : segments;
}

function matches(pattern: readonly string[], names: readonly string[]): boolean {
  // The positions in the pattern that are reached after each name: no backtracking.
  let reached = skipOver(pattern, new Set([0]));
  for (const name of names) {
    const next = new Set<number>();
    for (const position of reached) {
      const segment = pattern[position];
      if (segment === "**") next.add(position);
      else if (segment !== undefined && matchGlob(segment, name)) next.add(position + 1);
    }
    reached = skipOver(pattern, next);
  }
  return reached.has(pattern.length);
}

/** `**` also matches no folder at all. */
function skipOver(pattern: readonly string[], positions: Set<number>): Set<number> {
  for (const position of positions) {
    if (pattern[position] === "**") positions.add(position + 1);
  }
  return positions;
}

function mayMeet(left: readonly string[], right: readonly string[]): boolean {
  for (let index = 0; ; index++) {
    const one = left[index];
    const other = right[index];
    if (one === "**" || other === "**") return true;
    if (one === undefined || other === undefined) return one === other;
    const arePlain = !/[*?]/.test(one) && !/[*?]/.test(other);
    if (arePlain && one !== other) return false;
  }
}
