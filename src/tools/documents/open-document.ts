import { oneLine } from "../../text.ts";
import { cleanText } from "../mcp/clean-text.ts";
import { decodeText } from "./decode-text.ts";
import { type OpenDocument, singlePart } from "./document-part.ts";
import type { DocumentKind, DocumentRequest } from "./document-request.ts";
import { htmlToMarkdown } from "./html-to-markdown.ts";
import { openPdf } from "./open-pdf.ts";
import { readDocx } from "./read-docx.ts";

/** More text than this of one document (or page) is not looked at. */
const mostBytes = 32 * 1024 * 1024;

type Opener = (bytes: Buffer, request: DocumentRequest) => Promise<OpenDocument>;

const openers: Readonly<Record<DocumentKind, Opener>> = {
  pdf: (bytes) => openPdf(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)),
  docx: async (bytes, request) => openHtml(await readDocx(bytes), request),
  html: (bytes, request) => openHtml(decodeText(bytes, request.charset), request),
  markdown: async (bytes, request) => singlePart("", decodeText(bytes, request.charset)),
  text: async (bytes, request) => singlePart("", decodeText(bytes, request.charset)),
};

/** Reads any document as text without control characters. Its parts are made as they are needed. */
export async function openDocument(bytes: Buffer, request: DocumentRequest): Promise<OpenDocument> {
  const { title, pages, parts } = await openers[request.kind](bytes, request);
  return {
    title: oneLine(cleanText(title, 300)),
    pages,
    async *parts(fromPage) {
      for await (const { page, text } of parts(fromPage)) {
        yield { page, text: cleanText(text, mostBytes) };
      }
    },
  };
}

async function openHtml(source: string, { format, base }: DocumentRequest): Promise<OpenDocument> {
  const { title, text } = await htmlToMarkdown(source, { isPlain: format === "text", base });
  return singlePart(title, text);
}
