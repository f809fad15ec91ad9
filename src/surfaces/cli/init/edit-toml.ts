import { isDeepStrictEqual } from "node:util";
import { parse, stringify, type TomlTable } from "smol-toml";
import { MandateError } from "../../../ports/mandate-error.ts";
import { messageOf } from "../../../ports/message-of.ts";
import { entryAt, type Inserted, plain } from "./edit-json.ts";

export function readTomlTable(text: string, file: string): TomlTable {
  try {
    return parse(text);
  } catch (cause) {
    const [what = ""] = messageOf(cause).split("\n");
    const sentence = `${file}: this is not TOML (${what}). Fix it first; nothing was changed.`;
    throw new MandateError("config-invalid", sentence, { cause });
  }
}

/** The entry as a table; a long list has one item a line. */
export function tomlOf(path: readonly string[], entry: unknown): string {
  const lines = Object.entries(entry as Record<string, unknown>).map(([name, value]) => {
    const line = stringify({ [name]: value }).trimEnd();
    if (!Array.isArray(value) || line.length <= 100) return line;
    return `${name} = [\n${value.map((each) => `  ${JSON.stringify(each)},\n`).join("")}]`;
  });
  return `[${path.join(".")}]\n${lines.join("\n")}\n`;
}

/**
 * Adds one table as text, because a parser would lose comments and order. The result is parsed again
 * and must have exactly the wanted content.
 */
export function insertToml(
  text: string,
  path: readonly string[],
  entry: unknown,
  file: string,
): Inserted {
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const gap = text.trim() === "" ? "" : text.endsWith("\n") ? eol : `${eol}${eol}`;
  const added = `${gap}${tomlOf(path, entry).replaceAll("\n", eol)}`;
  requireSame(`${text}${added}`, withEntry(readTomlTable(text, file), path, entry), path, file);
  return { start: text.length, end: text.length, text: added, depth: 0 };
}

/** Removes the table and the tables below it, line by line. */
export function removeToml(text: string, path: readonly string[], file: string): string {
  const name = path.join(".");
  const isOurs = (line: string): boolean => {
    const [, header = ""] = /^\s*\[{1,2}\s*([^\]]*?)\s*\]/.exec(line) ?? [];
    const bare = header.replaceAll(/["'\s]/g, "");
    return bare === name || bare.startsWith(`${name}.`);
  };
  const kept: string[] = [];
  let inside = false;
  for (const line of text.split(/(?<=\n)/)) {
    // A line of a list can begin like a header: `["a"],`
    if (/^\s*\[[^\]]*\]{1,2}\s*(?:#.*)?$/.test(line.trimEnd())) inside = isOurs(line);
    if (!inside) kept.push(line);
  }
  // A table at the end of the file was added with the blank line before it.
  if (inside && kept.at(-1)?.trim() === "") kept.pop();
  const rest = kept.join("");
  requireSame(rest, withEntry(readTomlTable(text, file), path, undefined), path, file);
  return rest;
}

function withEntry(
  table: TomlTable,
  [group = "", name = ""]: readonly string[],
  entry: unknown,
): unknown {
  const { [group]: before, ...others } = table;
  const { [name]: _, ...siblings } = (before ?? {}) as Record<string, unknown>;
  const members = entry === undefined ? siblings : { ...siblings, [name]: entry };
  return Object.keys(members).length === 0 ? others : { ...others, [group]: members };
}

function requireSame(text: string, meant: unknown, path: readonly string[], file: string): void {
  const [group = ""] = path;
  let got: TomlTable | undefined;
  try {
    got = parse(text);
  } catch {
    // The table is written inline, and cannot be extended by another one.
  }
  const isEmpty = isDeepStrictEqual(plain(entryAt(got, [group])), {});
  const { [group]: _, ...withoutEmpty } = got ?? {};
  if (got && isDeepStrictEqual(plain(isEmpty ? withoutEmpty : got), plain(meant))) return;
  throw new MandateError(
    "config-invalid",
    `${file}: the table [${path.join(".")}] is written in a way that cannot be changed safely. Change it by hand; nothing was changed.`,
  );
}
