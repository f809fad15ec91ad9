import type { ProfileRegistry } from "../profiles/profile-registry.ts";
import { spawnProfilesBlock } from "../profiles/spawn-profiles-block.ts";

/** Whom one can delegate to, as it is told to models; empty when there is nobody. */
export function describeOfferedProfiles(profiles: ProfileRegistry): string {
  return spawnProfilesBlock(profiles.offered());
}
