/**
 * Where a text occurs, overlaps included, up to `most` times. In time linear in both, whatever they
 * are: the usual fast searches can be made to take the product of both.
 */
export function findOccurrences(content: Uint8Array, sought: Uint8Array, most: number): number[] {
  const found: number[] = [];
  const borders = bordersOf(sought);
  let matched = 0;
  for (let at = 0; at < content.length; at += 1) {
    const byte = content[at];
    while (matched > 0 && sought[matched] !== byte) matched = borders[matched - 1] ?? 0;
    if (sought[matched] === byte) matched += 1;
    if (matched < sought.length) continue;
    found.push(at - matched + 1);
    if (found.length >= most) return found;
    matched = borders[matched - 1] ?? 0;
  }
  return found;
}

/** For each beginning of a text the longest part that it both begins and ends with. */
function bordersOf(sought: Uint8Array): Int32Array {
  const borders = new Int32Array(sought.length);
  for (let at = 1, length = 0; at < sought.length; at += 1) {
    while (length > 0 && sought[at] !== sought[length]) length = borders[length - 1] ?? 0;
    if (sought[at] === sought[length]) length += 1;
    borders[at] = length;
  }
  return borders;
}
