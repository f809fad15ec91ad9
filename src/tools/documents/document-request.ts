/**
 * Documents (PDF, DOCX, HTML) as text. They are untrusted, so a process of its own reads them. This
 * file is what both processes exchange; parser-main.ts is the program of the other one.
 */
import { z } from "zod";

export type DocumentKind = "pdf" | "docx" | "html" | "markdown" | "text";

/** A stretch of the text, or the passages of it that fit some words best. */
export type DocumentView =
  | {
      readonly kind: "window";
      /** The page that `offset` counts from; documents without pages have only the first. */
      readonly page: number;
      readonly offset: number;
      readonly limit: number;
    }
  | { readonly kind: "passages"; readonly query: string; readonly count: number };

/** What the parser is asked: one line of JSON to another process, then the document's bytes. */
export interface DocumentRequest {
  readonly kind: DocumentKind;
  /** What HTML becomes. */
  readonly format: "markdown" | "text";
  readonly view: DocumentView;
  /** What relative links are resolved against. */
  readonly base?: string;
  /** What the sender said; the document itself may say otherwise. */
  readonly charset?: string;
  /** When to give what was found so far, from the parser's start. */
  readonly patienceMs: number;
}

const place = {
  /** Null: the document has no pages. */
  page: z.int().min(1).nullable(),
  /** In characters, from the start of the page. */
  offset: z.int().min(0),
};

const passage = z.strictObject({
  ...place,
  line: z.int().min(1),
  heading: z.string(),
  text: z.string(),
});

/**
 * What comes back. Checked like anything from outside: the process that wrote it has read a
 * untrusted document.
 */
export const documentReply = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("window"),
    ...place,
    title: z.string(),
    pages: z.int().min(0).nullable(),
    text: z.string(),
    /** Where to read on; null at the end. */
    next: z.int().min(0).nullable(),
    /** The length of the document; null: not known without reading all of it. */
    total: z.int().min(0).nullable(),
  }),
  z.strictObject({
    kind: z.literal("passages"),
    title: z.string(),
    pages: z.int().min(0).nullable(),
    passages: z.array(passage),
    /** Null when all of it was looked through; else where that ended. */
    stoppedAt: z.string().nullable(),
  }),
  z.strictObject({ kind: z.literal("problem"), text: z.string() }),
]);

export type DocumentReply = z.infer<typeof documentReply>;
export type Passage = z.infer<typeof passage>;
export type WindowReply = Extract<DocumentReply, { kind: "window" }>;
export type PassagesReply = Extract<DocumentReply, { kind: "passages" }>;

/** A page, or all of a document that has none. */
export interface DocumentPart {
  readonly page: number | null;
  readonly text: string;
}

export interface OpenDocument {
  readonly title: string;
  readonly pages: number | null;
  /** From this page on, in order, each made when it is asked for. */
  parts(fromPage: number): AsyncIterable<DocumentPart>;
}

export function singlePart(title: string, text: string): OpenDocument {
  return {
    title,
    pages: null,
    async *parts() {
      yield { page: null, text };
    },
  };
}

/** A document that cannot be read, in a sentence for the model that asked for it. */
export class DocumentProblem extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "DocumentProblem";
  }
}
