/**
 * Stands for `node:crypto` in the page. Folding a run asks for one hash, that of the link before its
 * first event; the page verifies no chains (`mandate verify` does), so nothing reads it.
 */
export function hash(): string {
  return "";
}
