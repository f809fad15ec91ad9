import { isMissingPackage } from "../../ports/message-of.ts";
import { oneLine } from "../../text.ts";
import { cleanText } from "../mcp/clean-text.ts";
import { checkZip } from "./check-zip.ts";
import {
  type DocumentKind,
  type DocumentPart,
  DocumentProblem,
  type DocumentRequest,
  type OpenDocument,
  singlePart,
} from "./document-request.ts";
import { htmlToMarkdown } from "./html-to-markdown.ts";

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

/** The most pages of one call. A longer document is asked for by page. */
const mostPages = 2000;

interface TextItem {
  readonly str?: string;
  readonly hasEOL?: boolean;
}

interface PdfPage {
  getTextContent(): Promise<{ readonly items: readonly TextItem[] }>;
  cleanup(): unknown;
}

interface PdfFile {
  readonly numPages: number;
  getPage(number: number): Promise<PdfPage>;
  getMetadata(): Promise<{ readonly info: Readonly<Record<string, unknown>> }>;
}

async function openPdf(bytes: Uint8Array): Promise<OpenDocument> {
  const file = await open(bytes);
  return {
    title: await titleOf(file),
    pages: file.numPages,
    async *parts(fromPage) {
      const last = Math.min(file.numPages, fromPage + mostPages - 1);
      for (let page = fromPage; page <= last; page++) yield await readPage(file, page);
    },
  };
}

async function open(bytes: Uint8Array): Promise<PdfFile> {
  const { getResolvedPDFJS } = await import("unpdf");
  const { getDocument } = await getResolvedPDFJS();
  try {
    // Nothing of the document is run or looked up: no scripts, no forms, no fonts of the system.
    const task = getDocument({
      data: bytes,
      verbosity: 0,
      useSystemFonts: false,
      disableFontFace: true,
      enableXfa: false,
      useWorkerFetch: false,
      stopAtErrors: false,
    });
    return (await task.promise) as unknown as PdfFile;
  } catch (error) {
    const isLocked = error instanceof Error && error.name === "PasswordException";
    const problem = isLocked ? "is locked with a password" : "is damaged";
    throw new DocumentProblem(`The PDF ${problem}, so it cannot be read.`, { cause: error });
  }
}

async function titleOf(file: PdfFile): Promise<string> {
  try {
    const title = (await file.getMetadata()).info["Title"];
    return typeof title === "string" ? title : "";
  } catch {
    return "";
  }
}

/** A page that cannot be read does not cost the others. */
async function readPage(file: PdfFile, number: number): Promise<DocumentPart> {
  try {
    const page = await file.getPage(number);
    const { items } = await page.getTextContent();
    const pieces = items.map(({ str = "", hasEOL }) => (hasEOL ? `${str}\n` : str));
    page.cleanup();
    return { page: number, text: pieces.join("").trim() };
  } catch {
    return { page: number, text: "[this page is damaged and could not be read]" };
  }
}

/** A Word document as HTML: headings, lists, tables and links; pictures are left out. */
async function readDocx(archive: Buffer): Promise<string> {
  if (!checkZip(archive).includes("word/document.xml")) {
    throw new DocumentProblem(
      "This is an archive, and not a Word document: there is no word/document.xml in it.",
    );
  }
  const mammoth = await loadReader();
  const noPictures = mammoth.images.imgElement(async () => ({ src: "" }));
  const options = { convertImage: noPictures, externalFileAccess: false };
  try {
    const { value } = await mammoth.convertToHtml({ buffer: archive }, options);
    return value;
  } catch (error) {
    throw new DocumentProblem("The Word document is damaged: it could not be read.", {
      cause: error,
    });
  }
}

/** An optional package: it brings two dozen others, and most agents never meet a Word document. */
async function loadReader(): Promise<typeof import("mammoth")> {
  try {
    return (await import("mammoth")).default;
  } catch (cause) {
    if (!isMissingPackage(cause, ["mammoth"])) throw cause;
    throw new DocumentProblem(
      "Word documents need a package that is not installed beside mandate. To add it: npm install mammoth",
      { cause },
    );
  }
}

/** Text by the mark it begins with, by what its sender said, or by what it declares inside. */
export function decodeText(bytes: Uint8Array, charset?: string): string {
  const marked = byteOrderMark(bytes);
  if (marked !== undefined) return decode(bytes, marked);
  const named = charset ?? declaredCharset(bytes);
  if (named !== undefined) return decode(bytes, named);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // The usual one among those that name none. Every byte is a character in it.
    return decode(bytes, "windows-1252");
  }
}

function byteOrderMark(bytes: Uint8Array): string | undefined {
  const [first, second, third] = bytes;
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  return undefined;
}

/** In the first bytes, where HTML and XML have to say it. */
function declaredCharset(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, 1024)).toString("latin1");
  const inTag = /<meta[^>]{0,200}charset\s*=\s*["']?\s*([\w:.-]{1,40})/i.exec(start)?.[1];
  return inTag ?? /^<\?xml[^>]{0,100}encoding\s*=\s*["']([\w:.-]{1,40})/i.exec(start)?.[1];
}

function decode(bytes: Uint8Array, label: string): string {
  return decoderFor(label).decode(bytes);
}

function decoderFor(label: string) {
  try {
    return new TextDecoder(label);
  } catch {
    return new TextDecoder("utf-8");
  }
}
