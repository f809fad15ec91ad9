/** The format of keys of known providers, for keys that are not in the list of secrets. */
const keyLike = /\b(?:sk|pk|rk|xai|gsk|AIza)[-_]?[A-Za-z0-9_-]{16,}|\bBearer\s+[^\s"',]+/g;

/** Replaces every form of certain secrets in a text. */
export type Redact = (text: string) => string;

/** Shorter values ("1", "on") occur in texts by chance, and are not replaced. */
const shortestSecret = 8;

/** Longer secrets are split, to bound the size of a pattern. */
const longestPiece = 512;

/**
 * A function that replaces known secrets: as they are, percent-encoded, with JSON, HTML or hex
 * escapes in any mix, as hex, and inside base64 at each of its three alignments, url-safe or
 * wrapped in lines. Values shorter than `shortest` are left alone.
 */
export function redactionOf(secrets: Iterable<string>, shortest = shortestSecret): Redact {
  const forms = [...new Set(secrets)]
    .filter((secret) => secret.length >= shortest)
    .sort((left, right) => right.length - left.length)
    .flatMap(piecesOf)
    .flatMap(formsOf);
  if (forms.length === 0) return (text) => text;
  const pattern = new RegExp(forms.join("|"), "gu");
  return (text) => text.replaceAll(pattern, "[redacted]");
}

/** Removes known secrets, and whatever looks like a provider's key. */
export function redactSecrets(text: string, secrets: readonly string[]): string {
  return redactionOf(secrets)(text).replaceAll(keyLike, "[redacted]");
}

function piecesOf(secret: string): string[] {
  const count = Math.ceil(secret.length / longestPiece);
  // Pieces of equal length, so that none is short.
  const length = Math.ceil(secret.length / count);
  return Array.from({ length: count }, (_, at) => secret.slice(at * length, (at + 1) * length));
}

function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret.toWellFormed());
  return [
    [...secret.toWellFormed()].map(spellingsOf).join(""),
    [...bytes].map(hexOf).join("[\\s:,]{0,2}(?:0x|\\\\x)?"),
    ...[0, 1, 2].map((offset) => base64Of(bytes, offset)).filter((form) => form !== ""),
  ];
}

/** A pattern for one character, plain or in any common escape. */
function spellingsOf(character: string): string {
  const units = [...Array(character.length).keys()].map((index) => character.charCodeAt(index));
  const point = character.codePointAt(0) ?? 0;
  // The JSON escape. Text that was encoded several times has several backslashes.
  const short = JSON.stringify(character).slice(2, -1);
  return `(?:${[
    escapePattern(character),
    [...Buffer.from(character)].map((byte) => `%${hexOf(byte)}`).join(""),
    units.map((unit) => `\\\\{1,4}u${hexDigits(unit.toString(16).padStart(4, "0"))}`).join(""),
    `\\\\{1,4}x${hexDigits(point.toString(16).padStart(2, "0"))}`,
    `&#(?:0{0,4}${point}|[xX]0{0,4}${hexDigits(point.toString(16))});`,
    ...(short === "" ? [] : [`\\\\{1,7}${escapePattern(short)}`]),
    ...(character === "/" ? ["\\\\{1,7}/"] : []),
    ...(character === " " ? ["\\+"] : []),
  ].join("|")})`;
}

function hexOf(byte: number): string {
  return hexDigits(byte.toString(16).padStart(2, "0"));
}

function hexDigits(digits: string): string {
  return digits.replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

/**
 * The base64 characters that depend on the secret alone when `offset` bytes precede it in its group of
 * three. The characters at both edges also depend on the neighbouring bytes.
 */
function base64Of(secret: Buffer, offset: number): string {
  const encoded = Buffer.concat([Buffer.alloc(offset), secret]).toString("base64");
  const first = Math.ceil((offset * 8) / 6);
  const core = encoded.slice(first, Math.floor(((offset + secret.length) * 8) / 6));
  if (core.length < shortestSecret) return "";
  return [...core].map(base64Spelling).join("(?:\\s|\\\\[rn]){0,4}");
}

function base64Spelling(character: string): string {
  if (character === "+") return "(?:[+\\-]|%2[bB])";
  if (character === "/") return "(?:[\\/_]|%2[fF]|\\\\\\/)";
  return character;
}

function escapePattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, (character) =>
    character === "-" ? "\\x2d" : `\\${character}`,
  );
}
