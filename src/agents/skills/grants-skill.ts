import type { Selection } from "../../contracts/selection.ts";
import type { Skill } from "./skill.ts";
import { skillName } from "./skill-name.ts";

/**
 * Whether a contract's selection lets an agent use this skill. `"*"` covers all but the hidden
 * ones: a skill that is hidden from models has to be named.
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
