import type { DocumentPart, OpenDocument } from "./document-part.ts";
import { DocumentProblem } from "./document-problem.ts";

/** Those of a call. A document may have more: they are asked for by page. */
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

export async function openPdf(bytes: Uint8Array): Promise<OpenDocument> {
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
