import type { ProfileRegistry } from "../profiles/profile-registry.ts";
import type { SkillRegistry } from "../skills/skill.ts";

/** What came with a project, as it is now: acknowledging its hash makes it count. */
export interface WaitingContent {
  readonly kind: "profile" | "skill";
  readonly name: string;
  /** A file, a folder, or a place in a configuration. */
  readonly file: string;
  readonly hash: string;
}

export function waitingContent(sources: {
  readonly profiles: Pick<ProfileRegistry, "pending">;
  readonly skills: Pick<SkillRegistry, "all">;
}): readonly WaitingContent[] {
  return [
    ...sources.profiles.pending().map(({ name, origin, unacknowledged = "" }) => {
      return { kind: "profile" as const, name, file: origin, hash: unacknowledged };
    }),
    ...sources.skills.all().flatMap(({ folder, name, unacknowledged }) => {
      if (unacknowledged === undefined) return [];
      return { kind: "skill" as const, name, file: folder, hash: unacknowledged };
    }),
  ];
}
