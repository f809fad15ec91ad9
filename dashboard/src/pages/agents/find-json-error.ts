const word =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON has them in no string.
  /[ \t\r\n]*(?:("(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)|([{}[\],:]))/y;

type Expected = "value" | "value or ]" | "key" | "key or }" | ":" | ", or }" | ", or ]" | "end";

/**
 * Where a text stops being JSON, counted in characters; undefined where it is JSON. Browsers refuse
 * it as well, but not all of them say where, and none does always.
 */
export function findJsonError(text: string): number | undefined {
  const opened: ("{" | "[")[] = [];
  const afterValue = (): Expected => {
    const last = opened.at(-1);
    return last === undefined ? "end" : last === "{" ? ", or }" : ", or ]";
  };
  let expected: Expected = "value";
  let offset = 0;
  for (;;) {
    const start = skipSpace(text, offset);
    if (expected === "end") return start === text.length ? undefined : start;
    word.lastIndex = offset;
    const [token, string, plain, mark] = word.exec(text) ?? [];
    if (token === undefined) return start;
    const isValue = expected === "value" || expected === "value or ]";
    const isKey = expected === "key" || expected === "key or }";
    if (isKey && string !== undefined) expected = ":";
    else if (isValue && (string ?? plain) !== undefined) expected = afterValue();
    else if (isValue && (mark === "{" || mark === "[")) {
      opened.push(mark);
      expected = mark === "{" ? "key or }" : "value or ]";
    } else if (
      (mark === "}" && (expected === "key or }" || expected === ", or }")) ||
      (mark === "]" && (expected === "value or ]" || expected === ", or ]"))
    ) {
      opened.pop();
      expected = afterValue();
    } else if (mark === "," && expected === ", or }") expected = "key";
    else if (mark === "," && expected === ", or ]") expected = "value";
    else if (mark === ":" && expected === ":") expected = "value";
    else return start;
    offset += token.length;
  }
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && " \t\r\n".includes(text[at] ?? "")) at += 1;
  return at;
}
