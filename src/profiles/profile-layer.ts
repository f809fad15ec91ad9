import type { Profile, ProfileFields } from "./profile.ts";

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
}

/** A whole profile, as a program gives it: it stands for itself. */
export function layerOf(profile: Profile): ProfileLayer {
  const { name, origin, origins: _origins, ...fields } = profile;
  return { name, fields, origin, replaces: true };
}
