import { MandateError } from "../ports/mandate-error.ts";
import type { Store } from "../ports/store.ts";
import { exportJsonl } from "./export-jsonl.ts";
import { exportMarkdown } from "./export-markdown.ts";

export const sessionFormats = ["markdown", "jsonl"] as const;

export type SessionFormat = (typeof sessionFormats)[number];

/** The whole of a session, in pieces that are written one after the other. */
export function exportSession(
  store: Store,
  id: string,
  format: SessionFormat = "markdown",
): AsyncGenerator<string> {
  switch (format) {
    case "markdown":
      return exportMarkdown(store, id);
    case "jsonl":
      return exportJsonl(store, id);
    default: {
      const known = sessionFormats.join(", ");
      throw new MandateError("usage", `There is no format ${JSON.stringify(format)}: ${known}.`);
    }
  }
}
