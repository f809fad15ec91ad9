import { MandateError } from "../../ports/mandate-error.ts";
import { mergeLayers } from "./merge-layers.ts";
import { parseProfileDocument } from "./parse-profile-document.ts";
import type { Profile, ProfileFields } from "./profile.ts";
import type { PromptFiles } from "./prompt-files.ts";

/** What one source says about one name. Several layers of a name make a profile. */
export interface ProfileLayer {
  readonly name: string;
  readonly fields: ProfileFields;
  /** For people: `workspace: /srv/app/.mandate/agents/coder.md`. */
  readonly origin: string;
  /** It came with a project. It can only narrow what the person or the product says of its name. */
  readonly isProjects?: true;
  /**
   * SHA-256 of all that it was read from: it counts once exactly this content is trusted. Absent:
   * it needs no trust of its own.
   */
  readonly unacknowledged?: string;
  /** What the files that it names for its prompt held when it was read. */
  readonly promptFiles?: PromptFiles;
  /** Says everything by itself: what earlier layers say of this name does not shine through. */
  readonly replaces?: boolean;
  /** Another program's file: what it names need not be known here. */
  readonly isForeign?: true;
}

/** A whole profile, as a program gives it: judged as a file is, and it stands for itself. */
export function layerOf(profile: Profile): ProfileLayer {
  const { name, origin = "program", ...said } = profile;
  const { addedRules: _rules, origins: _origins, project: _project, ...fields } = said;
  const layer = { name, fields, origin, replaces: true };
  requireProfile(layer);
  return layer;
}

/**
 * Judges what a program gives as a profile by the rules for files: a limit with a typo is refused,
 * and so is a profile that could not be used. In JavaScript no compiler reports it.
 */
function requireProfile({ fields, name, origin }: ProfileLayer): void {
  const file = `The profile ${JSON.stringify(name) ?? "without a name"}`;
  if (typeof name !== "string") {
    throw new MandateError("profile-invalid", `${file} of this program: give it a name.`);
  }
  try {
    parseProfileDocument({ value: { ...fields, name }, lineOf: () => 1 }, file);
  } catch (error) {
    if (!(error instanceof MandateError)) throw error;
    throw new MandateError("profile-invalid", error.message.replaceAll(`${file}:1:`, `${file}:`));
  }
  mergeLayers([{ name, fields, origin }]);
}
