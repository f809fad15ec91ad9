const edit = ["path", "old_text", "new_text", "replace_all"];
const write = ["path", "content"];

/**
 * The change that the input of a call describes: of text in a file, or all of a file. Undefined for
 * another input, also for one with a field that a diff would not show.
 */
export function patchOfCall(input: unknown): string | undefined {
  if (typeof input !== "object" || input === null) return undefined;
  const given = input as Readonly<Record<string, unknown>>;
  const { content, new_text: next, old_text: old, path, replace_all: all = false } = given;
  const has = (names: readonly string[]) => Object.keys(given).every((key) => names.includes(key));
  if (typeof path !== "string") return undefined;
  if (typeof old === "string" && typeof next === "string" && has(edit)) {
    const where = all === true ? "wherever it occurs" : "where it occurs";
    return [
      `diff --git a/${path} b/${path}`,
      `@@ ${where} @@`,
      ...signed("-", old),
      ...signed("+", next),
    ].join("\n");
  }
  if (typeof content !== "string" || !has(write)) return undefined;
  return [`diff --git a/${path} b/${path}`, "@@ the whole file @@", ...signed("+", content)].join(
    "\n",
  );
}

function signed(sign: string, text: string): readonly string[] {
  if (text === "") return [];
  return text
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => sign + line);
}

/** Names of the inputs that describe a call, the most specific first. */
const telling = [
  "path",
  "file",
  "command",
  "pattern",
  "query",
  "url",
  "name",
  "profile",
  "question",
  "message",
  "task",
  "id",
] as const;

/** A short description of a call: its path, command, query, … */
export function callSubject(input: unknown): string {
  if (typeof input !== "object" || input === null) return "";
  const given = input as Readonly<Record<string, unknown>>;
  for (const key of telling) {
    const value = Object.hasOwn(given, key) ? given[key] : undefined;
    if (typeof value === "string" && value !== "") return value;
  }
  return "";
}
