import type { DocumentKind } from "./document-request.ts";

/** What the bytes themselves say, which a wrong name or a wrong header cannot change. */
export type Sniffed = "pdf" | "zip" | "old-office" | "binary" | "html" | "text";

const looksAt = 8192;

const signatures: readonly (readonly [Sniffed, string])[] = [
  ["zip", "504b0304"],
  ["zip", "504b0506"],
  ["old-office", "d0cf11e0a1b11ae1"],
  ["binary", "89504e470d0a1a0a"],
  ["binary", "ffd8ff"],
  ["binary", "474946383761"],
  ["binary", "474946383961"],
  ["binary", "1f8b08"],
  ["binary", "7f454c46"],
];

export function sniffBytes(bytes: Uint8Array): Sniffed {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, looksAt));
  const hex = start.toString("hex", 0, 8);
  for (const [kind, signature] of signatures) if (hex.startsWith(signature)) return kind;
  // The format allows something in front of its mark, and real files have it.
  const mark = start.subarray(0, 1024).indexOf("%PDF-");
  if (mark === 0 || (mark > 0 && start.includes(0))) return "pdf";
  if (start.includes(0) && !isUtf16(start)) return "binary";
  const text = start.toString("latin1").trimStart().toLowerCase();
  return /^(?:\ufeff|ï»¿)?(?:<!--[\s\S]{0,2000}?-->\s*)?<(?:!doctype html|html|head|body)\b/.test(
    text,
  )
    ? "html"
    : "text";
}

function isUtf16(start: Buffer): boolean {
  const mark = start.toString("hex", 0, 2);
  return mark === "fffe" || mark === "feff";
}

/** How a file is to be read, by its bytes first and its name second. Null: not a document. */
export function kindOfFile(name: string, bytes: Uint8Array): DocumentKind | null {
  const sniffed = sniffBytes(bytes);
  if (sniffed === "pdf") return "pdf";
  if (sniffed === "zip") return "docx";
  if (sniffed === "binary" || sniffed === "old-office") return null;
  if (/\.(?:html?|xhtml)$/i.test(name)) return "html";
  if (/\.(?:md|markdown|mdx)$/i.test(name)) return "markdown";
  return sniffed === "html" && !/\.\w+$/.test(name) ? "html" : "text";
}
