/** Knowledge that an agent loads when it needs it: a folder with a SKILL.md. */
export interface Skill {
  readonly name: string;
  readonly description: string;
  /** The folder; its files are read through the skill alone. */
  readonly folder: string;
  readonly origin: string;
  /** As with profiles: counts once somebody acknowledged this content. */
  readonly unacknowledged?: string;
  /** Not listed to models; a profile can still name it. */
  readonly hidden?: boolean;
}

export interface SkillProblem {
  readonly name: string;
  readonly file: string;
  readonly message: string;
}

/** All skills, by name. Nothing is read before someone asks; bodies only when they are loaded. */
export interface SkillRegistry {
  get(name: string): Skill | undefined;
  all(): readonly Skill[];
  readonly problems: readonly SkillProblem[];
  /** The body of SKILL.md, or of another file below the skill's folder. */
  read(name: string, file?: string): Promise<string>;
}
