import { clip } from "../../text.ts";
import { readFrontMatter } from "../documents/front-matter.ts";
import { skillName } from "./skill-name.ts";

/** What the front matter of a SKILL.md says of it. */
export interface SkillHead {
  /** As the file names it; absent: the folder's name is its name. */
  readonly name?: string;
  readonly description: string;
  readonly isHidden: boolean;
}

export interface SkillDocument {
  readonly head: SkillHead;
  readonly body: string;
}

const maximumDescription = 1024;

const options = {
  knownKeys: [
    ...["name", "description", "license", "metadata", "compatibility", "version", "author"],
    ...["allowed-tools", "disable-model-invocation", "user-invocable", "argument-hint"],
  ],
  guardedKeys: ["disable-model-invocation"],
};

/**
 * Reads a SKILL.md, or its beginning: then the body is cut where the text is. Lenient about syntax,
 * as other readers of such files are; throws an Error whose message names file and line. Keys that
 * mean nothing here are passed over, `allowed-tools` among them: no file grants a tool.
 */
export function parseSkill(text: string, file: string): SkillDocument {
  if (text.includes("\0")) throw new Error(`${file}:1: a NUL byte; the file is not text`);
  const { body, fields, isPresent, lineOf, problems } = readFrontMatter(text, options);
  const error = problems.find(({ severity }) => severity === "error");
  if (error !== undefined) throw new Error(`${file}:${error.line}: ${error.message}`);
  if (!isPresent) {
    throw new Error(`${file}:1: the front matter is missing; begin the file with a line ---`);
  }
  const keys = new Map(Object.entries(fields));
  const description = textOf(keys.get("description"));
  if (description === "") {
    const line = keys.has("description") ? lineOf("description") : 1;
    throw new Error(`${file}:${line}: "description" is missing; say when the skill is of use`);
  }
  const name = skillName(textOf(keys.get("name")));
  return {
    head: {
      ...(name === "" ? {} : { name }),
      description: clip(description, maximumDescription + 1),
      isHidden: hides(keys),
    },
    body: body.trim(),
  };
}

function textOf(value: unknown): string {
  if (typeof value === "number") return String(value);
  return typeof value === "string" ? value.trim() : "";
}

/** Whatever is not plainly «false» hides: a misspelt value must not show what was to be hidden. */
function hides(keys: ReadonlyMap<string, unknown>): boolean {
  for (const [key, value] of keys) {
    if (key.toLowerCase().replaceAll(/[-_]/g, "") !== "disablemodelinvocation") continue;
    if (value !== false && !/^(?:false|no|off)$/i.test(String(value))) return true;
  }
  return false;
}
