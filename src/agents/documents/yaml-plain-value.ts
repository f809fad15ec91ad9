import { type Document, isMap, isScalar, isSeq, type ParsedNode } from "yaml";

export const maximumDepth = 64;
const maximumAliases = 20;

/** Throws what the reader of the file throws, with the line of `offset`. */
export type Refuse = (offset: number, problem: string) => never;

/** By hand, since a conversion that trusts keys and aliases is where such files do harm. */
export function toPlainValue(
  document: Document.Parsed,
  refuse: Refuse,
  onDuplicate?: (offset: number, key: string) => void,
): unknown {
  // Counted each time one is followed, so a bomb and a circle both run into the limit.
  let aliases = 0;

  function convert(node: ParsedNode | null, depth: number): unknown {
    if (node === null) return null;
    const offset = node.range[0];
    if (depth > maximumDepth) refuse(offset, `nested deeper than ${maximumDepth} levels`);
    if (isScalar(node)) return scalar(node.value, node.source, offset);
    if (isSeq(node)) return node.items.map((item) => convert(item as ParsedNode, depth + 1));
    if (isMap(node)) {
      const entries = node.items as { key: ParsedNode; value: ParsedNode | null }[];
      return record(entries, depth);
    }
    aliases += 1;
    if (aliases > maximumAliases) refuse(offset, `aliases are followed ${maximumAliases} times`);
    const target = node.resolve(document);
    if (target === undefined) refuse(offset, `the alias "${node.source}" has no anchor`);
    return convert(target as ParsedNode, depth + 1);
  }

  function record(
    entries: readonly { key: ParsedNode; value: ParsedNode | null }[],
    depth: number,
  ): Record<string, unknown> {
    const plain: Record<string, unknown> = {};
    for (const { key, value } of entries) {
      const offset = key.range[0];
      if (!isScalar(key)) return refuse(offset, "a key must be plain text");
      const name = String(key.value);
      if (name === "<<") refuse(offset, 'merge keys ("<<") are not read; write the keys out');
      if (name === "__proto__") refuse(offset, '"__proto__" cannot be a key');
      if (Object.hasOwn(plain, name)) {
        if (onDuplicate === undefined) refuse(offset, `the key "${name}" is there twice`);
        onDuplicate(offset, name);
      }
      plain[name] = convert(value, depth + 1);
    }
    return plain;
  }

  function scalar(value: unknown, source: string | undefined, offset: number): unknown {
    if (typeof value !== "number") return value;
    if (!Number.isFinite(value)) refuse(offset, `${source ?? value} is not a finite number`);
    const inexact = !Number.isSafeInteger(value) && /^[-+]?\d+$/.test(source ?? "");
    if (inexact) refuse(offset, `${source} is too large to be exact; quote it if it is text`);
    return value;
  }

  return convert(document.contents, 0);
}
