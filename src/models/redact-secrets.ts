/** What keys of the known providers look like, for keys that reach us by another way. */
const keyLike = /\b(?:sk|pk|rk|xai|gsk|AIza)[-_]?[A-Za-z0-9_-]{16,}|\bBearer\s+[^\s"',]+/g;

/**
 * Providers quote parts of the request in their complaints, and their complaints end in our log:
 * no key may travel that way.
 */
export function redactSecrets(text: string, secrets: readonly string[]): string {
  let safe = text;
  for (const secret of secrets) {
    if (secret.length >= 8) safe = safe.replaceAll(secret, "[redacted]");
  }
  return safe.replaceAll(keyLike, "[redacted]");
}
