import { parseJson } from "../../../../src/ports/parse-json.ts";
import { findJsonError } from "./find-json-error.ts";
import { joinPath, locateFields } from "./locate-fields.ts";

/**
 * The registry for an editor: invisible characters, or what turns the direction of writing,
 * is written as an escape, so that what is on the screen is what is saved.
 */
export function writeRegistry(value: unknown): string {
  const text = JSON.stringify(value, null, 2) ?? "null";
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (character) => {
    if (character === "\n") return character;
    return [...Array(character.length).keys()]
      .map((index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`)
      .join("");
  });
}

/** Something wrong, and where: a line of the text, counted from one; null: of the whole. */
export interface TextProblem {
  readonly line: number | null;
  readonly field: string | null;
  readonly message: string;
}

export type ReadRegistry =
  | { readonly value: Readonly<Record<string, unknown>> }
  | { readonly problem: TextProblem };

/** As the server would read it: also a key that is there twice is a mistake, and no choice. */
export function readRegistry(text: string): ReadRegistry {
  const wrong = findJsonError(text);
  if (wrong !== undefined) {
    const line = text.slice(0, wrong).split("\n").length;
    return { problem: { line, field: null, message: "From here on this is not JSON." } };
  }
  const value = parseJson(text);
  const { twice } = locateFields(text);
  if (twice !== undefined) {
    const message =
      twice.key === "__proto__" ? '"__proto__" cannot be a key.' : "This key is there twice.";
    return { problem: { line: twice.line, field: twice.field, message } };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    const message = "The registry is an object with version and agents.";
    return { problem: { line: 1, field: null, message } };
  }
  return { value: value as Readonly<Record<string, unknown>> };
}

/**
 * What a server said is wrong, one line for each, at the lines of a text. A path that is not there
 * (something is missing) is shown at what it should be in.
 */
export function placeProblems(detail: string, text: string): readonly TextProblem[] {
  const { lines } = locateFields(text);
  return detail.split("\n").map((said) => {
    const [, field, message] = /^([\w@-]+(?:\[\d+\]|\.[\w@-]+)*): (.*)$/s.exec(said) ?? [];
    if (field === undefined || message === undefined) {
      const [, key] = /^unknown key "([^"]*)"/.exec(said) ?? [];
      return {
        line: key === undefined ? null : (lines.get(key) ?? null),
        field: null,
        message: said,
      };
    }
    const [, key] = /^unknown key "([^"]*)"/.exec(message) ?? [];
    const wanted = key === undefined ? field : joinPath(field, key);
    return { line: lineOf(lines, wanted), field, message };
  });
}

function lineOf(lines: ReadonlyMap<string, number>, path: string): number | null {
  for (let at = path; at !== ""; at = at.replace(/(?:\.[^.[\]]+|\[\d+\]|^[^.[\]]+)$/, "")) {
    const line = lines.get(at);
    if (line !== undefined) return line;
    if (!/[.[]/.test(at)) return null;
  }
  return null;
}
