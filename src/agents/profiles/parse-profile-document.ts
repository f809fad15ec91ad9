import { MandateError } from "../../ports/mandate-error.ts";
import { describeProblem } from "../documents/describe-problem.ts";
import type { ParsedYaml, YamlPath } from "../documents/read-yaml.ts";
import { fieldsOfDocument } from "./fields-of-document.ts";
import type { ProfileFields } from "./profile.ts";
import { profileSchema } from "./profile-schema.ts";

/** What a file in one of our own formats says; a name that it leaves to its file is undefined. */
export interface ParsedProfile {
  readonly name: string | undefined;
  readonly fields: ProfileFields;
}

/** Judges parsed data as a profile. Throws a MandateError that names file:line. */
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
  const prompt = more.prompt ?? "";
  if (prompt === "") return { name: document.data.name, fields };
  if (fields.prompt !== undefined) {
    throw refuse(["prompt"], '"prompt" and the text below the front matter; keep one of them');
  }
  return { name: document.data.name, fields: { ...fields, prompt } };
}

const lists: ReadonlySet<unknown> = new Set([
  ...["allowedTools", "tools", "skills", "mcpServers", "scopes", "network", "waysOut", "models"],
  ...["bootstrapFiles", "bootstrap_files", "writeRoots", "checks", "allow", "fallbacks"],
  "toolRules",
]);

/** What may hold null: a JSON Schema, and what other programs wrote. */
const anything: ReadonlySet<unknown> = new Set(["outputSchema", "metadata"]);

/** A key without a value. Some formats take it for «all»; here it is asked what was meant. */
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
