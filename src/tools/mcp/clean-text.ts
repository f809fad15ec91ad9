import { type Redact, redactionOf } from "../../ports/redact-secrets.ts";
import { stripHidden } from "../../ports/visible-text.ts";
import { headOfBytes, oneLine } from "../../text.ts";

/** What a server or a command said, cut to a size and without what a person cannot see. */

/** At most so many bytes of it, cut at a character. Tabs and line ends stay. */
export function cleanText(text: string, maxBytes: number): string {
  // Cut before looking: a text can be megabytes, and a character is at least one byte.
  const clean = stripHidden(text.slice(0, maxBytes * 2));
  if (Buffer.byteLength(clean) <= maxBytes && text.length <= maxBytes * 2) return clean;
  return `${headOfBytes(clean, maxBytes)}…`;
}

/** A cleaned text in one line, for sentences. */
export function cleanLine(text: string, maxBytes: number): string {
  return oneLine(cleanText(text, maxBytes));
}

/** Shorter values ("1", "on") are no secrets, and to remove them would damage every text. */
const shortestHidden = 4;

/** Hides values of the environment and of headers, with and without the scheme before a token. */
export function hideValues(values: Iterable<string>, shortest = shortestHidden): Redact {
  const forms = [...values].flatMap((value) => {
    const token = /^[A-Za-z]+\s+(\S.*)$/.exec(value)?.[1];
    return token === undefined ? [value] : [value, token];
  });
  return redactionOf(forms, shortest);
}

/** Names of variables, headers and flags whose values are secret. */
export function namesSecret(name: string): boolean {
  return /key|token|secret|passw|pwd|auth|cred|cookie|session|private|bearer|signature/i.test(name);
}
