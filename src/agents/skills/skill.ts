/** Knowledge that an agent loads when it needs it: a folder with a SKILL.md. */
export interface Skill {
  readonly name: string;
  readonly description: string;
  /** The folder; its files are read through the skill alone. */
  readonly folder: string;
  readonly origin: string;
  /** Of a project's: the SHA-256 of all its files. It counts once exactly that is trusted. */
  readonly unacknowledged?: string;
  /** Not listed to models; a profile can still name it. */
  readonly hidden?: boolean;
}

export interface SkillProblem {
  readonly name: string;
  readonly file: string;
  readonly message: string;
}

/** All skills that count. Nothing is read before someone asks; bodies only when they are loaded. */
export interface SkillRegistry {
  get(name: string): Skill | undefined;
  all(): readonly Skill[];
  /** Those of a project whose content is not trusted: they have no effect. */
  waiting(): readonly Skill[];
  readonly problems: readonly SkillProblem[];
  /** The body of SKILL.md, or of another file below the skill's folder. */
  read(name: string, file?: string): Promise<string>;
}
