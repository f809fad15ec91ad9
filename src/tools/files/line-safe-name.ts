/** A name can hold line breaks; it must not look like further entries. */
export function lineSafeName(name: string): string {
  return /[\p{Cc}\u2028\u2029]/u.test(name) ? JSON.stringify(name) : name;
}
