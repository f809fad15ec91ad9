import { hash } from "node:crypto";
import type { Profile } from "./profile.ts";

/**
 * SHA-256 of what a profile says, so that a contract can name the exact one it was made from.
 * Where it was read from and the order of its keys do not count.
 */
export function profileHash(profile: Profile): string {
  let known = hashes.get(profile);
  if (known === undefined) {
    const { origin: _origin, origins: _origins, project: _project, ...content } = profile;
    known = contentHash(content);
    hashes.set(profile, known);
  }
  return known;
}

/** SHA-256 of plain data, whatever the order of its keys. */
export function contentHash(content: unknown): string {
  return hash("sha256", JSON.stringify(content, sortKeys));
}

/** A profile is a value and is hashed for every delegation made from it. */
const hashes = new WeakMap<Profile, string>();

function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)),
  );
}
