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
