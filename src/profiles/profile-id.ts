import type { Profile } from "./profile.ts";

/**
 * The profile behind an id of the control plane: a record or profile of that very name, or, for ids
 * like `profile:writer:v1`, the profile whose name is in it.
 */
export function profileById(
  profiles: { get(name: string): Profile | undefined },
  id: string,
): Profile | undefined {
  return profiles.get(id) ?? profiles.get(nameInId(id));
}

function nameInId(id: string): string {
  return /^profile:([a-z0-9][a-z0-9_-]*)(?::v\d+)?$/.exec(id)?.[1] ?? id;
}
