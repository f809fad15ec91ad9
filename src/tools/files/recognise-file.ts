import { readSync } from "node:fs";
import { jpegSize, webpSize } from "./picture-size.ts";

export interface RecognisedFile {
  /** As it is said in a sentence: `a PNG image`. */
  readonly kind: string;
  /** Something that people look at or read, which text does not show. */
  readonly isDocument: boolean;
  readonly pixels?: { readonly width: number; readonly height: number };
}

const headBytes = 64;

/** What a file is by its first bytes, whatever it is called; undefined: nothing that is known. */
export function recogniseFile(descriptor: number): RecognisedFile | undefined {
  const head = Buffer.alloc(headBytes);
  const length = readSync(descriptor, head, 0, headBytes, 0);
  const begins = (text: string, at = 0) => {
    return length >= at + text.length && head.toString("latin1", at, at + text.length) === text;
  };
  if (begins("\x89PNG\r\n\x1a\n")) {
    return picture("a PNG image", { width: head.readUInt32BE(16), height: head.readUInt32BE(20) });
  }
  if (begins("GIF87a") || begins("GIF89a")) {
    return picture("a GIF image", { width: head.readUInt16LE(6), height: head.readUInt16LE(8) });
  }
  if (begins("\xff\xd8\xff")) return picture("a JPEG image", jpegSize(descriptor));
  if (begins("RIFF") && begins("WEBP", 8)) return picture("a WebP image", webpSize(head));
  if (begins("%PDF-")) {
    const version = /^\d\.\d/.exec(head.toString("latin1", 5, 8))?.[0];
    const kind = version === undefined ? "a PDF document" : `a PDF document, version ${version}`;
    return { kind, isDocument: true };
  }
  const other = others.find(([beginning]) => begins(beginning));
  return other && { kind: other[1], isDocument: false };
}

const others: readonly (readonly [string, string])[] = [
  ["PK\x03\x04", "a ZIP archive, or a document that is one"],
  ["\x1f\x8b", "compressed with gzip"],
  ["\x7fELF", "an ELF program"],
  ["MZ\x90", "a Windows program"],
  ["\0asm", "WebAssembly"],
  ["SQLite format 3\0", "an SQLite database"],
  ["\xff\xfe", "UTF-16 text"],
  ["\xfe\xff", "UTF-16 text"],
];

function picture(kind: string, pixels: RecognisedFile["pixels"]): RecognisedFile {
  // A file that was cut short does not say.
  const isKnown = pixels !== undefined && pixels.width > 0 && pixels.height > 0;
  return { kind, isDocument: true, ...(isKnown ? { pixels } : {}) };
}
