import { printableLine } from "../../cli/printable.ts";

/** The inputs that say what a call is about, the most telling first. */
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

/** What a call is about, in a few words. */
export function callSubject(input: unknown): string {
  if (typeof input !== "object" || input === null) return "";
  const given = input as Readonly<Record<string, unknown>>;
  for (const key of telling) {
    const value = Object.hasOwn(given, key) ? given[key] : undefined;
    if (typeof value === "string" && value !== "") return printableLine(value);
  }
  return "";
}
