import { stringify } from "yaml";
import { MandateError } from "../../ports/mandate-error.ts";
import { headOf } from "../../text.ts";
import { describeProblem } from "../documents/describe-problem.ts";
import { decodeText } from "../documents/read-text-file.ts";
import { type ParsedYaml, parseYaml, type YamlPath } from "../documents/read-yaml.ts";
import type { ProfileFields } from "./profile.ts";
import { fieldsOfDocument, profileSchema } from "./profile-schema.ts";

export const maximumProfileBytes = 256 * 1024;

const code = "profile-invalid";

/**
 * Parses a profile in Markdown: the front matter sets its fields, the body is its prompt. Strict:
 * throws a MandateError that names file:line for everything that is not understood.
 */
export function parseMarkdownProfile(source: Uint8Array | string, file: string): ParsedProfile {
  const text = decodeProfile(source, file);
  const { frontMatter, body } = split(text, file);
  const yaml = parseYaml(frontMatter, file, { code, firstLine: 2 });
  return parseProfileDocument(yaml, file, { prompt: body.trim() });
}

/** Parses a profile in JSON or YAML: the same keys, with the prompt in `prompt`. */
export function parseDataProfile(source: Uint8Array | string, file: string): ParsedProfile {
  return parseProfileDocument(parseYaml(decodeProfile(source, file), file, { code }), file);
}

function decodeProfile(source: Uint8Array | string, file: string): string {
  const bytes = typeof source === "string" ? Buffer.from(source) : source;
  if (bytes.length > maximumProfileBytes) throw invalid(file, 1, "the file is larger than 256 KB");
  const decoded = decodeText(bytes);
  if ("problem" in decoded) throw invalid(file, 1, decoded.problem);
  return decoded.text;
}

function split(text: string, file: string) {
  const lines = text.split("\n");
  const first = lines[0]?.trimEnd() ?? "";
  if (first !== "---") {
    throw invalid(
      file,
      1,
      first.startsWith("---")
        ? `the first line must be --- alone, for YAML; "${headOf(first, 40)}" is not read`
        : "the front matter is missing; begin the file with a line ---",
    );
  }
  const end = lines.findIndex((line, index) => index > 0 && line.trimEnd() === "---");
  if (end < 0) throw invalid(file, 1, "the front matter is not closed; end it with a line ---");
  const body = lines.slice(end + 1);
  const start = body.findIndex((line) => line.trim() !== "");
  // A horizontal rule at the top of the body is fine. A second list of keys is a misplaced
  // restriction.
  if (body[start]?.trimEnd() === "---" && /^[\w-]+\s*:/.test(body[start + 1] ?? "")) {
    throw invalid(file, end + start + 2, "a second front matter; put its keys into the first one");
  }
  return { frontMatter: lines.slice(1, end).join("\n"), body: body.join("\n") };
}

function invalid(file: string, line: number, problem: string): MandateError {
  return new MandateError(code, `${file}:${line}: ${problem}`);
}

/** A parsed profile in one of our own formats. `name` is undefined when the file has none. */
export interface ParsedProfile {
  readonly name: string | undefined;
  readonly fields: ProfileFields;
  /** The program whose agent this was. It stands for itself, as where it was read in place. */
  readonly importedFrom?: string;
}

/** Validates parsed data as a profile. Throws a MandateError that names file:line. */
export function parseProfileDocument(
  parsed: ParsedYaml,
  file: string,
  more: { readonly prompt?: string } = {},
): ParsedProfile {
  const refuse = (path: YamlPath, problem: string) =>
    new MandateError("profile-invalid", `${file}:${parsed.lineOf(path)}: ${problem}`);
  const empty = findEmpty(parsed.value, []);
  if (empty !== undefined) throw refuse(empty, describeEmpty(empty));
  const document = profileSchema.safeParse(parsed.value);
  if (!document.success) {
    const { lineOf } = parsed;
    throw new MandateError(
      "profile-invalid",
      describeProblem(document.error, { file, lineOf, schema: profileSchema }),
    );
  }
  const fields = fieldsOfDocument(document.data);
  const { importedFrom, name } = document.data;
  const about = { name, ...(importedFrom !== undefined && { importedFrom }) };
  const prompt = more.prompt ?? "";
  if (prompt === "") return { ...about, fields };
  if (fields.prompt !== undefined) {
    throw refuse(["prompt"], '"prompt" and the text below the front matter; keep one of them');
  }
  return { ...about, fields: { ...fields, prompt } };
}

const lists: ReadonlySet<unknown> = new Set([
  ...["allowedTools", "tools", "skills", "mcpServers", "scopes", "network", "waysOut", "models"],
  ...["bootstrapFiles", "bootstrap_files", "writeRoots", "checks", "allow", "fallbacks"],
  "toolRules",
]);

/** Keys below which null is allowed: a JSON Schema, and metadata of other programs. */
const anything: ReadonlySet<unknown> = new Set(["outputSchema", "metadata"]);

/** The path of a key without a value. Other programs read that as «all»; here it is an error. */
function findEmpty(value: unknown, path: YamlPath): YamlPath | undefined {
  if (value === null) return path;
  if (typeof value !== "object" || anything.has(path.at(-1))) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const found = findEmpty(inner, [...path, key]);
    if (found !== undefined) return found;
  }
  return undefined;
}

function describeEmpty(path: YamlPath): string {
  if (path.length === 0) return "there is nothing in it; a description is needed";
  const key = path.join(".");
  if (!lists.has(path.at(-1))) return `"${key}" has no value; write one, or leave the key out`;
  return `"${key}" has no value; write [] for none, or leave the key out to inherit`;
}

/**
 * Writes a profile in our own format, so that parsing it gives the same fields. The prompt is the
 * body, unless it begins like a front matter or with white space that a body cannot keep.
 */
export function writeMarkdownProfile(
  name: string,
  fields: ProfileFields,
  importedFrom?: string,
): string {
  const { prompt, ...rest } = fields;
  const isBody = prompt !== undefined && !prompt.startsWith("---") && prompt === prompt.trim();
  const from = importedFrom === undefined ? {} : { importedFrom };
  const front = { name, ...from, ...rest, ...(prompt !== undefined && !isBody && { prompt }) };
  const yaml = stringify(front, {
    version: "1.2",
    schema: "core",
    lineWidth: 0,
    aliasDuplicateObjects: false,
  });
  return `---\n${yaml}---\n${isBody ? `\n${prompt}\n` : ""}`;
}
