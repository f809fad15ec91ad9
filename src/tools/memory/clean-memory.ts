/** Colours and cursor movements of terminals: all of it, not just the character that begins it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed.
const terminal = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?)/g;

/**
 * What nobody would see: control characters, marks that reorder or hide text, tag characters and
 * rows of variation selectors, in which whole sentences can be written.
 */
const unseen =
  /[^\P{Cc}\t\n]|[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]|(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]/gu;

/** The text as it is kept: one spelling, one kind of line end, nothing hidden. */
export function cleanMemory(text: string): string {
  return text
    .toWellFormed()
    .normalize("NFC")
    .replaceAll(/\r\n?|[\u2028\u2029]/g, "\n")
    .replaceAll(terminal, "")
    .replaceAll(unseen, "")
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
