import { readSync } from "node:fs";

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Pictures of cameras carry previews and profiles before the size; nobody has more than this. */
const mostSegments = 200;

/** Goes from segment to segment until the one that begins the picture itself. */
export function jpegSize(descriptor: number): Size | undefined {
  const header = Buffer.alloc(9);
  let at = 2;
  for (let count = 0; count < mostSegments; count += 1) {
    if (readSync(descriptor, header, 0, header.length, at) < header.length) return undefined;
    if (header[0] !== 0xff) return undefined;
    const marker = header[1] ?? 0;
    if (marker === 0xff) {
      at += 1; // Padding.
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { height: header.readUInt16BE(5), width: header.readUInt16BE(7) };
    at += 2 + header.readUInt16BE(2);
  }
  return undefined;
}

/** The three kinds of WebP say it in three ways; all within the first thirty bytes. */
export function webpSize(head: Buffer): Size | undefined {
  const kind = head.toString("latin1", 12, 16);
  if (kind === "VP8X") {
    return { width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 };
  }
  if (kind === "VP8L" && head[20] === 0x2f) {
    const bits = head.readUInt32LE(21);
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
  }
  if (kind === "VP8 " && head.readUIntBE(23, 3) === 0x9d012a) {
    return { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff };
  }
  return undefined;
}
