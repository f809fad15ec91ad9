import { type Redact, redactionOf } from "../../ports/redact-secrets.ts";

/** Shorter values ("1", "on") are no secrets, and taking them out would tear every text apart. */
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
