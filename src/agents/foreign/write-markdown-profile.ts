import { stringify } from "yaml";
import type { ProfileFields } from "../profiles/profile.ts";

/**
 * A profile in our own format: loading it gives the same fields. The prompt is the body, unless
 * it begins like a front matter or with blanks that a body cannot keep.
 */
export function writeMarkdownProfile(name: string, fields: ProfileFields): string {
  const { prompt, ...rest } = fields;
  const isBody = prompt !== undefined && !prompt.startsWith("---") && prompt === prompt.trim();
  const front = { name, ...rest, ...(prompt !== undefined && !isBody && { prompt }) };
  const yaml = stringify(front, {
    version: "1.2",
    schema: "core",
    lineWidth: 0,
    aliasDuplicateObjects: false,
  });
  return `---\n${yaml}---\n${isBody ? `\n${prompt}\n` : ""}`;
}
