/** Shorter values ("1", "on") are no secrets, and taking them out would tear every text apart. */
const shortestHidden = 4;

/** What came from the environment or from headers does not travel on in errors, logs or results. */
export function hideValues(text: string, values: readonly string[]): string {
  let safe = text;
  for (const value of values) safe = safe.replaceAll(value, "[hidden]");
  return safe;
}

/**
 * The forms in which a value can come back: as it is, without the scheme in front of a token, and
 * as part of an address. The longest first, so that no rest of one is left by another.
 */
export function hiddenForms(values: Iterable<string>, shortest = shortestHidden): string[] {
  const forms = new Set<string>();
  for (const value of values) {
    const token = /^[A-Za-z]+\s+(\S.*)$/.exec(value)?.[1];
    for (const form of [value, token ?? value]) {
      forms.add(form);
      forms.add(encodeURIComponent(form.toWellFormed()));
      forms.add(JSON.stringify(form).slice(1, -1));
    }
  }
  return [...forms]
    .filter((form) => form.length >= shortest)
    .sort((left, right) => right.length - left.length);
}

/** Names of variables, headers and flags whose values nobody should read. */
export function namesSecret(name: string): boolean {
  return /key|token|secret|passw|pwd|auth|cred|cookie|session|private|bearer|signature/i.test(name);
}
