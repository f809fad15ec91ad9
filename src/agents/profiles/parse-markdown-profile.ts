import { MandateError } from "../../ports/mandate-error.ts";
import { headOf } from "../../text.ts";
import { decodeText } from "../documents/decode-text.ts";
import { parseYaml } from "../documents/read-yaml.ts";
import { type ParsedProfile, parseProfileDocument } from "./parse-profile-document.ts";

export const maximumProfileBytes = 256 * 1024;

const code = "profile-invalid";

/**
 * A profile written as Markdown: front matter says what it may do, the body is its prompt. Throws
 * a MandateError that names file:line; nothing that was not understood is passed over.
 */
export function parseMarkdownProfile(source: Uint8Array | string, file: string): ParsedProfile {
  const text = decodeProfile(source, file);
  const { frontMatter, body } = split(text, file);
  const yaml = parseYaml(frontMatter, file, { code, firstLine: 2 });
  return parseProfileDocument(yaml, file, { prompt: body.trim() });
}

/** A profile written as JSON or YAML: the same keys, and `prompt` for the text. */
export function parseDataProfile(source: Uint8Array | string, file: string): ParsedProfile {
  return parseProfileDocument(parseYaml(decodeProfile(source, file), file, { code }), file);
}

function decodeProfile(source: Uint8Array | string, file: string): string {
  const bytes = typeof source === "string" ? Buffer.from(source) : source;
  if (bytes.length > maximumProfileBytes) throw refuse(file, 1, "the file is larger than 256 KB");
  const decoded = decodeText(bytes);
  if ("problem" in decoded) throw refuse(file, 1, decoded.problem);
  return decoded.text;
}

function split(text: string, file: string) {
  const lines = text.split("\n");
  const first = lines[0]?.trimEnd() ?? "";
  if (first !== "---") {
    throw refuse(
      file,
      1,
      first.startsWith("---")
        ? `the first line must be --- alone, for YAML; "${headOf(first, 40)}" is not read`
        : "the front matter is missing; begin the file with a line ---",
    );
  }
  const end = lines.findIndex((line, index) => index > 0 && line.trimEnd() === "---");
  if (end < 0) throw refuse(file, 1, "the front matter is not closed; end it with a line ---");
  const body = lines.slice(end + 1);
  const start = body.findIndex((line) => line.trim() !== "");
  // A rule at the top of a text is fine; a second list of keys is a restriction in the wrong place.
  if (body[start]?.trimEnd() === "---" && /^[\w-]+\s*:/.test(body[start + 1] ?? "")) {
    throw refuse(file, end + start + 2, "a second front matter; put its keys into the first one");
  }
  return { frontMatter: lines.slice(1, end).join("\n"), body: body.join("\n") };
}

function refuse(file: string, line: number, problem: string): MandateError {
  return new MandateError(code, `${file}:${line}: ${problem}`);
}
