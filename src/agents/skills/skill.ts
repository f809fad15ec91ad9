import type { Selection } from "../../contracts/selection.ts";
import { escapeXml, oneLine } from "../../text.ts";
import { catalogueBlock, type ListRoom, rankByText } from "../documents/catalogue.ts";

/** Knowledge that an agent loads on demand: a folder with a SKILL.md. */
export interface Skill {
  readonly name: string;
  readonly description: string;
  /** The real path of the folder. Its files are read only through the skill. */
  readonly folder: string;
  readonly origin: string;
  /**
   * The SHA-256 of all files of a project's skill, which has no effect until this hash is trusted.
   * Absent: the skill needs no trust.
   */
  readonly untrustedHash?: string;
  /** A hidden skill is not listed to models; a profile can name it. */
  readonly hidden?: boolean;
}

export interface SkillProblem {
  readonly name: string;
  readonly file: string;
  readonly message: string;
}

/** The skills in effect. Files are read at the first call; bodies only when they are loaded. */
export interface SkillRegistry {
  get(name: string): Skill | undefined;
  all(): readonly Skill[];
  /** The skills of a project whose content is not trusted: they have no effect. */
  waiting(): readonly Skill[];
  readonly problems: readonly SkillProblem[];
  /** The body of SKILL.md, or of another file below the skill's folder. */
  read(name: string, file?: string): Promise<string>;
}

const maximumLength = 128;

/**
 * The normalised name of a skill: `skill:writing_helpers` and `writing_helpers` are the same, `Code
 * Review` is `code-review`. Letters of every script stay. An empty result is no skill's name.
 */
export function skillName(id: string): string {
  const bare = id.trim().replace(/^skill:/i, "");
  const slug = bare
    .normalize("NFC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}._-]+/gu, "-")
    .replaceAll(/^[-.]+|[-.]+$/g, "");
  return [...slug].slice(0, maximumLength).join("");
}

/**
 * Whether a contract lets an agent use this skill. `"*"` does not cover hidden skills, which have
 * to be named.
 */
export function grantsSkill(
  selection: Selection,
  skill: Pick<Skill, "name"> & { readonly hidden?: boolean },
): boolean {
  if (selection === "*") return skill.hidden !== true;
  return selection.some((id) => skillName(id) === skill.name);
}

/** The skills that an agent sees in its prompt. */
export function offeredSkills(skills: readonly Skill[], selection: Selection): readonly Skill[] {
  return skills.filter((skill) => grantsSkill(selection, skill));
}

/**
 * The part of a prompt that lists the skills an agent can load: the same text for the same skills, since
 * providers cache by prefix. Empty when there are none. Names and texts come from files, so they
 * are escaped: a description cannot close the tag.
 */
export function skillsBlock(skills: readonly Skill[], room?: ListRoom): string {
  return catalogueBlock({
    tag: "available_skills",
    items: skills.toSorted((left, right) => (left.name < right.name ? -1 : 1)),
    room,
    lineOf: ({ name, description }) =>
      `<skill name="${escapeXml(name)}">${escapeXml(oneLine(description))}</skill>`,
    textOf,
  });
}

function textOf({ description, name }: Skill): string {
  return `${name} ${name} ${description}`;
}

/** The skills that fit a query best. */
export function searchSkills(skills: readonly Skill[], query: string): readonly Skill[] {
  return rankByText(skills, query, textOf);
}
