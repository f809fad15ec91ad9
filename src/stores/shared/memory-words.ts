/** A query is looked at no further than this: it comes from models. */
const mostWords = 16;
const longestWord = 64;

/** The words of a query, as they are looked for: in lower case, each once, without punctuation. */
export function wordsOf(query: string): readonly string[] {
  const words = query
    .slice(0, 10_000)
    .normalize("NFKC")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu);
  return [...new Set(words ?? [])].slice(0, mostWords).map((word) => word.slice(0, longestWord));
}

/** All words of a text in their order, as they are found: in lower case, and without accents. */
export function foldWords(text: string): readonly string[] {
  const words = text
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu);
  return (words ?? []).map((word) => word.slice(0, longestWord));
}
