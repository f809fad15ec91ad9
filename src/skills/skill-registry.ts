import { systemClock } from "../ports/clock.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { SkillDirectory } from "./find-skill-folders.ts";
import { readSkillText } from "./read-skill-text.ts";
import { hasChanged, type Scan, type ScannedSkill, scanSkills } from "./scan-skills.ts";
import type { Skill, SkillProblem, SkillRegistry } from "./skill.ts";
import { parseSkill } from "./skill-document.ts";
import { skillName } from "./skill-name.ts";

export interface SkillSources {
  /** Earlier ones win. */
  readonly directories: readonly SkillDirectory[];
  /** The hashes of content that somebody acknowledged: another set when that has changed. */
  readonly acknowledged?: () => ReadonlySet<string>;
  /** How long to trust what was read before looking for changes. */
  readonly recheckMs?: number;
  readonly now?: () => number;
}

const keptBodies = 100;

/**
 * The skills of these places. Nothing is read before someone asks; then front matter alone, and
 * again when a file has changed, looked at once a second at most. An edit that breaks a skill
 * is a problem, and the version before it stays: its body too, when it had been read.
 */
export function loadSkills(sources: SkillSources): SkillRegistry {
  return new FolderSkills(sources);
}

const nobody: ReadonlySet<string> = new Set();

class FolderSkills implements SkillRegistry {
  readonly #sources: Required<SkillSources>;
  /** Bodies by the version that they belong to. */
  readonly #bodies = new Map<ScannedSkill, string>();
  #scan: Scan | undefined;
  #offered: Offer | undefined;
  #lookedAt = 0;

  constructor(sources: SkillSources) {
    this.#sources = {
      acknowledged: () => nobody,
      recheckMs: 1000,
      now: systemClock.monotonic,
      ...sources,
    };
  }

  get(name: string): Skill | undefined {
    return this.#offer().byName.get(skillName(name));
  }

  all(): readonly Skill[] {
    return this.#offer().all;
  }

  get problems(): readonly SkillProblem[] {
    return this.#current().problems;
  }

  async read(name: string, file?: string): Promise<string> {
    const scanned = this.#current().skills.get(skillName(name));
    if (scanned === undefined) {
      const names = [...this.#current().skills.keys()].join(", ") || "none";
      throw new MandateError("usage", `There is no skill "${name}". There are: ${names}.`);
    }
    // Looked at again here: it may have changed since it was offered.
    if (this.get(name)?.unacknowledged !== undefined) {
      throw new MandateError(
        "refused-by-policy",
        `The skill "${name}" is not what was acknowledged: it changed meanwhile, or nobody did.`,
      );
    }
    return file === undefined ? this.#readBody(scanned) : this.#readFile(scanned, file);
  }

  #current(): Scan {
    const { directories, recheckMs } = this.#sources;
    const now = this.#sources.now();
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

  /** The same list as long as nothing changes, so that what is made of it can be kept. */
  #offer(): Offer {
    const scan = this.#current();
    const acknowledged = this.#sources.acknowledged();
    if (this.#offered?.scan !== scan || this.#offered.acknowledged !== acknowledged) {
      const all = [...scan.skills.values()].map(({ skill }) => present(skill, acknowledged));
      const byName = new Map(all.map((skill) => [skill.name, skill]));
      this.#offered = { scan, acknowledged, all, byName };
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
  readonly acknowledged: ReadonlySet<string>;
  readonly all: readonly Skill[];
  readonly byName: ReadonlyMap<string, Skill>;
}

function present(skill: Skill, acknowledged: ReadonlySet<string>): Skill {
  const { unacknowledged, ...rest } = skill;
  return unacknowledged !== undefined && acknowledged.has(unacknowledged) ? rest : skill;
}
