/** The bytes here are not a character in UTF-8. One byte is to be skipped. */
export const notACharacter = -1;

/** How long a character is that begins with this byte; 1 also for bytes that begin none. */
export function lengthFrom(first: number): number {
  if (first < 0xc2) return 1;
  if (first < 0xe0) return 2;
  if (first < 0xf0) return 3;
  return first < 0xf5 ? 4 : 1;
}

/** The character that begins at a byte of 0x80 or more, or `notACharacter`. */
export function decodeCharacter(bytes: Uint8Array, at: number, end: number): number {
  const first = bytes[at] ?? 0;
  const length = lengthFrom(first);
  if (length === 1 || at + length > end) return notACharacter;
  let codePoint = first & (0xff >> (length + 1));
  for (let offset = 1; offset < length; offset += 1) {
    const byte = bytes[at + offset] ?? 0;
    if ((byte & 0xc0) !== 0x80) return notACharacter;
    codePoint = (codePoint << 6) | (byte & 0x3f);
  }
  const isOverlong = (length === 3 && codePoint < 0x800) || (length === 4 && codePoint < 0x10000);
  const isSurrogate = codePoint >= 0xd800 && codePoint <= 0xdfff;
  return isOverlong || isSurrogate || codePoint > 0x10ffff ? notACharacter : codePoint;
}

/** Where a piece may end so that it does not cut a character whose rest is still to come. */
export function wholeCharactersEnd(bytes: Uint8Array, from: number, end: number): number {
  for (let back = 1; back <= 3 && end - back >= from; back += 1) {
    const byte = bytes[end - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    return lengthFrom(byte) > back ? end - back : end;
  }
  return end;
}
