/**
 * What a table says of a model. A dated snapshot (`gpt-5-2025-08-07`, `claude-haiku-4-5@20251001`)
 * that has no entry of its own is known by its plain name.
 */
export function findModelEntry<Entry>(
  entries: Readonly<Record<string, Entry>>,
  name: string,
): Entry | undefined {
  for (const each of [name, withoutSnapshot(name)]) {
    if (Object.hasOwn(entries, each)) return entries[each];
  }
  return undefined;
}

function withoutSnapshot(name: string): string {
  return name.replace(/(?:[-@]\d{4}-?\d{2}-?\d{2}|-\d{3,4}|:latest)$/, "");
}
