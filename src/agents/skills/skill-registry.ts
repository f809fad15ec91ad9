import { type Clock, systemClock } from "../../ports/clock.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { SkillDirectory } from "./find-skill-folders.ts";
import { hasChanged, parseSkill, type Scan, type ScannedSkill, scanSkills } from "./scan-skills.ts";
import { type Skill, type SkillProblem, type SkillRegistry, skillName } from "./skill.ts";
import { readSkillText } from "./skill-files.ts";

export interface SkillSources {
  /** If two folders have a skill of one name, the skill of the earlier folder is used. */
  readonly directories: readonly SkillDirectory[];
  /** The hashes of trusted content. A change gives another set. */
  readonly trusted?: () => ReadonlySet<string>;
  /** How long a result is used before files are checked for changes. */
  readonly recheckMs?: number;
  readonly clock?: Clock;
}

const keptBodies = 100;

/**
 * The skills of these folders. At the first call the front matter is read, and afterwards again
 * when a file has changed, checked at most once a second. When an edit breaks a skill, the version
 * before it stays in use, with its body if that was read.
 */
export function loadSkills(sources: SkillSources): SkillRegistry {
  return new FolderSkills(sources);
}

const nobody: ReadonlySet<string> = new Set();

class FolderSkills implements SkillRegistry {
  readonly #sources: Required<SkillSources>;
  /** The body of each version that was read. */
  readonly #bodies = new Map<ScannedSkill, string>();
  #scan: Scan | undefined;
  #offered: Offer | undefined;
  #lookedAt = 0;

  constructor(sources: SkillSources) {
    this.#sources = {
      trusted: () => nobody,
      recheckMs: 1000,
      clock: systemClock,
      ...sources,
    };
  }

  get(name: string): Skill | undefined {
    return this.#offer().byName.get(skillName(name))?.skill;
  }

  all(): readonly Skill[] {
    return this.#offer().all;
  }

  waiting(): readonly Skill[] {
    return this.#offer().waiting;
  }

  get problems(): readonly SkillProblem[] {
    return this.#offer().problems;
  }

  async read(name: string, file?: string): Promise<string> {
    // Checked again: a skill that changed since it was offered is no longer trusted.
    const { byName } = this.#offer();
    const scanned = byName.get(skillName(name));
    if (scanned === undefined) {
      const names = [...byName.keys()].join(", ") || "none";
      throw new MandateError("usage", `There is no skill "${name}". There are: ${names}.`);
    }
    return file === undefined ? this.#readBody(scanned) : this.#readFile(scanned, file);
  }

  #current(): Scan {
    const { clock, directories, recheckMs } = this.#sources;
    const now = clock.monotonic();
    if (this.#scan === undefined) {
      this.#scan = scanSkills(directories);
      this.#lookedAt = now;
    } else if (now - this.#lookedAt >= recheckMs) {
      this.#lookedAt = now;
      if (hasChanged(this.#scan)) {
        this.#scan = scanSkills(directories, this.#scan);
      }
    }
    return this.#scan;
  }

  /** Returns the same object while nothing changes, so that callers can cache by it. */
  #offer(): Offer {
    const scan = this.#current();
    const trusted = this.#sources.trusted();
    if (this.#offered?.scan !== scan || this.#offered.trusted !== trusted) {
      this.#offered = settle(scan, trusted);
    }
    return this.#offered;
  }

  #readBody(scanned: ScannedSkill): string {
    const { entry, skill } = scanned;
    try {
      const { text, isCut, size } = readSkillText(scanned, entry);
      if (text === undefined) throw new Error(`${entry} is not text any more`);
      const { body } = parseSkill(text, `${skill.folder}/${entry}`);
      const whole = isCut ? `${body}\n[… cut: ${size} bytes in all]` : body;
      this.#keep(scanned, whole);
      return whole;
    } catch (error) {
      const kept = this.#bodies.get(scanned);
      if (kept === undefined) throw error;
      return kept;
    }
  }

  #readFile(scanned: ScannedSkill, file: string): string {
    const { text, isCut, path, size } = readSkillText(scanned, file);
    if (text === undefined) {
      return `${path} is not text (${size} bytes, binary), so its content is not shown.`;
    }
    return isCut ? `${text}\n[… cut: ${size} bytes in all]` : text;
  }

  #keep(scanned: ScannedSkill, body: string): void {
    this.#bodies.delete(scanned);
    this.#bodies.set(scanned, body);
    const [oldest] = this.#bodies.keys();
    if (this.#bodies.size > keptBodies && oldest !== undefined) this.#bodies.delete(oldest);
  }
}

interface Offer {
  readonly scan: Scan;
  readonly trusted: ReadonlySet<string>;
  readonly all: readonly Skill[];
  readonly waiting: readonly Skill[];
  readonly byName: ReadonlyMap<string, ScannedSkill>;
  readonly problems: readonly SkillProblem[];
}

/** Decides which skills are in effect: of each name the first that is the user's or trusted. */
function settle(scan: Scan, trusted: ReadonlySet<string>): Offer {
  const waiting: Skill[] = [];
  const counting: ScannedSkill[] = [];
  const problems = [...scan.problems];
  const taken = new Map<string, string>();
  for (const { file, name, scanned } of scan.claims) {
    const hash = scanned?.skill.untrustedHash;
    if (scanned !== undefined && hash !== undefined && !trusted.has(hash)) {
      waiting.push(scanned.skill);
      continue;
    }
    const earlier = taken.get(name);
    if (earlier === undefined) {
      taken.set(name, file);
      if (scanned !== undefined) counting.push(scanned);
    } else if (scanned !== undefined) {
      const message = `${file}: "${name}" is the name of ${earlier} already; rename one`;
      problems.push({ name, file, message });
    }
  }
  counting.sort((left, right) => (left.skill.name < right.skill.name ? -1 : 1));
  const all = counting.map(({ skill: { untrustedHash: _trusted, ...skill } }) => skill);
  const byName = new Map(counting.map((scanned) => [scanned.skill.name, scanned]));
  return { scan, trusted, all, waiting, byName, problems };
}
