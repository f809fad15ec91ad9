/** Characters that HFS+ ignores in names, so that `.g\u200cit` is `.git` to it. */
const ignorable = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/gu;

/** Plain names need no more than lower case; everything that a file system could read otherwise does. */
const isOdd = /[^!-}]|:|[ .]$/;

/**
 * A name as the most lenient file system compares it: without case, Unicode form, the characters
 * that HFS+ ignores, and the streams, spaces and dots that NTFS ignores at the end.
 */
export function foldedName(name: string): string {
  const lower = name.toLowerCase();
  if (!isOdd.test(name)) return lower;
  const plain = name.replace(ignorable, "").normalize("NFC").toUpperCase().toLowerCase();
  return plain.replace(/:.*$/s, "").replace(/[ .]+$/, "");
}

/** The names by which FAT and NTFS find a file too: `.git` is also `git~1`. Already folded. */
export function shortNames(name: string): readonly string[] {
  const dot = name.lastIndexOf(".");
  const base = (dot > 0 ? name.slice(0, dot) : name).replaceAll(".", "");
  const extension = dot > 0 ? name.slice(dot, dot + 4) : "";
  const isShort = !name.startsWith(".") && base.length <= 8 && name.length - dot <= 4;
  if (isShort || (!name.includes(".") && name.length <= 8)) return [];
  return Array.from("123456789", (digit) => `${base.slice(0, 6)}~${digit}${extension}`);
}
