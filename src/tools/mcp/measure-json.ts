export interface JsonBounds {
  readonly bytes: number;
  readonly depth: number;
}

/**
 * What is wrong with an untrusted JSON value, or undefined. Walks without recursion
 * and stops at the first bound, so the check itself costs no more than the bound.
 */
export function measureJson(value: unknown, bounds: JsonBounds): string | undefined {
  let bytes = 0;
  const open: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 1 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    bytes += sizeOf(next.value);
    if (bytes > bounds.bytes) return `is larger than ${bounds.bytes} bytes`;
    if (typeof next.value !== "object" || next.value === null) continue;
    if (next.depth > bounds.depth) return `is nested deeper than ${bounds.depth} levels`;
    const depth = next.depth + 1;
    if (Array.isArray(next.value)) {
      for (const item of next.value) open.push({ value: item, depth });
      continue;
    }
    for (const [key, item] of Object.entries(next.value)) {
      if (key === "__proto__") return 'has a key "__proto__"';
      bytes += Buffer.byteLength(key) + 4;
      open.push({ value: item, depth });
    }
    // Those still to be looked at count as well: a list of a million numbers is not walked first.
    if (open.length > bounds.bytes) return `is larger than ${bounds.bytes} bytes`;
  }
  return undefined;
}

function sizeOf(value: unknown): number {
  if (typeof value === "string") return Buffer.byteLength(value) + 3;
  return typeof value === "object" ? 2 : 5;
}
