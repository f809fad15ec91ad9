import { decodeText } from "../documents/decode-text.ts";
import { describeProblem } from "../documents/describe-problem.ts";
import { type ParsedYaml, parseYaml, type YamlPath } from "../documents/read-yaml.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { Profile } from "./profile.ts";
import { profileFromFields } from "./profile-from-fields.ts";
import { profileSchema } from "./profile-schema.ts";

export const maximumProfileBytes = 256 * 1024;

const code = "profile-invalid";

/**
 * A profile written as Markdown: front matter says what it may do, the body is its prompt. Throws
 * a MandateError that names file:line; nothing that was not understood is passed over.
 */
export function parseMarkdownProfile(source: Uint8Array | string, file: string): Profile {
  const bytes = typeof source === "string" ? Buffer.from(source) : source;
  if (bytes.length > maximumProfileBytes) throw refuse(file, 1, "the file is larger than 256 KB");
  const decoded = decodeText(bytes);
  if ("problem" in decoded) throw refuse(file, 1, decoded.problem);
  const { frontMatter, body, bodyLine } = split(decoded.text, file);

  const yaml = parseYaml(frontMatter, file, { code, firstLine: 2 });
  const empty = findEmpty(yaml.value, []);
  if (empty !== undefined) throw refuse(file, yaml.lineOf(empty), describeEmpty(empty));
  const parsed = profileSchema.safeParse(yaml.value);
  if (!parsed.success) {
    const { lineOf } = yaml satisfies ParsedYaml;
    throw new MandateError(
      code,
      describeProblem(parsed.error, { file, lineOf, schema: profileSchema }),
    );
  }
  const profile = profileFromFields(parsed.data, body.trim(), file);
  if (profile.prompt === "" && profile.systemPromptFile === undefined) {
    throw refuse(file, bodyLine, "there is no prompt; write it below the front matter");
  }
  return profile;
}

function split(text: string, file: string) {
  const lines = text.split("\n");
  const first = lines[0]?.trimEnd() ?? "";
  if (first !== "---") {
    throw refuse(
      file,
      1,
      first.startsWith("---")
        ? `the first line must be --- alone, for YAML; "${first.slice(0, 40)}" is not read`
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
  return { frontMatter: lines.slice(1, end).join("\n"), body: body.join("\n"), bodyLine: end + 2 };
}

const lists: ReadonlySet<unknown> = new Set([
  ...["allowedTools", "tools", "skills", "mcpServers", "scopes", "network", "models"],
  ...["bootstrapFiles", "bootstrap_files", "writeRoots", "allow"],
]);

/** A key without a value. Some formats take it for «all»; here it is asked what was meant. */
function findEmpty(value: unknown, path: YamlPath): YamlPath | undefined {
  if (value === null) return path;
  // A JSON Schema may hold null.
  if (typeof value !== "object" || path.at(-1) === "outputSchema") return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const found = findEmpty(inner, [...path, key]);
    if (found !== undefined) return found;
  }
  return undefined;
}

function describeEmpty(path: YamlPath): string {
  if (path.length === 0) return "the front matter is empty; name and description are needed";
  const key = path.join(".");
  if (!lists.has(path.at(-1))) return `"${key}" has no value; write one, or leave the key out`;
  return `"${key}" has no value; write [] for none, or leave the key out to inherit`;
}

function refuse(file: string, line: number, problem: string): MandateError {
  return new MandateError(code, `${file}:${line}: ${problem}`);
}
