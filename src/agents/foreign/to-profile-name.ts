import { reservedName } from "../profiles/profile.ts";

const maximumLength = 64;

/**
 * Converts any name to a profile name: spaces, dots, capitals, accents and emoji are replaced. The
 * file's name is used where letters of another script would be lost, look-alikes among them.
 */
export function toProfileName(original: string, fallback: string): string {
  const name = chooseName(original, fallback);
  return reservedName(name) === undefined ? name : `${name}-agent`;
}

function chooseName(original: string, fallback: string): string {
  const own = toSlug(original);
  const other = toSlug(fallback);
  const losesLetters = /(?![A-Za-z])\p{L}/u.test(withoutAccents(original));
  if (own === "" || (losesLetters && other !== "")) return other === "" ? "agent" : other;
  return own;
}

function toSlug(text: string): string {
  return withoutAccents(text.slice(0, 512))
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, "-")
    .replace(/^[-_]+/, "")
    .slice(0, maximumLength)
    .replace(/[-_]+$/, "");
}

function withoutAccents(text: string): string {
  return text.normalize("NFKD").replaceAll(/\p{M}/gu, "");
}
