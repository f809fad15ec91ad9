/**
 * Whether the model that answered is the one that was asked for. Providers serve a dated snapshot
 * for a plain name, and leave out the provider; anything else is another model. A name that leaves
 * the choice to the provider ("…-latest", "…/auto") is met by whatever it chose.
 */
export function isSameModel(requested: string, served: string): boolean {
  const wanted = withoutProvider(requested);
  if (/(?:^|[-/:])(?:latest|auto)$/.test(wanted)) return true;
  return [served, withoutProvider(served)].some((name) => {
    if (name === requested || name === wanted) return true;
    const last = wanted.slice(wanted.lastIndexOf("/") + 1);
    return [wanted, last].some(
      (each) => name.startsWith(each) && isSnapshot(name.slice(each.length)),
    );
  });
}

function withoutProvider(name: string): string {
  return name.slice(name.indexOf("/") + 1);
}

/** `-20250929`, `-2025-08-07`, `@20250929`, `-001`, `:latest`, or nothing at all. */
function isSnapshot(rest: string): boolean {
  return /^(?:[-@]\d{4}-?\d{2}-?\d{2}|-\d{3,4}|:latest)?$/.test(rest);
}
