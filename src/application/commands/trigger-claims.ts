import type { Profile, Triggers } from "../../agents/profiles/profile.ts";
import { storedLine } from "../../text.ts";

export interface TriggerClaims {
  /** The profile that each word or key starts. */
  readonly granted: ReadonlyMap<string, Profile>;
  /** Claimed by several profiles, so it starts none. */
  readonly contested: ReadonlyMap<string, readonly Profile[]>;
}

/**
 * Who gets which word or key. What is shipped comes before what a user brings, and that before what
 * a project brings, so that no file can take over what people know; between equals none wins, and
 * both are named.
 */
export function claimTriggers(
  profiles: readonly Profile[],
  kind: keyof Triggers,
  nameOf: (trigger: string) => string = (trigger) => trigger,
): TriggerClaims {
  const claims = new Map<string, Profile[]>();
  for (const profile of profiles) {
    for (const name of new Set((profile.triggers?.[kind] ?? []).map(nameOf))) {
      claims.set(name, [...(claims.get(name) ?? []), profile]);
    }
  }
  const granted = new Map<string, Profile>();
  const contested = new Map<string, readonly Profile[]>();
  for (const [name, claimants] of claims) {
    const shipped = claimants.filter((profile) => isShipped(profile, kind));
    const own = claimants.filter((profile) => !isProjects(profile));
    const [first, ...others] = [shipped, own, claimants].find((some) => some.length > 0) ?? [];
    if (first === undefined) continue;
    if (others.length === 0) granted.set(name, first);
    else contested.set(name, [first, ...others]);
  }
  return { granted, contested };
}

/** Whether only a project has a profile of this name. */
function isProjects({ project }: Profile): boolean {
  return project !== undefined && project.own === undefined;
}

/** Whether the product itself says so: a project may add words to a shipped profile. */
function isShipped({ origin, origins }: Profile, kind: keyof Triggers): boolean {
  return (origins?.[`triggers.${kind}`] ?? origin).startsWith("built in");
}

/** `a (workspace: …/a.md) and b (user: …/b.md)` */
export function describeClaimants(profiles: readonly Profile[]): string {
  const shown = profiles
    .slice(0, 3)
    .map(({ name, origin }) => `${name} (${storedLine(origin, 160)})`);
  const more = profiles.length - shown.length;
  return [...shown, ...(more > 0 ? [`${more} more`] : [])].join(" and ");
}
