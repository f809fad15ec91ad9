/**
 * Whether a list such as `models.allow` lets a model through: by its whole name, or by a pattern that
 * ends in `*`. A pattern is let through when everything it stands for would be. No list: no limit.
 */
export function createModelAllowlist(
  allow: readonly string[] | undefined,
): (name: string) => boolean {
  if (allow === undefined) return () => true;
  const exact = new Set(allow);
  const prefixes = allow.filter((each) => each.endsWith("*")).map((each) => each.slice(0, -1));
  return (name) => {
    const fixed = name.endsWith("*") ? name.slice(0, -1) : name;
    return exact.has(name) || prefixes.some((prefix) => fixed.startsWith(prefix));
  };
}
