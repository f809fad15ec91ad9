/**
 * What git and our own next start obey, in whatever folder it lies. File tools refuse these names,
 * commands find them read-only, and merges do not bring them.
 */
export const obeyedNames: readonly string[] = [".git", ".mandate", "mandate.yaml"];

const longestName = Math.max(...obeyedNames.map(({ length }) => length));

/** Compared without case, as some file systems do. */
export function isObeyedName(name: string): boolean {
  // Every name of a large tree is asked about.
  return name.length <= longestName && obeyedNames.includes(name.toLowerCase());
}
