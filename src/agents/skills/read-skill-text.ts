import { hash } from "node:crypto";
import { readWholeFile } from "../../files.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { openSkillFile } from "./open-skill-file.ts";
import { readBeginning } from "./read-beginning.ts";
import type { ScannedSkill } from "./scan-skills.ts";

const maximumBytes = 256 * 1024;
const maximumDigestedBytes = 8 * 1024 * 1024;

/** One file of a skill, as far as it is shown. */
export interface SkillText {
  readonly path: string;
  readonly size: number;
  /** Absent: it is not text. */
  readonly text?: string;
  readonly isCut: boolean;
}

/** What a file holds now, when that is what was acknowledged. */
export function readSkillText({ digest, skill }: ScannedSkill, file: string): SkillText {
  const opened = openSkillFile(skill.folder, file);
  try {
    const { descriptor, path } = opened;
    let bytes: Buffer;
    if (digest === undefined) {
      bytes = readBeginning(descriptor, maximumBytes);
    } else {
      const whole = readWholeFile(descriptor, maximumDigestedBytes);
      if (whole === null || digest.files.get(path) !== hash("sha256", whole)) {
        throw new MandateError(
          "conflict",
          `${path} of the skill "${skill.name}" is not what was listed: it has changed since, or ` +
            "is none of its files. A changed skill has to be acknowledged again.",
        );
      }
      bytes = whole.subarray(0, maximumBytes);
    }
    const size = Math.max(opened.stats.size, bytes.length);
    const isCut = bytes.length < size;
    if (bytes.includes(0)) return { path, size, isCut };
    return { path, size, isCut, text: new TextDecoder().decode(bytes, { stream: isCut }) };
  } finally {
    opened.close();
  }
}
