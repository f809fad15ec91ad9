import { redactionOf } from "../../ports/redact-secrets.ts";
import { stripHidden } from "../../ports/visible-text.ts";

/** The text as it is stored: NFC, line feeds, no hidden characters. */
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

/** Prefixes of keys of known services, matched at the beginning of a word. */
const prefixes: readonly RegExp[] = [
  /^(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16}/,
  /^xai-[A-Za-z0-9]{20}/,
  /^gsk_[A-Za-z0-9]{20}/,
  /^AIza[A-Za-z0-9_-]{30}/,
  /^(?:AKIA|ASIA)[A-Z0-9]{16}$/,
  /^gh[opsur]_[A-Za-z0-9]{30}/,
  /^github_pat_[A-Za-z0-9_]{22}/,
  /^glpat-[A-Za-z0-9_-]{20}/,
  /^xox[abeoprs]-[A-Za-z0-9-]{10}/,
  /^hf_[A-Za-z0-9]{30}/,
  /^npm_[A-Za-z0-9]{36}/,
  /^pypi-[A-Za-z0-9_-]{40}/,
  /^tvly-[A-Za-z0-9-]{20}/,
  /^eyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10}/,
];

/** Every repetition is bounded: a model writes the text, and matching must not take long. */
const elsewhere: readonly RegExp[] = [
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY/,
  /\bBearer\s{1,5}(?=[^\s"',]{0,100}[0-9])[^\s"',]{20}/i,
  /:\/\/[^\s/:@"']{1,100}:[^\s/@"']{3,200}@/,
];

/** `API_KEY=…`, `"password": "…"`: a name that says secret, and a value of letters and digits. */
const assignment =
  /(?:(?:api|access|auth|private)[_-]?key|secret|passw(?:or)?d|token|credential)s?["'`]?\s{0,5}[:=]\s{0,5}["'`]?(?<value>[A-Za-z0-9+/_.~-]{16,200})/gi;

const named = /(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$/i;

/** Shorter values stand in texts by chance. */
const shortestValue = 12;

/** The values of environment variables that are called keys, tokens, secrets or passwords. */
export function secretsOf(
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  return Object.entries(environment).flatMap(([name, value = ""]) =>
    named.test(name) && value.length >= shortestValue ? value : [],
  );
}

/** Whether a text seems to contain a credential: memories are read by many agents. */
export function holdsSecret(text: string, known: readonly string[]): boolean {
  if (redactionOf(known, shortestValue)(text) !== text) return true;
  if (elsewhere.some((pattern) => pattern.test(text))) return true;
  for (const [word] of text.matchAll(/[A-Za-z0-9_.-]{16,}/g)) {
    if (prefixes.some((prefix) => prefix.test(word)) || isModelKey(word)) return true;
  }
  for (const { groups } of text.matchAll(assignment)) {
    if (isMixed(groups?.["value"] ?? "")) return true;
  }
  return false;
}

/** `sk-…-` and then something that is not a word. */
function isModelKey(word: string): boolean {
  if (!/^(?:sk|rk|pk)-/.test(word)) return false;
  return word.split(/[-.]/).some((part) => part.length >= 16 && isMixed(part));
}

function isMixed(value: string): boolean {
  return /[0-9]/.test(value) && /[A-Za-z]/.test(value);
}
