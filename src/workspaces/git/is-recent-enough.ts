/** `merge-tree --write-tree` came with it, and `safe.bareRepository`. */
const oldestGit = "2.38";

export function isRecentEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [wanted = 0, atLeast = 0] = oldestGit.split(".").map(Number);
  return major > wanted || (major === wanted && minor >= atLeast);
}
