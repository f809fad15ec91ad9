/**
 * The keys of valid JSON that mean two things: found by another way than the reader under test, with
 * a reviver that sees the source of each object again.
 */
export function ambiguousKeys(text: string): readonly string[] {
  const found: string[] = [];
  let at = 0;
  const space = (): void => {
    while (" \t\r\n".includes(text[at] ?? "x")) at += 1;
  };
  const string = (): string => {
    const start = at;
    for (at += 1; text[at] !== '"'; at += 1) if (text[at] === "\\") at += 1;
    at += 1;
    return JSON.parse(text.slice(start, at)) as string;
  };
  const stack: { readonly close: string; readonly keys: Set<string> }[] = [];
  for (space(); at < text.length; space()) {
    const character = text[at];
    if (character === "{" || character === "[") {
      stack.push({ close: character === "{" ? "}" : "]", keys: new Set() });
      at += 1;
    } else if (character === stack.at(-1)?.close) {
      stack.pop();
      at += 1;
    } else if (character === '"') {
      const value = string();
      space();
      const holder = stack.at(-1);
      if (text[at] !== ":" || holder?.close !== "}") continue;
      if (value === "__proto__" || holder.keys.has(value)) found.push(value);
      holder.keys.add(value);
    } else at += 1;
  }
  return found;
}
