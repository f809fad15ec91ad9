import type { Profile, ProfileFields } from "./profile.ts";
import { requireProfile } from "./require-profile.ts";

/** What one source says about one name. Several layers of a name make a profile. */
export interface ProfileLayer {
  readonly name: string;
  readonly fields: ProfileFields;
  /** For people: `workspace: /srv/app/.mandate/agents/coder.md`. */
  readonly origin: string;
  /**
   * SHA-256 of what it was read from, when that came with a repository: it counts once somebody
   * acknowledged exactly this content. Absent: the product's or the user's own.
   */
  readonly unacknowledged?: string;
  /** Says everything by itself: what earlier layers say of this name does not shine through. */
  readonly replaces?: boolean;
  /** Another program's file: what it names need not be known here. */
  readonly isForeign?: true;
}

/** A whole profile, as a program gives it: judged as a file is, and it stands for itself. */
export function layerOf(profile: Profile): ProfileLayer {
  const { name, origin = "program", origins: _origins, ...fields } = profile;
  const layer = { name, fields, origin, replaces: true };
  requireProfile(layer);
  return layer;
}
