import { stripHidden } from "../../ports/visible-text.ts";

/** The text as it is kept: one spelling, one kind of line end, nothing hidden. */
export function cleanMemory(text: string): string {
  const lines = text.normalize("NFC").replaceAll(/\r\n?|[\u2028\u2029]/g, "\n");
  return stripHidden(lines)
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
}

/** Tags and keys are words: the same ones, however they were written. */
export function cleanWord(word: string): string {
  return cleanMemory(word).normalize("NFKC").toLowerCase();
}
